// Registers instruments and finds the series of a set of labels.
#include "registry.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>
#include <telltale/core/gauge.hpp>

#include "../descriptors.hpp"
#include "exponential.hpp"
#include "exposition.hpp"
#include "record.hpp"
#include "shards.hpp"

namespace telltale::detail {

constinit std::atomic<std::uint32_t> default_max_series{2000};

namespace {

// Never destroyed: instruments are used by static destructors too. Under metrics_mutex.
std::map<std::string, metric_state*, std::less<>>& known() {
  static auto& k = *new std::map<std::string, metric_state*, std::less<>>;
  return k;
}
// Those whose name stands for something else already.
std::vector<metric_state*>& conflicting() {
  static auto& c = *new std::vector<metric_state*>;
  return c;
}

std::string_view to_string(metric_kind k) noexcept {
  constexpr std::string_view names[] = {"counter", "up-down counter", "gauge", "histogram", "exponential histogram"};
  return names[static_cast<std::size_t>(k)];
}

// The same for any order of the labels.
std::uint64_t hash_of(const label_view* labels, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const label_view& l = labels[i];
    const std::uint64_t value = l.type == attribute_type::string ? std::hash<std::string_view>{}(l.text) : l.bits;
    sum += scattered(l.key_hash ^ scattered(value + static_cast<std::uint64_t>(l.type)));
  }
  return sum;
}

attribute_value value_of(const label_view& l) {
  switch (l.type) {
    case attribute_type::boolean:
      return l.bits != 0;
    case attribute_type::int64:
      return static_cast<std::int64_t>(l.bits);
    case attribute_type::uint64:
      return l.bits;
    case attribute_type::float64:
      return std::bit_cast<double>(l.bits);
    case attribute_type::string:
      break;
  }
  return std::string(l.text);
}

bool is_value(const attribute_value& v, const label_view& l) noexcept {
  if (v.index() != static_cast<std::size_t>(l.type)) return false;
  switch (l.type) {
    case attribute_type::boolean:
      return std::get<bool>(v) == (l.bits != 0);
    case attribute_type::int64:
      return std::get<std::int64_t>(v) == static_cast<std::int64_t>(l.bits);
    case attribute_type::uint64:
      return std::get<std::uint64_t>(v) == l.bits;
    case attribute_type::float64:
      return std::bit_cast<std::uint64_t>(std::get<double>(v)) == l.bits;
    case attribute_type::string:
      break;
  }
  return std::get<std::string>(v) == l.text;
}

bool has_labels(const series& s, const label_view* labels, std::size_t count) noexcept {
  const auto& stored = s.labels->labels;
  if (stored.size() != count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const auto found =
        std::find_if(stored.begin(), stored.end(), [&](const auto& p) { return p.first == labels[i].key; });
    if (found == stored.end() || !is_value(found->second, labels[i])) return false;
  }
  return true;
}

series* look_up(const metric_state& m, std::uint64_t hash, const label_view* labels, std::size_t count) noexcept {
  const std::atomic<series*>* table = m.table.load(std::memory_order_acquire);
  if (table == nullptr) return nullptr;
  for (std::size_t at = hash & m.table_mask;; at = (at + 1) & m.table_mask) {
    series* s = table[at].load(std::memory_order_acquire);
    if (s == nullptr || (s->hash == hash && has_labels(*s, labels, count))) return s;
  }
}

void enter_locked(metric_state& m, series* s) noexcept {
  std::atomic<series*>* table = m.table.load(std::memory_order_relaxed);
  if (table == nullptr) {
    const std::size_t size = std::bit_ceil(std::size_t{2} * m.max_series);
    table = new std::atomic<series*>[size]();
    m.table_mask = size - 1;
    m.table.store(table, std::memory_order_release);
  }
  std::size_t at = s->hash & m.table_mask;
  while (table[at].load(std::memory_order_relaxed) != nullptr) at = (at + 1) & m.table_mask;
  table[at].store(s, std::memory_order_release);
}

series* add_series_locked(metric_state& m, std::shared_ptr<const label_set> labels, std::uint64_t hash) {
  auto* s = new series;
  s->metric = &m;
  s->labels = std::move(labels);
  s->hash = hash;
  if (const auto [found, is_new] = m.by_exposition.try_emplace(s->labels->exposition, s); !is_new) {
    s->main = found->second;
  } else if (m.cells_per_series != 0) {
    s->cell = take_cells_locked(m.cells_per_series);
  }
  s->next = m.newest.load(std::memory_order_relaxed);
  m.newest.store(s, std::memory_order_release);
  return s;
}

series* overflow_of_locked(metric_state& m) {
  if (series* s = m.overflow.load(std::memory_order_relaxed)) return s;
  const label_view overflow{"otel.metric.overflow", 0, attribute_type::boolean, 1, {}};
  series* s = add_series_locked(m, make_label_set(&overflow, 1), 0);
  m.overflow.store(s, std::memory_order_release);
  return s;
}

std::string contradiction(const metric_state& known_as, const metric_state& m) {
  if (known_as.kind != m.kind) {
    return "as " + std::string(to_string(known_as.kind)) + " and as " + std::string(to_string(m.kind));
  }
  if (known_as.unit != m.unit) return "with unit \"" + known_as.unit + "\" and with unit \"" + m.unit + '"';
  const auto same = [](const bucket_bounds* a, const bucket_bounds* b) {
    return a == nullptr || std::ranges::equal(a->values(), b->values());
  };
  return same(known_as.bounds, m.bounds) ? "" : "with two sets of bounds";
}

metric_state* register_locked(const instrument& i, std::uint32_t max_series) {
  auto fresh = std::make_unique<metric_state>(i, max_series);
  const auto [found, is_new] = known().try_emplace(fresh->name, fresh.get());
  if (is_new) return fresh.release();
  const std::string why = contradiction(*found->second, *fresh);
  if (why.empty()) return found->second;
  complain_of_conflict(fresh->name, why);
  conflicting().push_back(fresh.get());
  return fresh.release();
}

}  // namespace

