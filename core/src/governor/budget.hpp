// Which call sites are worth their cost: the decision alone, from figures that were measured elsewhere.
#pragma once

#include <cstdint>
#include <vector>

namespace telltale::detail {

// What a period cost. Nanoseconds of processor time.
struct period_cost {
  double seconds = 0;       // how long it was
  double program_ns = 0;    // of the program, without telemetry
  double telemetry_ns = 0;  // of all records: writing and draining them
  double call_ns = 0;       // of one span, written and drained
};

struct site_load {
  std::uint32_t site = 0;
  double calls = 0;      // in the period
  bool counted = false;  // rather than recorded
};

struct budget_verdict {
  std::vector<std::uint32_t> count;  // recorded now, too expensive
  std::vector<std::uint32_t> spare;  // counted now, cheap enough to be recorded
  double allowed_ns = 0;
};

// A site that fires less often than this a second is never counted: whole traces are worth more than their cost.
inline constexpr double ordinary_calls_per_second = 10'000;

// `budget`: the share of the program's processor time that telemetry may take; of one core's where it uses less.
budget_verdict weigh(const period_cost& p, std::vector<site_load> sites, double budget);

}  // namespace telltale::detail
