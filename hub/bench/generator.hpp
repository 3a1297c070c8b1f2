// Spans as a fleet of provers sends them, the same for the same number: about 442 a trace, five traces of 100,000, six
// attributes beside job, module, task and phase, 48 traces at a time.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/context.hpp>
#include <vector>

namespace telltale::hub::bench {

class generator {
 public:
  explicit generator(std::uint64_t spans) : left_(spans) { running_.resize(48); }

  // The next request in protobuf, of up to 1,000 spans; empty at the end.
  std::string next();
  static trace_id trace(std::uint64_t number) noexcept;
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
  std::uint64_t traces_ = 0;
  std::uint64_t state_ = 42;
  std::int64_t now_ns_ = 1'700'000'000'000'000'000;
};

}  // namespace telltale::hub::bench