metric_state::metric_state(const instrument& i, std::uint32_t series_limit)
    : name(i.name()), description(i.description()), unit(i.unit()), kind(i.kind()), max_series(series_limit) {
  switch (kind) {
    case metric_kind::counter:
      cells_per_series = 1;
      exemplar_slots = 1;
      break;
    case metric_kind::up_down_counter:
      cells_per_series = 1;
      exemplar_slots = 0;
      break;
    case metric_kind::gauge:
      cells_per_series = 0;
      exemplar_slots = 0;
      break;
    case metric_kind::histogram:
      bounds = new bucket_bounds(static_cast<const histogram&>(i).bounds());
      cells_per_series = static_cast<std::uint32_t>(bounds->values().size()) + 2;  // the sum, and one bucket more
      exemplar_slots = cells_per_series - 1;
      break;
    case metric_kind::exponential_histogram:
      cells_per_series = exponential_cells;
      exemplar_slots = exponential_exemplars;
      break;
  }
}

void complain_of_conflict(std::string_view name, std::string_view how) {
  complain("the metric \"" + std::string(name) + "\" is defined twice, " + std::string(how) +
           "; the second one is not exported. Give one of them another name.");
}

std::shared_ptr<const label_set> make_label_set(const label_view* labels, std::size_t count) {
  auto set = std::make_shared<label_set>();
  for (std::size_t i = 0; i < count; ++i) set->labels.emplace_back(labels[i].key, value_of(labels[i]));
  std::sort(set->labels.begin(), set->labels.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  set->exposition = exposition_labels(set->labels);
  return set;
}

std::vector<metric_state*> exported_metrics() {
  const std::lock_guard lock(metrics_mutex);
  std::vector<metric_state*> out;
  for (const auto& [name, m] : known()) out.push_back(m);
  return out;
}

void reset_series_after_fork() noexcept {
  const auto reset = [](metric_state& m) {
    m.overflows.store(0, std::memory_order_relaxed);
    for (series* s = m.newest.load(std::memory_order_relaxed); s != nullptr; s = s->next) {
      s->gauge.store(0, std::memory_order_relaxed);
      exemplar_slot* slots = s->exemplars.load(std::memory_order_relaxed);
      for (std::uint32_t i = 0; slots != nullptr && i < m.exemplar_slots; ++i) {
        slots[i].span.store(0, std::memory_order_relaxed);
        slots[i].sequence.store(0, std::memory_order_relaxed);  // its writer may have been another thread
      }
    }
  };
  for (const auto& [name, m] : known()) reset(*m);
  for (metric_state* m : conflicting()) reset(*m);
}

std::uint32_t first_cell(const series& s) noexcept {
  return s.cell;
}
std::atomic<std::uint64_t>& gauge_value(series& s) noexcept {
  return s.gauge;
}
const bucket_bounds& bounds_of(const series& s) noexcept {
  return *s.metric->bounds;
}

}  // namespace telltale::detail

namespace telltale {

using namespace detail;

detail::metric_state& instrument::state() {
  if (metric_state* m = state_.load(std::memory_order_acquire)) return *m;
  const std::lock_guard lock(metrics_mutex);
  if (metric_state* m = state_.load(std::memory_order_relaxed)) return *m;
  const std::uint32_t limit = max_series_ != 0 ? max_series_ : default_max_series.load(std::memory_order_relaxed);
  metric_state* m = register_locked(*this, std::clamp(limit, 2u, max_series_limit));
  state_.store(m, std::memory_order_release);
  return *m;
}

detail::series* instrument::plain() noexcept {
  metric_state& m = state();
  series* s = m.plain.load(std::memory_order_acquire);
  if (s == nullptr) {
    const std::lock_guard lock(metrics_mutex);
    s = m.plain.load(std::memory_order_relaxed);
    if (s == nullptr) {
      s = add_series_locked(m, make_label_set(nullptr, 0), 0)->main;
      m.plain.store(s, std::memory_order_release);
    }
  }
  cell_.store(s->cell, std::memory_order_relaxed);
  return s;
}

detail::series* instrument::find(detail::label_view* labels, std::size_t count) noexcept {
  metric_state& m = state();
  for (std::size_t i = 0; i < count; ++i) {
    if (labels[i].text.size() > max_string_bytes)
      labels[i].text = labels[i].text.substr(0, cut_to(labels[i].text, max_string_bytes));
  }
  const std::uint64_t hash = hash_of(labels, count);
  if (series* s = look_up(m, hash, labels, count)) return s->main;
  const bool full = m.overflow.load(std::memory_order_acquire) != nullptr;
  if (!full) {
    const std::lock_guard lock(metrics_mutex);
    if (series* s = look_up(m, hash, labels, count)) return s->main;
    if (m.labelled + 1 < m.max_series) {
      series* s = add_series_locked(m, make_label_set(labels, count), hash);
      enter_locked(m, s);
      ++m.labelled;
      return s->main;
    }
    (void)overflow_of_locked(m);
  }
  m.overflows.fetch_add(1, std::memory_order_relaxed);
  return m.overflow.load(std::memory_order_relaxed);
}

}  // namespace telltale
