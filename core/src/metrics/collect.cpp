// Takes snapshots: reads every series, runs the callbacks, adds the library's own figures.
#include "collect.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <list>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <telltale/core/callback.hpp>
#include <unordered_map>

#include "exponential.hpp"
#include "registry.hpp"
#include "shards.hpp"

namespace telltale::detail {

struct callback_entry {
  const callback* owner;
  metric description;  // without points
  std::function<void(observer&)> function;
};

namespace {

std::int64_t wall_ns() noexcept {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Never destroyed: callbacks may be static objects.
struct collection {
  std::mutex mutex;  // one snapshot at a time, and none while callbacks come and go
  std::list<callback_entry> callbacks;
  std::set<std::string> conflicts;  // that were complained of
  std::uint64_t callback_errors = 0;
  std::atomic<std::int64_t> start_ns{wall_ns()};
};
collection& self() {
  static collection& c = *new collection;
  return c;
}
[[gnu::constructor]] void at_load() {
  (void)self();  // the start time
}

std::size_t count_series(const metric_state& m) noexcept {
  std::size_t n = 0;
  for (const series* s = m.newest.load(std::memory_order_acquire); s != nullptr; s = s->next) ++n;
  return n;
}

// The series of an instrument that stand for themselves, oldest first.
std::vector<const series*> series_of(const metric_state& m) {
  std::vector<const series*> out;
  out.reserve(count_series(m));
  for (const series* s = m.newest.load(std::memory_order_acquire); s != nullptr; s = s->next) {
    if (s->main == s) out.push_back(s);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

number_point read_number(const series& s) {
  number_point p{s.labels, std::int64_t{0}, {}};
  if (s.metric->kind == metric_kind::gauge) {
    p.value = std::bit_cast<double>(s.gauge.load(std::memory_order_relaxed));
  } else {
    p.value = static_cast<std::int64_t>(sum_of(s.cell));
    p.exemplars = read_exemplars(s);
  }
  return p;
}

histogram_point read_histogram(const series& s) {
  histogram_point p;
  p.labels = s.labels;
  p.counts.resize(s.metric->bounds->values().size() + 1);
  for_each_cell(s.cell, [&](const metric_cell* c) {
    p.sum += std::bit_cast<double>(c[0].load(std::memory_order_relaxed));
    for (std::size_t i = 0; i < p.counts.size(); ++i) p.counts[i] += c[1 + i].load(std::memory_order_relaxed);
  });
  for (const std::uint64_t n : p.counts) p.count += n;
  p.exemplars = read_exemplars(s);
  return p;
}

exponential_point read_exponential(const series& s) {
  exponential_point p;
  p.labels = s.labels;
  p.scale = max_scale;
  for_each_cell(s.cell, [&](const metric_cell* c) { add_exponential(p, c); });
  p.exemplars = read_exemplars(s);
  return p;
}

metric read(const metric_state& state) {
  metric m;
  m.name = state.name;
  m.description = state.description;
  m.unit = state.unit;
  m.kind = state.kind;
  const std::vector<const series*> all = series_of(state);
  switch (m.kind) {
    case metric_kind::counter:
    case metric_kind::up_down_counter:
    case metric_kind::gauge:
      m.numbers.reserve(all.size());
      for (const series* s : all) m.numbers.push_back(read_number(*s));
      break;
    case metric_kind::histogram:
      m.bounds.assign(state.bounds->values().begin(), state.bounds->values().end());
      m.histograms.reserve(all.size());
      for (const series* s : all) m.histograms.push_back(read_histogram(*s));
      break;
    case metric_kind::exponential_histogram:
      m.exponentials.reserve(all.size());
      for (const series* s : all) m.exponentials.push_back(read_exponential(*s));
      break;
  }
  return m;
}

// Gathers the values of the callbacks of one instrument.
class gathering final : public observer {
 public:
  std::vector<number_point> take_points() { return std::move(points_); }
  std::uint64_t overflows() const noexcept { return overflows_; }

 private:
  void take(std::variant<std::int64_t, double> value, const label_view* labels, std::size_t count) override {
    std::shared_ptr<const label_set> set = make_label_set(labels, count);
    const auto found = by_exposition_.find(set->exposition);
    if (found != by_exposition_.end()) {
      points_[found->second].value = value;
    } else if (points_.size() < default_max_series.load(std::memory_order_relaxed)) {
      by_exposition_.emplace(set->exposition, points_.size());
      points_.push_back({std::move(set), value, {}});
    } else {
      ++overflows_;
    }
  }

  std::vector<number_point> points_;
  std::unordered_map<std::string, std::size_t> by_exposition_;
  std::uint64_t overflows_ = 0;
};

// Callbacks of one name are one instrument, like objects of one name.
void run_callbacks(collection& all, std::map<std::string, metric, std::less<>>& into,
                   std::map<std::string, std::uint64_t>& overflows) {
  std::map<std::string_view, std::pair<const metric*, gathering>> gathered;
  for (callback_entry& c : all.callbacks) {
    const metric& d = c.description;
    const auto as = gathered.try_emplace(d.name, &d, gathering{}).first;
    const metric& first = *as->second.first;
    if (into.contains(d.name) || first.kind != d.kind || first.unit != d.unit) {
      if (all.conflicts.insert(d.name).second) complain_of_conflict(d.name, "once with a callback");
      if (&first == &d) gathered.erase(as);
      continue;
    }
    try {
      c.function(as->second.second);
    } catch (...) {
      ++all.callback_errors;
    }
  }
  for (auto& [name, g] : gathered) {
    metric m = *g.first;
    m.numbers = g.second.take_points();
    if (g.second.overflows() != 0) overflows[m.name] += g.second.overflows();
    if (!m.numbers.empty()) into.emplace(m.name, std::move(m));
  }
}

}  // namespace

callback::callback(metric_kind kind, std::string_view name, std::string_view description, std::string_view unit,
                   std::function<void(observer&)> f) {
  metric d;
  d.name = name;
  d.description = description;
  d.unit = unit;
  d.kind = kind;
  const std::lock_guard lock(self().mutex);
  self().callbacks.push_back({this, std::move(d), std::move(f)});
}

callback::~callback() {
  const std::lock_guard lock(self().mutex);
  self().callbacks.remove_if([this](const callback_entry& c) { return c.owner == this; });
}

void reset_collection_after_fork() noexcept {
  // Another thread may have held it; the forking thread may have been in a callback and will unlock a free mutex.
  ::new (&self().mutex) std::mutex;
  self().start_ns.store(wall_ns(), std::memory_order_relaxed);
}

}  // namespace telltale::detail

namespace telltale {

metric_snapshot snapshot_metrics() {
  auto& all = detail::self();
  const std::lock_guard lock(all.mutex);
  metric_snapshot out;
  out.start_ns = all.start_ns.load(std::memory_order_relaxed);
  std::map<std::string, metric, std::less<>> by_name;
  std::map<std::string, std::uint64_t> overflows;
  for (const detail::metric_state* state : detail::exported_metrics()) {
    by_name.emplace(state->name, detail::read(*state));
    if (const std::uint64_t n = state->overflows.load(std::memory_order_relaxed); n != 0) overflows[state->name] = n;
  }
  detail::run_callbacks(all, by_name, overflows);
  for (metric& m : detail::own_figures(overflows, all.callback_errors)) {
    std::string name = m.name;
    by_name.insert_or_assign(std::move(name), std::move(m));
  }
  out.metrics.reserve(by_name.size());
  for (auto& [name, m] : by_name) out.metrics.push_back(std::move(m));
  out.time_ns = detail::wall_ns();
  return out;
}

}  // namespace telltale
