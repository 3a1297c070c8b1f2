#include "prover/heap.hpp"

#include <malloc.h>

namespace prover {
namespace {

// glibc sets its heap up at the first call, but not for two threads at once: the second one finds half of it. Where
// another allocator serves the process (a sanitizer's, a preloaded one), the first call may be one of ours.
void set_up() {
  [[maybe_unused]] static const struct mallinfo2 first = mallinfo2();
}

}  // namespace

void keep_freed_memory() {
  set_up();
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc takes
  mallopt(M_TRIM_THRESHOLD, 128 << 20);
}

std::size_t kept_by_heap() {
  set_up();
  return mallinfo2().fordblks;
}

void give_back_heap() {
  set_up();
  malloc_trim(0);
}

}  // namespace prover
