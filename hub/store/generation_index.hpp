// What is known of a generation of tables in memory without asking DuckDB: which traces it has, how long its spans
// took. One thread adds, any thread asks.
#pragma once

#include <mutex>
#include <telltale/core/context.hpp>
#include <unordered_set>
#include <vector>

#include "hub/otlp/batch.hpp"
#include "hub/store/durations.hpp"

namespace telltale::hub {

class generation_index {
 public:
  void add(const std::vector<const span_record*>& spans) {
    const std::lock_guard lock(mutex_);
    for (const span_record* s : spans) {
      traces_.insert(mixed(s->trace));
      durations_.of(s->name, s->kind)
          .add(s->start_ns, s->duration_ns, s->status == static_cast<std::uint8_t>(status_code::error));
    }
  }
  bool may_hold(trace_id id) const {
    const std::lock_guard lock(mutex_);
    return traces_.contains(mixed(id));
  }
  durations_by_name durations() const {
    const std::lock_guard lock(mutex_);
    return durations_;
  }

 private:
  static std::uint64_t mixed(trace_id id) noexcept { return id.low ^ (id.high * 0x9e3779b97f4a7c15u); }

  mutable std::mutex mutex_;
  std::unordered_set<std::uint64_t> traces_;
  durations_by_name durations_;
};

}  // namespace telltale::hub
