// The heap's first use by several threads at once, with whatever allocator this build has.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <thread>
#include <vector>

#include "prover/heap.hpp"

namespace prover {
namespace {

[[noreturn]] void use_from_four_threads() {
  std::barrier all_there(4);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      all_there.arrive_and_wait();
      if (i % 2 == 0)
        give_back_heap();
      else
        kept_by_heap();
    });
  }
  threads.clear();
  ::_exit(0);
}

// A process uses the heap for the first time only once: so there are many.
TEST(heap, may_be_used_first_by_several_threads_at_once) {
  for (int process = 0; process < 100; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) use_from_four_threads();
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "process " << process;
  }
}

}  // namespace
}  // namespace prover
