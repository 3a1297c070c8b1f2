// Ticks to time: the drain's side of the clock.
//
// The processor's counter runs at a fixed rate that nobody tells us exactly. The drain samples it together with the
// wall clock now and then, and converts along straight pieces: each new piece starts where the old one is *now* and
// leans so that it meets the wall clock again at the next sample, so times neither jump nor run backwards (the idea is
// Abseil's, absl/time/clock.cc: correct with a slope, not with a step). Only when the wall clock itself was set by
// more than a second does a piece start with a step, and that is counted.
#pragma once

#include <cstdint>
#include <string>

namespace telltale::detail {

// Decides between counter and CLOCK_MONOTONIC, once, before the first stamp.
void choose_clock(bool monotonic) noexcept;
// "tsc", or "monotonic" with the reason.
std::string clock_description();

// One reading of both clocks.
struct clock_sample {
  std::uint64_t ticks;
  std::int64_t wall_ns;
};
// A tight one: the best of a few tries.
clock_sample sample_clocks() noexcept;

class tick_converter {
 public:
  // Starts from one sample and a guess of the rate in ticks per nanosecond.
  tick_converter(clock_sample first, double ticks_per_ns) noexcept;

  // A new sample. Cheap; call it every now and then.
  void correct(clock_sample now) noexcept;

  // Nanoseconds since 1970, UTC. Monotonic in `ticks`, also across corrections, while the wall clock isn't set.
  std::int64_t to_ns(std::uint64_t ticks) const noexcept;

  // Times the wall clock was seen to have been set.
  std::uint64_t steps() const noexcept { return steps_; }
  double ns_per_tick() const noexcept { return pieces_[0].slope; }

 private:
  struct piece {
    std::uint64_t from;  // ticks
    std::int64_t at;     // nanoseconds there
    double slope;        // nanoseconds per tick
  };
  static constexpr int kept = 8;  // a record may be older than the newest pieces
  piece pieces_[kept];            // newest first
  int count_ = 1;
  clock_sample first_;   // the beginning: ticks older than every piece lie on the line from here
  clock_sample anchor_;  // the rate is measured from here
  clock_sample last_;    // the newest sample
  double rate_;          // nanoseconds per tick, without the lean
  std::uint64_t steps_ = 0;
};

}  // namespace telltale::detail
