// getrandom(2), until all is filled.
#include "prover/field/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace prover {

void fill_randomly(std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t got = ::getrandom(into.data(), into.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    into = into.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace prover
