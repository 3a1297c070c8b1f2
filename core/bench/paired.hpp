// Two sides measured in alternating chunks: a slow moment of the machine falls on both.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/bench/medians.hpp"
#include "core/bench/report.hpp"

namespace telltale::bench {

inline std::uint64_t ns_now() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// Nanoseconds per call of `f(i)`.
template <class F>
double timed(F f, int calls) {
  const std::uint64_t begin = ns_now();
  for (int i = 0; i < calls; ++i) f(static_cast<std::uint64_t>(i));
  return static_cast<double>(ns_now() - begin) / calls;
}

struct paired {
  std::vector<double> ours;
  std::vector<double> floor;

  // A figure whose value is such that value / reference is the median of the pairs' ratios.
  figure as_figure(std::string name, std::string reference, telltale::bench::bar bar) const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < ours.size(); ++i) ratios.push_back(ours[i] / floor[i]);
    const double base = spread_of(floor).median;
    return {.name = std::move(name),
            .value = spread_of(ratios).median * base,
            .unit = "ns",
            .reference = std::move(reference),
            .reference_value = base,
            .bar = bar};
  }
  // The median of what ours costs above the floor.
  double difference() const {
    std::vector<double> differences;
    for (std::size_t i = 0; i < ours.size(); ++i) differences.push_back(ours[i] - floor[i]);
    return spread_of(differences).median;
  }
};

}  // namespace telltale::bench
