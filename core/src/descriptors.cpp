// Captured descriptors, and complaints.
#include "descriptors.hpp"

#include <unistd.h>

#include <atomic>
#include <string>
#include <telltale/core/detail/descriptors.hpp>

namespace telltale::detail {

namespace {
constinit std::atomic<int> real[3] = {-1, -1, -1};
}

void stand_in_for(int fd, int replacement) noexcept {
  if (fd >= 0 && fd < 3) real[fd].store(replacement, std::memory_order_release);
}

int real_descriptor(int fd) noexcept {
  if (fd < 0 || fd >= 3) return fd;
  const int other = real[fd].load(std::memory_order_acquire);
  return other >= 0 ? other : fd;
}

void complain(std::string_view message) noexcept {
  try {
    const std::string line = "telltale: " + std::string(message) + "\n";
    [[maybe_unused]] const ssize_t written = ::write(real_descriptor(2), line.data(), line.size());
  } catch (...) {  // no memory for the line
  }
}

}  // namespace telltale::detail
