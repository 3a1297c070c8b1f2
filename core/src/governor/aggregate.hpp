// What is known of many calls of one site that were counted, not recorded: exactly how many, and from a sample of them
// how long one took.
#pragma once

#include <cstdint>
#include <memory>
#include <telltale/core/sink.hpp>
#include <vector>

namespace telltale::detail {

// The mean of a sample, and how far it may lie from the mean of all.
class sample_statistics {
 public:
  void add(double value) noexcept;
  std::uint64_t size() const noexcept { return size_; }
  double mean() const noexcept { return mean_; }
  double least() const noexcept { return least_; }
  double greatest() const noexcept { return greatest_; }
  // Half the width of the 95 % confidence interval of the mean (Student's t); 0 for fewer than two values.
  double error() const noexcept;

 private:
  std::uint64_t size_ = 0;
  double mean_ = 0;
  double squares_ = 0;  // of the distances from the mean (Welford's update)
  double least_ = 0;
  double greatest_ = 0;
};

// Where calls happened.
struct call_place {
  trace_id trace;
  span_id parent;
  std::shared_ptr<const scope_info> scope;
};

// Calls of one site on one thread at one place, told as one.
struct aggregate {
  const site_info* site = nullptr;
  std::uint32_t tally = 0;
  std::uint32_t sheet = 0;
  thread_info thread;
  call_place place;
  std::uint64_t one_in = 0;  // of how many calls one is timed; one chance for all, else the mean would lean
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t calls = 0;
  sample_statistics durations;  // nanoseconds
};

// Gathers counts and samples into aggregates, as they come from the drain. Used by its thread only.
class aggregates {
 public:
  struct sample {
    std::uint32_t sheet;
    std::uint64_t calls;  // counted on that sheet, up to this one
    std::uint64_t one_in;
    std::int64_t begin_ns;
    std::int64_t end_ns;
  };
  void add_sample(const site_info& site, std::uint32_t tally, const thread_info& thread, call_place place,
                  const sample& s);

  // Calls counted so far on a sheet, with nothing known of the last ones: they are told where the last sample was
  // taken.
  void add_count(const site_info& site, std::uint32_t tally, std::uint32_t sheet, const thread_info& thread,
                 std::uint64_t calls, std::int64_t now_ns);

  // Calls that were told before, by somebody else.
  void pass_over(std::uint32_t sheet, std::uint32_t tally, std::uint64_t calls) { told_of(sheet, tally).calls = calls; }

  // Takes out the aggregates that began before that, or that fill more than there is room for.
  std::vector<aggregate> take(std::int64_t begun_before_ns);

  // Of all sheets, and of one tally.
  std::uint64_t total_calls() const noexcept { return total_; }
  std::uint64_t calls_of(std::uint32_t tally) const noexcept { return tally < by_tally_.size() ? by_tally_[tally] : 0; }

 private:
  // What has been told of a tally on a sheet.
  struct told {
    std::uint64_t calls = 0;
    std::int64_t until_ns = 0;
    call_place last;  // where the last sample was taken
    std::uint64_t one_in = 0;
  };
  told& told_of(std::uint32_t sheet, std::uint32_t tally);
  aggregate& open(const site_info& site, std::uint32_t tally, std::uint32_t sheet, const thread_info& thread,
                  const told& t, std::int64_t begin_ns);
  void count(aggregate& a, told& t, std::uint64_t calls, std::int64_t until_ns);

  std::vector<std::vector<told>> told_;  // by sheet and tally
  std::vector<std::uint64_t> by_tally_;
  std::uint64_t total_ = 0;
  std::vector<aggregate> open_;
  std::vector<aggregate> full_;  // ended early
};

}  // namespace telltale::detail
