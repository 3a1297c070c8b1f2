// The walk back along the critical path.
#include <algorithm>
#include <limits>
#include <telltale/core/critical_path.hpp>
#include <unordered_map>

namespace telltale {

namespace {

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

// What the walk needs to know of a span.
struct interval {
  std::int64_t begin = 0;  // never before its parent's
  std::int64_t end = 0;
  std::size_t waiter = none;   // the nearest ancestor that still runs at its end
  std::size_t starter = none;  // the nearest ancestor that still runs at its begin
};

// The ancestors of a span that are nobody's match: each ends later than all that stand nearer. So the nearest one that
// runs at some instant is found by bisection, and entering or leaving a span changes one place.
class ancestors {
 public:
  explicit ancestors(const std::vector<interval>& of) : of_(of) {}

  std::size_t nearest_that_runs_at(std::int64_t t) const {
    const std::size_t n = first_that_ends_before(t);
    return n == 0 ? none : open_[n - 1];
  }
  struct undo {
    std::size_t place;
    std::size_t former;
    std::size_t size;
  };
  undo enter(std::size_t span) {
    const std::size_t place = first_that_ends_before(of_[span].end + 1);
    if (place == open_.size()) open_.push_back(none);
    const undo u{place, open_[place], size_};
    open_[place] = span;
    size_ = place + 1;
    return u;
  }
  void leave(const undo& u) {
    open_[u.place] = u.former;
    size_ = u.size;
  }

 private:
  std::size_t first_that_ends_before(std::int64_t t) const {
    const auto end = open_.begin() + static_cast<std::ptrdiff_t>(size_);
    return static_cast<std::size_t>(
        std::lower_bound(open_.begin(), end, t, [&](std::size_t s, std::int64_t at) { return of_[s].end >= at; }) -
        open_.begin());
  }

  const std::vector<interval>& of_;
  std::vector<std::size_t> open_;
  std::size_t size_ = 0;
};

std::vector<interval> intervals_below(const trace_tree& tree, std::size_t root) {
  const std::vector<trace_span>& spans = tree.spans();
  std::vector<interval> out(spans.size());
  ancestors above(out);
  struct level {
    std::size_t span;
    std::size_t next_child;
    ancestors::undo undo;
  };
  std::vector<level> stack;
  const auto enter = [&](std::size_t i, std::int64_t not_before) {
    interval& mine = out[i];
    mine.begin = std::max(spans[i].begin_ns, not_before);
    mine.end = std::max(spans[i].end_ns, mine.begin);
    mine.waiter = above.nearest_that_runs_at(mine.end);
    mine.starter = above.nearest_that_runs_at(mine.begin);
    stack.push_back({i, 0, above.enter(i)});
  };
  enter(root, std::numeric_limits<std::int64_t>::min());
  while (!stack.empty()) {
    level& top = stack.back();
    const std::vector<std::size_t>& children = tree.children(top.span);
    if (top.next_child == children.size()) {
      above.leave(top.undo);
      stack.pop_back();
      continue;
    }
    enter(children[top.next_child++], out[top.span].begin);
  }
  return out;
}

// One span that another waited for.
struct wait {
  std::size_t waiter;
  std::size_t on;
  bool by_link;
};

// All of them, grouped by who waited, the last to end first.
std::vector<wait> waits_below(const trace_tree& tree, const std::vector<std::size_t>& members,
                              const std::vector<interval>& of) {
  const std::vector<trace_span>& spans = tree.spans();
  std::unordered_map<std::uint64_t, std::size_t> by_id;
  const auto is_wait = [](const trace_link& l) {
    return l.kind == link_kind::waits_for || l.kind == link_kind::input_of;
  };
  for (const std::size_t i : members) {
    if (std::any_of(spans[i].links.begin(), spans[i].links.end(), is_wait)) {
      for (const std::size_t m : members) by_id.emplace(spans[m].id.value, m);
      break;
    }
  }
  std::vector<wait> out;
  for (const std::size_t i : members) {
    if (of[i].waiter != none) out.push_back({of[i].waiter, i, false});
    for (const trace_link& l : spans[i].links) {
      const auto target = is_wait(l) ? by_id.find(l.span.value) : by_id.end();
      if (target == by_id.end() || spans[target->second].trace != l.trace || target->second == i) continue;
      out.push_back({i, target->second, true});
    }
  }
  std::sort(out.begin(), out.end(), [&](const wait& a, const wait& b) {
    if (a.waiter != b.waiter) return a.waiter < b.waiter;
    if (of[a.on].end != of[b.on].end) return of[a.on].end > of[b.on].end;
    if (of[a.on].begin != of[b.on].begin) return of[a.on].begin < of[b.on].begin;
    return a.on < b.on;
  });
  return out;
}

class walk {
 public:
  walk(const std::vector<interval>& of, const std::vector<wait>& waits)
      : of_(of), waits_(waits), entered_(of.size(), false), path_ns_(of.size(), 0) {}

