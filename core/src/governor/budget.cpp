// The most frequent go first, until the rest fits; they come back when there is room for them twice.
#include "budget.hpp"

#include <algorithm>

namespace telltale::detail {

budget_verdict weigh(const period_cost& p, std::vector<site_load> sites, double budget) {
  budget_verdict v;
  v.allowed_ns = budget * std::max(p.program_ns, p.seconds * 1e9);
  double cost = p.telemetry_ns;
  std::sort(sites.begin(), sites.end(), [](const site_load& a, const site_load& b) { return a.calls > b.calls; });
  for (const site_load& s : sites) {
    if (cost <= v.allowed_ns || s.calls < ordinary_calls_per_second * p.seconds) break;
    if (s.counted) continue;
    v.count.push_back(s.site);
    cost -= s.calls * p.call_ns;
  }
  if (!v.count.empty()) return v;
  for (auto s = sites.rbegin(); s != sites.rend(); ++s) {
    if (!s->counted) continue;
    const double with_it = cost + s->calls * p.call_ns;
    if (with_it > v.allowed_ns / 2 && s->calls > ordinary_calls_per_second / 2 * p.seconds) break;
    v.spare.push_back(s->site);
    cost = with_it;
  }
  return v;
}

}  // namespace telltale::detail
