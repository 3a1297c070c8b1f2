// What is known of a generation of tables in memory without asking DuckDB: which traces it may have, or links to, and
// how long its spans took. One thread adds, any thread asks.
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

// A Bloom filter that waits for nobody. Now and then true where it isn't: at 100,000 traces one time in a hundred.
class trace_filter {
 public:
  void add(trace_id id) noexcept {
    for (const std::uint64_t bit : bits_of(id)) {
      (*words_)[bit / 64].fetch_or(std::uint64_t{1} << bit % 64, std::memory_order_relaxed);
    }
  }
  bool may_hold(trace_id id) const noexcept {
    for (const std::uint64_t bit : bits_of(id)) {
      if (((*words_)[bit / 64].load(std::memory_order_relaxed) >> bit % 64 & 1) == 0) return false;
    }
    return true;
  }

 private:
  static constexpr std::uint64_t bits = 1u << 21;
  static std::array<std::uint64_t, 2> bits_of(trace_id id) noexcept {
    const std::uint64_t h = (id.low ^ id.high) * 0x9e3779b97f4a7c15u;
    return {(h >> 32) % bits, (h >> 8 ^ id.low) % bits};
  }
  using words = std::array<std::atomic<std::uint64_t>, bits / 64>;
  std::unique_ptr<words> words_ = std::make_unique<words>();
};

class generation_index {
 public:
  void add(const batch& b, const std::vector<const span_record*>& spans) {
    for (const span_record* s : spans) {
      traces_.add(s->trace);
      for (std::uint32_t i = 0; i < s->link_count; ++i) targets_.add(b.links[s->first_link + i].trace);
    }
    const std::lock_guard lock(mutex_);
    for (const span_record* s : spans) {
      durations_.of(s->name, s->kind)
          .add(s->start_ns, s->duration_ns, s->status == static_cast<std::uint8_t>(status_code::error));
    }
  }
  const trace_filter& traces() const noexcept { return traces_; }
  const trace_filter& targets() const noexcept { return targets_; }  // of links
  durations_by_name durations() const {
    const std::lock_guard lock(mutex_);
    return durations_;
  }

 private:
  trace_filter traces_;
  trace_filter targets_;

  mutable std::mutex mutex_;
  durations_by_name durations_;
};

}  // namespace telltale::hub