  std::vector<path_segment> run(std::size_t root) {
    enter(root, of_[root].end, of_[root].begin, false);
    while (!stack_.empty()) {
      const wait* next = next_wait(stack_.back());
      if (next == nullptr) {
        leave();
        continue;
      }
      holder& h = stack_.back();
      keep(h.span, of_[next->on].end, h.at);
      h.at = of_[next->on].end;
      enter(next->on, h.at, h.begin, next->by_link);
    }
    std::reverse(segments_.begin(), segments_.end());
    return std::move(segments_);
  }
  std::int64_t path_ns(std::size_t span) const { return path_ns_[span]; }

 private:
  struct holder {
    std::size_t span;
    std::int64_t at;     // how far back the walk has come
    std::int64_t begin;  // where it is left
    std::int64_t entered_at;
    std::size_t next;  // into waits_
    bool by_link;
  };

  void enter(std::size_t span, std::int64_t at, std::int64_t not_before, bool by_link) {
    const auto first = std::lower_bound(waits_.begin(), waits_.end(), at, [&](const wait& w, std::int64_t t) {
      return w.waiter != span ? w.waiter < span : of_[w.on].end > t;
    });
    entered_[span] = true;
    stack_.push_back({span, at, std::max(of_[span].begin, not_before), at,
                      static_cast<std::size_t>(first - waits_.begin()), by_link});
  }

  // The last to end of those that `h` waited for and that ended by now.
  const wait* next_wait(holder& h) {
    for (; h.next < waits_.size() && waits_[h.next].waiter == h.span; ++h.next) {
      const wait& w = waits_[h.next];
      const interval& on = of_[w.on];
      if (on.end <= h.begin) return nullptr;
      if (on.end <= h.at && on.begin < on.end && !entered_[w.on]) return &waits_[h.next++];
    }
    return nullptr;
  }

  void leave() {
    const holder h = stack_.back();
    keep(h.span, h.begin, h.at);
    path_ns_[h.span] += h.entered_at - h.begin;
    entered_[h.span] = false;
    stack_.pop_back();
    if (stack_.empty()) return;
    holder& below = stack_.back();
    below.at = h.begin;
    const std::size_t starter = of_[h.span].starter;
    if (h.by_link || h.begin <= below.begin || starter == none || entered_[starter]) return;
    enter(starter, h.begin, below.begin, false);
  }

  void keep(std::size_t span, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    if (!segments_.empty() && segments_.back().span == span) {
      segments_.back().begin_ns = begin;
    } else {
      segments_.push_back({span, begin, end});
    }
  }

  const std::vector<interval>& of_;
  const std::vector<wait>& waits_;
  std::vector<bool> entered_;
  std::vector<std::int64_t> path_ns_;
  std::vector<holder> stack_;
  std::vector<path_segment> segments_;  // the last one first
};

}  // namespace

critical_path find_critical_path(const trace_tree& tree, std::size_t root) {
  const std::vector<std::size_t> members = tree.subtree(root);
  const std::vector<interval> of = intervals_below(tree, root);
  const std::vector<wait> waits = waits_below(tree, members, of);
  walk back(of, waits);

  critical_path out;
  out.total_ns = of[root].end - of[root].begin;
  out.segments = back.run(root);

  std::vector<std::int64_t> self(tree.spans().size(), 0);
  for (const path_segment& s : out.segments) self[s.span] += s.end_ns - s.begin_ns;
  std::unordered_map<std::string, std::size_t> at;
  for (const std::size_t i : members) {
    const std::int64_t clipped = std::max<std::int64_t>(0, std::min(of[i].end, of[root].end) - of[i].begin);
    out.spans.push_back({i, self[i], back.path_ns(i), clipped - back.path_ns(i)});
    if (self[i] == 0) continue;
    const auto [place, is_new] = at.try_emplace(tree.spans()[i].name, out.phases.size());
    if (is_new) out.phases.push_back({tree.spans()[i].name, 0, 0});
    ++out.phases[place->second].count;
    out.phases[place->second].self_ns += self[i];
  }
  std::sort(out.phases.begin(), out.phases.end(), [](const path_phase& a, const path_phase& b) {
    return std::pair(-a.self_ns, std::string_view{a.name}) < std::pair(-b.self_ns, std::string_view{b.name});
  });
  return out;
}

}  // namespace telltale
