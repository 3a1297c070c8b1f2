// What is known of a generation of tables in memory without asking DuckDB: which traces it may have, how long its spans
// took. One thread adds, any thread asks.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <telltale/core/context.hpp>
#include <vector>

#include "hub/otlp/batch.hpp"
#include "hub/store/durations.hpp"

namespace telltale::hub {

class generation_index {
 public:
  void add(const std::vector<const span_record*>& spans) {
    for (const span_record* s : spans) {
      for (const std::uint64_t bit : bits_of(s->trace)) {
        (*traces_)[bit / 64].fetch_or(std::uint64_t{1} << bit % 64, std::memory_order_relaxed);
      }
    }
    const std::lock_guard lock(mutex_);
    for (const span_record* s : spans) {
      durations_.of(s->name, s->kind)
          .add(s->start_ns, s->duration_ns, s->status == static_cast<std::uint8_t>(status_code::error));
    }
  }
  // Waits for nobody. Now and then true where it doesn't: at 200,000 traces one time in thirty.
  bool may_hold(trace_id id) const noexcept {
    for (const std::uint64_t bit : bits_of(id)) {
      if (((*traces_)[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1) == 0) return false;
    }
    return true;
  }
  durations_by_name durations() const {
    const std::lock_guard lock(mutex_);
    return durations_;
  }

 private:
  // A Bloom filter.
  static constexpr std::uint64_t bits = 1u << 21;
  static std::array<std::uint64_t, 2> bits_of(trace_id id) noexcept {
    const std::uint64_t h = (id.low ^ id.high) * 0x9e3779b97f4a7c15u;
    return {(h >> 32) % bits, (h >> 8 ^ id.low) % bits};
  }
  std::unique_ptr<std::array<std::atomic<std::uint64_t>, bits / 64>> traces_ =
      std::make_unique<std::array<std::atomic<std::uint64_t>, bits / 64>>();

  mutable std::mutex mutex_;
  durations_by_name durations_;
};

}  // namespace telltale::hub
