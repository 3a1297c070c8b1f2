// Counters: listing them, and adding their cells up.
#include <algorithm>
#include <chrono>
#include <telltale/core/counter.hpp>
#include <telltale/core/metric_snapshot.hpp>

#include "engine.hpp"
#include "memory.hpp"

namespace telltale {

struct counter_list {
  static counter*& next(counter& c) noexcept { return c.next_; }
};

namespace {
constinit counter* first = nullptr;
constinit std::uint32_t next_cell = 1;
}  // namespace

void counter::add_slow(std::uint64_t n) noexcept {
  detail::attach();
  {
    const std::lock_guard lock(detail::registry_mutex);
    if (!listed_) {
      listed_ = true;
      next_ = first;
      first = this;
      if (next_cell < detail::max_counters) cell_.store(next_cell++, std::memory_order_relaxed);
    }
  }
  shared_.fetch_add(n, std::memory_order_relaxed);
}

std::uint64_t counter::value() const noexcept {
  std::uint64_t sum = shared_.load(std::memory_order_relaxed);
  const std::uint32_t cell = cell_.load(std::memory_order_relaxed);
  detail::memory_map* m = detail::memory();
  if (cell == 0 || m == nullptr) return sum;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) sum += m->blocks[i].counts[cell].load(std::memory_order_relaxed);
  return sum;
}

std::vector<counter_value> counters() {
  std::vector<const counter*> listed;
  {
    const std::lock_guard lock(detail::registry_mutex);
    for (counter* c = first; c != nullptr; c = counter_list::next(*c)) listed.push_back(c);
  }
  std::vector<counter_value> out;
  for (const counter* c : listed) out.push_back({std::string(c->name()), std::string(c->description()), c->value()});
  std::sort(out.begin(), out.end(), [](const counter_value& a, const counter_value& b) { return a.name < b.name; });
  return out;
}

namespace {
std::int64_t wall_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}
const std::int64_t loaded_ns = wall_ns();
}  // namespace

metric_snapshot snapshot_metrics() {
  static const auto no_labels = std::make_shared<const label_set>();
  metric_snapshot out{loaded_ns, wall_ns(), {}};
  for (counter_value& c : counters()) {
    metric m;
    m.name = std::move(c.name);
    m.description = std::move(c.description);
    m.numbers.push_back({no_labels, static_cast<std::int64_t>(c.value), {}});
    out.metrics.push_back(std::move(m));
  }
  return out;
}

}  // namespace telltale
