// How long spans took, by name and kind, as histograms that can be added up: what percentiles over very many spans are
// read from. Counts, errors, sum and maximum are exact; a duration is known to 1/32 of its octave, so a quantile is
// within 1.6 % of the duration that stands at its rank (exact below 32 ns).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <unordered_map>
#include <vector>

namespace telltale::hub {

struct duration_histogram {
  std::uint64_t spans = 0;
  std::uint64_t errors = 0;
  double total_ns = 0;
  std::int64_t max_ns = 0;
  std::int64_t first_ns = INT64_MAX;  // starts
  std::int64_t last_ns = INT64_MIN;
  std::uint32_t first_step = 0;
  std::vector<std::uint32_t> steps;  // how many spans, from first_step on

  void add(std::int64_t start_ns, std::int64_t duration_ns, bool failed);
  void add(const duration_histogram& other);
  void add_step(std::uint32_t step, std::uint32_t spans);
  double quantile(double q) const;  // 0 where there are none

  // "[[12,3],[14,1]]": steps and how many spans. Reading fails where it isn't that.
  std::string steps_json() const;
  bool add_steps(std::string_view json);
};

class durations_by_name {
 public:
  duration_histogram& of(std::string_view name, std::uint8_t kind);
  void add(const durations_by_name& other);

  struct key {
    std::string name;
    std::uint8_t kind = 0;
  };
  template <class F>
  void each(F f) const {
    for (const auto& [k, h] : all_) f(k, h);
  }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  struct view {
    std::string_view name;
    std::uint8_t kind;
  };
  struct hash {
    using is_transparent = void;
    std::size_t operator()(const view& v) const noexcept { return std::hash<std::string_view>()(v.name) + v.kind; }
    std::size_t operator()(const key& k) const noexcept { return (*this)(view{k.name, k.kind}); }
  };
  struct equal {
    using is_transparent = void;
    bool operator()(const auto& a, const auto& b) const noexcept { return a.kind == b.kind && a.name == b.name; }
  };
  std::unordered_map<key, duration_histogram, hash, equal> all_;
};

}  // namespace telltale::hub
