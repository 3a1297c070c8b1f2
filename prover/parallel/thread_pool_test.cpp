// The pool: every index once, nested and concurrent use, exceptions.
#include "prover/parallel/thread_pool.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace prover {
namespace {

TEST(thread_pool, calls_every_index_once) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    thread_pool pool(threads);
    std::vector<std::atomic<int>> seen(1000);
    pool.for_each(seen.size(), [&](std::size_t i) { ++seen[i]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST(thread_pool, works_nested_and_from_many_threads) {
  thread_pool pool(3);
  std::atomic<int> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < 4; ++c) {
    callers.emplace_back([&] {
      pool.for_each(10, [&](std::size_t) {
        pool.for_ranges(100, 7, [&](std::size_t b, std::size_t e) { total += static_cast<int>(e - b); });
      });
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(total, 4 * 10 * 100);
}

TEST(thread_pool, throws_what_a_call_threw) {
  thread_pool pool(2);
  EXPECT_THROW(pool.for_each(50,
                             [](std::size_t i) {
                               if (i == 20) throw std::runtime_error("twenty");
                             }),
               std::runtime_error);
}

}  // namespace
}  // namespace prover
