// Spans as a fleet of provers sends them in a day, the same for the same number: about 442 a trace, every 2,000th of
// 100,000, six attributes beside job, module, task and phase, 48 traces at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <telltale/core/context.hpp>
#include <vector>

namespace telltale::hub::bench {

class generator {
 public:
  explicit generator(std::uint64_t spans, std::uint64_t first_trace = 0)
      : left_(spans),
        traces_(first_trace),
        state_(first_trace + 42),
        gap_ns_(2 * day_ns / std::max<std::uint64_t>(spans, 1)) {
    running_.resize(48);
  }

  static constexpr std::int64_t begin_ns = 1'700'000'000'000'000'000;
  static constexpr std::uint64_t day_ns = 86'400'000'000'000;

  // The next request in protobuf, of up to 1,000 spans; empty at the end.
  std::string next();
  static trace_id trace(std::uint64_t number) noexcept;
  static bool is_large(std::uint64_t number) noexcept { return number % 2000 == 1999; }
  std::uint64_t traces() const noexcept { return traces_; }

 private:
  struct running {
    std::uint64_t number = 0;
    std::uint64_t left = 0;
    std::uint64_t done = 0;
    std::uint64_t root = 0;
    std::uint64_t job = 0;
  };
  void span(std::string& out, running& t);
  std::uint64_t random() noexcept;

  std::vector<running> running_;
  std::uint64_t left_;
  std::uint64_t traces_;
  std::uint64_t state_;
  std::uint64_t gap_ns_;  // between two spans, at most
  std::int64_t now_ns_ = begin_ns;
};

}  // namespace telltale::hub::bench
