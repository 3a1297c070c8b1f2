// What the heap keeps of what was freed. Compiled without sanitizers: their allocators aren't glibc's.
#include "prover/heap.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "prover/daemon/memory_budget.hpp"

namespace prover {
namespace {

TEST(freed_memory, stays_in_the_heap_until_it_is_given_back) {
  constexpr std::size_t size = std::size_t{24} << 20;
  keep_freed_memory();
  give_back_heap();
  {
    const std::vector<char> block(size, 1);
  }
  EXPECT_GE(kept_by_heap(), size);
  const std::size_t before = daemon::resident_memory();
  if (before == 0) GTEST_SKIP() << "SKIPPED: this kernel doesn't say what is resident";
  give_back_heap();
  EXPECT_LT(daemon::resident_memory() + size / 10 * 9, before);
}

}  // namespace
}  // namespace prover
