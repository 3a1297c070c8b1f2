// Randomness from getrandom(2).
#include "prover/groth16/blinding.hpp"

#include <sys/random.h>

#include <cerrno>
#include <span>
#include <system_error>

namespace prover::groth16 {

integer<4> random_below(const integer<4>& modulus) {
  const std::size_t unused_bits = 256 - bit_length(modulus);
  for (;;) {
    integer<4> candidate{};
    std::span<std::byte> rest = std::as_writable_bytes(std::span(candidate));
    while (!rest.empty()) {
      const ssize_t got = ::getrandom(rest.data(), rest.size(), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw std::system_error(errno, std::generic_category(), "getrandom");
      rest = rest.subspan(static_cast<std::size_t>(got));
    }
    candidate[3] >>= unused_bits;
    if (less(candidate, modulus)) return candidate;
  }
}

}  // namespace prover::groth16
