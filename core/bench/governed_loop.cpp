// Prints four numbers a round: nanoseconds per turn of a loop that does about 50 ns of work, with a span around the
// work that is off; with one that fires too often and is counted; with a hand-written counter of the same kind in its
// place; and calls per second of the counted one. `core_governed_loop ROUNDS`.
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <telltale/core/telltale.hpp>

#include "core/bench/paired.hpp"

namespace {

struct countdown {
  std::atomic<std::int64_t> left{0};
};
thread_local countdown by_hand;
thread_local countdown* where = &by_hand;

// A chain of multiplications: each waits for the one before.
[[gnu::always_inline]] inline void work(std::uint64_t& x) {
  for (int i = 0; i < 40; ++i) x = x * 0x9e3779b97f4a7c15u + 1;
  asm volatile("" : "+r"(x));
}

namespace is_off {
TELLTALE_MODULE("quiet");
[[gnu::noinline]] void turn(std::uint64_t& x) {
  TELLTALE_SPAN("inner");
  work(x);
}
}  // namespace is_off

namespace is_counted {
TELLTALE_MODULE("busy");
[[gnu::noinline]] void turn(std::uint64_t& x) {
  TELLTALE_SPAN("inner");
  work(x);
}
}  // namespace is_counted

[[gnu::noinline]] void turn_with_counter(std::uint64_t& x) {
  const std::int64_t left = where->left.load(std::memory_order_relaxed) - 1;
  where->left.store(left, std::memory_order_relaxed);
  if (left < 0) [[unlikely]]
    where->left.store(std::int64_t{1} << 60, std::memory_order_relaxed);
  work(x);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 31;
  telltale::options o;
  o.sinks = "none";
  o.trace = "info,quiet=off";
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  std::uint64_t x = 1;
  const auto ns = [&](auto turn) { return telltale::bench::timed([&](std::uint64_t) { turn(x); }, 400'000); };
  while (telltale::stats().counted < 10'000'000) ns(is_counted::turn);
  for (int k = 0; k < rounds; ++k) {
    const double off = ns(is_off::turn);
    const double counter = ns(turn_with_counter);
    const double counted = ns(is_counted::turn);
    std::cout << off << ' ' << counted << ' ' << counter << ' ' << 1e9 / counted << '\n';
  }
  return x == 0 ? 1 : 0;
}
