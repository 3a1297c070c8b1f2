// Sums over phases and counts over attributes.
#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

namespace telltale::hub {

difference compare(const std::vector<breakdown>& a, const std::vector<breakdown>& b) {
  difference out;
  out.traces_a = a.size();
  out.traces_b = b.size();
  std::map<std::string, phase_change> phases;
  const auto add = [&](const std::vector<breakdown>& side, double phase_change::* count, double phase_change::* ns,
                       double& total) {
    for (const breakdown& one : side) {
      total += static_cast<double>(one.total_ns);
      for (const phase_time& p : one.phases) {
        phase_change& c = phases[p.name];
        c.*count += static_cast<double>(p.count);
        c.*ns += static_cast<double>(p.wall_ns);
      }
    }
    // Sums first: a third three times is not one.
    const auto n = static_cast<double>(std::max<std::size_t>(1, side.size()));
    total /= n;
    for (auto& [_, c] : phases) {
      c.*count /= n;
      c.*ns /= n;
    }
  };
  add(a, &phase_change::count_a, &phase_change::a_ns, out.total_a_ns);
  add(b, &phase_change::count_b, &phase_change::b_ns, out.total_b_ns);
  const double change = out.total_b_ns - out.total_a_ns;
  for (auto& [name, c] : phases) {
    c.name = name;
    c.change_ns = c.b_ns - c.a_ns;
    c.share = change == 0 ? 0 : c.change_ns / change;
    out.phases.push_back(c);
  }
  std::stable_sort(out.phases.begin(), out.phases.end(), [](const phase_change& x, const phase_change& y) {
    if (std::abs(x.change_ns) != std::abs(y.change_ns)) return std::abs(x.change_ns) > std::abs(y.change_ns);
    return x.change_ns > y.change_ns;
  });
  return out;
}

namespace {

constexpr std::size_t many_values = 16;

std::optional<double> as_number(const attribute_value& v) {
  return std::visit(
      []<class T>(const T& x) -> std::optional<double> {
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
          return std::nullopt;
        } else {
          return static_cast<double>(x);
        }
      },
      v);
}

struct seen_value {
  std::optional<double> number;
  std::string text;
  bool slow;
};

template <class F>
void each_attribute(const span_row& r, F f) {
  std::set<std::string_view> done;
  const auto one = [&](std::string_view key, const attribute_value& v) {
    if (done.insert(key).second) f(key, v);
  };
  for (const auto& [key, value] : {std::pair<std::string_view, const std::string*>{"service", &r.service},
                                   {"node", &r.node},
                                   {"phase", &r.phase},
                                   {"job_id", &r.job_id},
                                   {"module_id", &r.module_id},
                                   {"status_message", &r.status_message}}) {
    if (!value->empty()) one(key, *value);
  }
  for (const auto& [key, value] : r.attributes) one(key, value);
  for (const auto& [key, value] : r.resource) one(key, value);
}

}  // namespace

outliers find_outliers(const std::vector<span_row>& spans, double slow, std::size_t most) {
  outliers out;
  if (spans.empty()) return out;
  std::vector<std::int64_t> durations;
  for (const span_row& r : spans) durations.push_back(r.duration_ns);
  const auto at = static_cast<std::ptrdiff_t>(std::clamp(slow, 0.0, 1.0) * static_cast<double>(durations.size() - 1));
  std::nth_element(durations.begin(), durations.begin() + at, durations.end());
  out.threshold_ns = durations[static_cast<std::size_t>(at)];

  std::unordered_map<std::string, std::vector<seen_value>> by_key;
  for (const span_row& r : spans) {
    const bool is_slow = r.duration_ns >= out.threshold_ns;
    ++(is_slow ? out.slow : out.rest);
    each_attribute(r, [&](std::string_view key, const attribute_value& v) {
      by_key[std::string(key)].push_back({as_number(v), to_string(v), is_slow});
    });
  }
  if (out.rest == 0) return out;  // all alike
  const auto add = [&](const std::string& key, std::string what, std::uint64_t slow_with, std::uint64_t rest_with) {
    const double score = static_cast<double>(slow_with) / static_cast<double>(out.slow) -
                         static_cast<double>(rest_with) / static_cast<double>(out.rest);
    if (score > 0) out.attributes.push_back({key, std::move(what), slow_with, rest_with, score});
  };
  for (auto& [key, values] : by_key) {
    std::map<std::string_view, std::pair<std::uint64_t, std::uint64_t>> counts;
    bool numbers = true;
    for (const seen_value& v : values) {
      numbers = numbers && v.number;
      ++(v.slow ? counts[v.text].first : counts[v.text].second);
    }
    if (numbers && counts.size() > many_values) {
      std::vector<double> sorted;
      for (const seen_value& v : values) sorted.push_back(*v.number);
      const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
      std::nth_element(sorted.begin(), middle, sorted.end());
      std::uint64_t slow_with = 0;
      std::uint64_t rest_with = 0;
      for (const seen_value& v : values) {
        if (*v.number >= *middle) ++(v.slow ? slow_with : rest_with);
      }
      add(key, "≥ " + to_string(attribute_value(*middle)), slow_with, rest_with);
      continue;
    }
    for (const auto& [text, n] : counts) add(key, "= " + std::string(text), n.first, n.second);
  }
  std::sort(out.attributes.begin(), out.attributes.end(), [](const outlier_attribute& x, const outlier_attribute& y) {
    if (x.score != y.score) return x.score > y.score;
    return std::pair(x.key, x.what) < std::pair(y.key, y.what);
  });
  if (out.attributes.size() > most) out.attributes.resize(most);
  return out;
}

}  // namespace telltale::hub
