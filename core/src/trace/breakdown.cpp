// The arithmetic of a breakdown.
#include <algorithm>
#include <cmath>
#include <telltale/core/breakdown.hpp>
#include <unordered_map>

namespace telltale {

namespace {

struct interval {
  std::int64_t begin;
  std::int64_t end;
};

// Time covered by at least one of them.
std::int64_t covered(std::vector<interval> list) {
  std::sort(list.begin(), list.end(), [](const interval& a, const interval& b) { return a.begin < b.begin; });
  std::int64_t sum = 0;
  std::int64_t until = INT64_MIN;
  for (const interval& i : list) {
    sum += std::max<std::int64_t>(0, i.end - std::max(i.begin, until));
    until = std::max(until, i.end);
  }
  return sum;
}

// One sweep over all begins and ends. Between two of them the innermost running spans share the time equally; each
// remembers how large the integral of dt / (number of sharers) was when it joined them.
std::unordered_map<std::size_t, double> wall_shares(const std::vector<std::size_t>& members,
                                                    const std::unordered_map<std::size_t, interval>& clipped,
                                                    const std::unordered_map<std::size_t, std::size_t>& parent) {
  struct moment {
    std::int64_t at;
    bool is_end;
    std::size_t depth_order;  // parents begin first and end last
    std::size_t span;
  };
  std::vector<moment> moments;
  for (std::size_t order = 0; order < members.size(); ++order) {
    const interval& i = clipped.at(members[order]);
    if (i.end <= i.begin) continue;
    moments.push_back({i.begin, false, order, members[order]});
    moments.push_back({i.end, true, members.size() - order, members[order]});
  }
  std::sort(moments.begin(), moments.end(), [](const moment& a, const moment& b) {
    // Ends before begins at one instant: a child that follows its sibling without a gap never shares with it.
    if (a.at != b.at) return a.at < b.at;
    if (a.is_end != b.is_end) return a.is_end;
    return a.depth_order < b.depth_order;
  });

  std::unordered_map<std::size_t, double> share;
  std::unordered_map<std::size_t, double> joined;
  std::unordered_map<std::size_t, std::size_t> running_children;
  std::unordered_map<std::size_t, bool> running;
  std::size_t sharers = 0;
  double integral = 0;
  std::int64_t last = moments.empty() ? 0 : moments.front().at;
  const auto join = [&](std::size_t s) {
    joined[s] = integral;
    ++sharers;
  };
  const auto leave = [&](std::size_t s) {
    share[s] += integral - joined[s];
    --sharers;
  };
  for (const moment& m : moments) {
    if (sharers != 0) integral += static_cast<double>(m.at - last) / static_cast<double>(sharers);
    last = m.at;
    const auto p = parent.find(m.span);
    const bool has_parent = p != parent.end();
    if (!m.is_end) {
      running[m.span] = true;
      if (running_children[m.span] == 0) join(m.span);
      if (has_parent && running_children[p->second]++ == 0 && running[p->second]) leave(p->second);
    } else {
      running[m.span] = false;
      if (running_children[m.span] == 0) leave(m.span);
      if (has_parent && --running_children[p->second] == 0 && running[p->second]) join(p->second);
    }
  }
  return share;
}

}  // namespace

const phase_time* breakdown::find(std::string_view name) const noexcept {
  for (const phase_time& p : phases) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

breakdown break_down(const trace_tree& tree, std::size_t root) {
  const std::vector<trace_span>& spans = tree.spans();
  const std::vector<std::size_t> members = tree.subtree(root);
  std::unordered_map<std::size_t, interval> clipped;
  std::unordered_map<std::size_t, std::size_t> parent;
  const interval whole{spans[root].begin_ns, spans[root].end_ns};
  clipped[root] = whole;
  for (const std::size_t i : members) {
    for (const std::size_t c : tree.children(i)) {
      parent[c] = i;
      clipped[c] = {std::clamp(spans[c].begin_ns, whole.begin, whole.end),
                    std::clamp(spans[c].end_ns, whole.begin, whole.end)};
    }
  }
  const auto shares = wall_shares(members, clipped, parent);

  breakdown out;
  out.total_ns = spans[root].duration_ns();
  std::unordered_map<std::string, std::size_t> at;
  std::vector<double> wall;
  for (const std::size_t i : members) {
    const auto [place, is_new] = at.try_emplace(spans[i].name, out.phases.size());
    if (is_new) {
      out.phases.push_back({spans[i].name, 0, 0, 0, 0});
      wall.push_back(0);
    }
    phase_time& p = out.phases[place->second];
    const interval mine = clipped.at(i);
    std::vector<interval> below;
    for (const std::size_t c : tree.children(i)) {
      const interval& child = clipped.at(c);
      below.push_back({std::max(child.begin, mine.begin), std::min(child.end, mine.end)});
    }
    ++p.count;
    p.total_ns += mine.end - mine.begin;
    p.busy_ns += mine.end - mine.begin - covered(std::move(below));
    if (const auto s = shares.find(i); s != shares.end()) wall[place->second] += s->second;
  }
  for (std::size_t i = 0; i < wall.size(); ++i) out.phases[i].wall_ns = std::llround(wall[i]);
  // By name where shares are equal: the order never depends on the input's.
  std::sort(out.phases.begin(), out.phases.end(), [](const phase_time& a, const phase_time& b) {
    return std::pair(-a.wall_ns, std::string_view{a.name}) < std::pair(-b.wall_ns, std::string_view{b.name});
  });
  return out;
}

}  // namespace telltale
