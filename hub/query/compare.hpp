// What changed, and what the slow ones have in common. Pure functions over spans.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/breakdown.hpp>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

// --- diff: two jobs, or two sets of jobs, by phase ------------------------------------------------------------------
//
// Each side is a list of breakdowns. A phase's time on a side is the mean over that side of its share of the wall (a
// trace without it counts as 0), so the changes of all phases sum to the change of the total.
struct phase_change {
  std::string name;
  double count_a = 0;  // spans per trace
  double count_b = 0;
  double a_ns = 0;  // wall per trace
  double b_ns = 0;
  double change_ns = 0;  // b - a
  double share = 0;      // of the whole change; negative where it went against it; 0 where nothing changed
};
struct difference {
  std::size_t traces_a = 0;
  std::size_t traces_b = 0;
  double total_a_ns = 0;
  double total_b_ns = 0;
  std::vector<phase_change> phases;  // largest change first, slower before faster
};
difference compare(const std::vector<breakdown>& a, const std::vector<breakdown>& b);

// --- outliers: which attributes the slow ones share
// -------------------------------------------------------------------
//
// Of spans, those that took at least the quantile `slow` of all durations are slow, and told apart from the rest by
// their attributes, their own and their resource's. A numeric attribute with more than 16 values is looked at as
// "at least its median". Score = share of the slow that have it - share of the rest that have it.
struct outlier_attribute {
  std::string key;
  std::string what;  // "= 4096" or "≥ 1048576"
  std::uint64_t slow_with = 0;
  std::uint64_t rest_with = 0;
  double score = 0;
};
struct outliers {
  std::uint64_t slow = 0;
  std::uint64_t rest = 0;
  std::int64_t threshold_ns = 0;
  std::vector<outlier_attribute> attributes;  // best first; scores above 0 only
};
outliers find_outliers(const std::vector<span_row>& spans, double slow = 0.95, std::size_t most = 20);

}  // namespace telltale::hub
