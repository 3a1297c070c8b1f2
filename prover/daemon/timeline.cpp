// The intervals become spans of telltale's model, below one root, and are broken down as every trace is.
#include "prover/daemon/timeline.hpp"

#include <algorithm>
#include <string_view>
#include <telltale/core/breakdown.hpp>
#include <telltale/core/trace_model.hpp>
#include <tuple>

namespace prover::daemon {
namespace {

constexpr const char* rest = "other";

// What of a wait lies outside all work, given in order of begin.
void cut(interval wait, const std::vector<interval>& work, std::vector<interval>& into) {
  for (const interval& w : work) {
    if (w.end <= wait.begin) continue;
    if (w.begin >= wait.end) break;
    if (w.begin > wait.begin) into.push_back({wait.name, wait.begin, w.begin});
    wait.begin = std::min(w.end, wait.end);
  }
  if (wait.begin < wait.end) into.push_back(wait);
}

}  // namespace

timing timeline::up_to(steady_time end) const {
  std::vector<interval> work = work_;
  std::sort(work.begin(), work.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
  std::vector<interval> waits;
  for (const interval& w : waits_) cut(w, work, waits);

  std::vector<telltale::trace_span> spans;
  spans.reserve(1 + work.size() + waits.size());
  const auto add = [&](const char* name, steady_time from, steady_time to) {
    telltale::trace_span s;
    s.trace = {0, 1};
    s.id = {spans.size() + 1};
    if (!spans.empty()) s.parent = {1};
    s.name = name;
    s.begin_ns = nanoseconds(from - begin_).count();
    s.end_ns = nanoseconds(to - begin_).count();
    spans.push_back(std::move(s));
  };
  add(rest, begin_, end);
  for (const auto* group : {&work, &waits}) {
    for (const interval& i : *group) add(i.name, i.begin, i.end);
  }
  const telltale::trace_tree tree(std::move(spans));
  const telltale::breakdown parts = telltale::break_down(tree, tree.roots().front());

  // In the order in which they first began.
  timing t;
  t.total = nanoseconds(parts.total_ns);
  std::vector<interval> order = work;
  order.insert(order.end(), waits.begin(), waits.end());
  std::sort(order.begin(), order.end(), [](const interval& a, const interval& b) {
    return std::tuple(a.begin, a.end, std::string_view(a.name)) < std::tuple(b.begin, b.end, std::string_view(b.name));
  });
  order.push_back({rest, end, end});
  for (const interval& i : order) {
    const auto same = [&](const phase_time& p) { return p.name == i.name; };
    const telltale::phase_time* found = parts.find(i.name);
    if (found == nullptr || (i.name == rest && found->wall_ns == 0) ||
        std::any_of(t.phases.begin(), t.phases.end(), same))
      continue;
    const bool is_work =
        std::any_of(work.begin(), work.end(), [&](const interval& w) { return w.name == found->name; });
    t.phases.push_back(
        {found->name, found->count, nanoseconds(found->wall_ns), nanoseconds(is_work ? found->busy_ns : 0)});
  }
  return t;
}

}  // namespace prover::daemon
