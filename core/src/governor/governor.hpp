// Holds the library's own cost under a budget: a call site that fires too often is counted rather than recorded, until
// it fires less. Decided from what spans are measured to cost here, and from processor clocks. Lives on the drain's
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <telltale/core/sink.hpp>
#include <vector>

namespace telltale::detail {

class drain;
using sink_list = std::vector<std::shared_ptr<sink>>;

class governor {
 public:
  // `budget`: see weigh(); 0: nothing is ever counted.
  void set_budget(double budget) noexcept { budget_ = budget; }

  // Looks at the period since the last time, where it is long enough.
  void look(drain& d, const sink_list& sinks);
  // Tells all counts there are.
  void tell(drain& d, const sink_list& sinks);
  // Has every site recorded again: nobody will count any more.
  void let_go() noexcept;

 private:
  struct counted_site {
    std::uint32_t site = 0;        // its tally is its place in the list
    bool now = false;              // counted now, not just once
    std::uint64_t calls = 0;       // when last looked at
    std::int32_t spare_looks = 0;  // for how long there has been room for it
  };
  struct clocks {
    std::chrono::steady_clock::time_point at{};
    std::int64_t process_ns = 0;
    std::int64_t drain_ns = 0;  // the sinks' own threads included
    std::uint64_t records = 0;
    std::uint64_t dropped = 0;
  };
  static clocks read_clocks(const drain& d);
  void start_counting(std::uint32_t site, double calls_per_second, double share, drain& d, const sink_list& sinks);
  void stop_counting(counted_site& s, drain& d, const sink_list& sinks);
  void collect(drain& d);

  double budget_ = 0;
  double span_ns_ = 0;     // what a span costs its caller, measured when it first matters
  double drained_ns_ = 0;  // what a record costs the drain and the sinks' threads
  clocks last_;
  std::vector<counted_site> counted_;
};

}  // namespace telltale::detail
