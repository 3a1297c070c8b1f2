// What a working child tells its parent: how many steps each thread has finished, in memory they share.
#pragma once

#include <atomic>
#include <cstdint>

namespace telltale::testing {

inline constexpr std::uint64_t working_threads = 3;

struct shared_steps {
  struct alignas(64) counter {
    std::atomic<std::uint64_t> finished;
  } of[working_threads];
};

// A thread's life: step 0 opens the scope "job"; then cycle n has six steps: outer opened, line written, inner opened,
// a late attribute on outer, inner ended, outer ended.
inline constexpr std::uint64_t steps_per_cycle = 6;

// What is true after `steps` steps.
struct state_after {
  std::uint64_t lines;   // 0 … lines-1 were written
  std::uint64_t inners;  // ended
  std::uint64_t outers;  // ended
  bool job_open;
  bool outer_open;
  bool inner_open;
  bool late_set;

  explicit constexpr state_after(std::uint64_t steps)
      : lines(0), inners(0), outers(0), job_open(steps != 0), outer_open(false), inner_open(false), late_set(false) {
    if (steps == 0) return;
    const std::uint64_t cycles = (steps - 1) / steps_per_cycle;
    const std::uint64_t in = (steps - 1) % steps_per_cycle;
    lines = cycles + (in >= 2 ? 1 : 0);
    inners = cycles + (in >= 5 ? 1 : 0);
    outers = cycles;
    outer_open = in >= 1;
    inner_open = in == 3 || in == 4;
    late_set = in >= 4;
  }
};

}  // namespace telltale::testing
