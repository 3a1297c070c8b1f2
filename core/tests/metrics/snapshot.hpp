// Finding one's way in a snapshot.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <telltale/core/metric_snapshot.hpp>

namespace telltale::testing {

inline const metric* find_metric(const metric_snapshot& s, std::string_view name) {
  const auto found = std::ranges::find(s.metrics, name, &metric::name);
  return found != s.metrics.end() ? &*found : nullptr;
}

inline metric metric_named(std::string_view name) {
  const metric_snapshot s = snapshot_metrics();
  const metric* m = find_metric(s, name);
  if (m == nullptr) throw std::runtime_error("no metric named " + std::string(name));
  return *m;
}

// The point whose labels Prometheus writes like this; "" has none.
template <class Point>
const Point& with_labels(const std::vector<Point>& points, std::string_view exposition) {
  const auto found = std::ranges::find_if(points, [&](const Point& p) { return p.labels->exposition == exposition; });
  if (found == points.end()) throw std::runtime_error("no series {" + std::string(exposition) + "}");
  return *found;
}

inline std::int64_t whole(const metric& m, std::string_view exposition = {}) {
  return std::get<std::int64_t>(with_labels(m.numbers, exposition).value);
}
inline double real(const metric& m, std::string_view exposition = {}) {
  return std::get<double>(with_labels(m.numbers, exposition).value);
}

}  // namespace telltale::testing
