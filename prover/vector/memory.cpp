// Allocation behind buffer: ordinary aligned memory, with a hint for huge pages from 2 MiB up. Random access to
// 16 MiB of points misses the second-level TLB with 4 KiB pages.
#include "memory.h"

#include <string.h>
#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace prover::vector {
namespace {
constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kCacheLine = 64;
std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}
}  // namespace

void* allocate_pages(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  if (bytes > SIZE_MAX - kHugePage) throw std::bad_alloc();
  const std::size_t unit = bytes >= kHugePage ? kHugePage : kCacheLine;
  const std::size_t size = round_up(bytes, unit);
  void* p = std::aligned_alloc(unit, size);
  if (p == nullptr) throw std::bad_alloc();
  if (unit == kHugePage) madvise(p, size, MADV_HUGEPAGE);  // only a hint
  return p;
}

void free_pages(void* p, std::size_t bytes, contents kind) noexcept {
  if (p == nullptr) return;
  if (kind == contents::secret) explicit_bzero(p, bytes);
  std::free(p);
}

}  // namespace prover::vector
