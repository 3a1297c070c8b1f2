// Where metrics count: every thread has a shard of its own with one cell per number, and only it writes there (a load
// and a store, no locked instruction). Reading adds the cells of all shards up. A shard outlives its thread and is
// handed to a later one, so nothing that was counted is ever lost.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <telltale/core/context.hpp>

namespace telltale::detail {

using metric_cell = std::atomic<std::uint64_t>;

// A series' cells follow each other within one page. Page 0 is never there, so number 0 means "none yet".
inline constexpr std::uint32_t cells_per_page = 4096;
inline constexpr std::uint32_t max_cell_pages = 2048;

struct metric_shard {
  std::atomic<metric_cell*> pages[max_cell_pages];  // made as they are needed, by the owner
};

// This thread's cell of that number; null where its page (or its shard) has yet to be made.
inline metric_cell* find_cell(std::uint32_t number) noexcept {
  metric_cell* page = tls.shard->pages[number / cells_per_page].load(std::memory_order_relaxed);
  return page != nullptr ? page + number % cells_per_page : nullptr;
}

// The same, making what is missing; null when the operating system gives no memory, which is counted
// (telltale.metric.lost).
TELLTALE_EXPORT metric_cell* make_cell(std::uint32_t number) noexcept;

inline metric_cell* cell_of(std::uint32_t number) noexcept {
  metric_cell* c = find_cell(number);
  return c != nullptr ? c : make_cell(number);
}

// Adds to a cell of this thread's and returns what stood there before.
inline std::uint64_t add_to(metric_cell* mine, std::uint64_t n) noexcept {
  const std::uint64_t before = mine->load(std::memory_order_relaxed);
  mine->store(before + n, std::memory_order_relaxed);
  return before;
}

// Whether a measurement that moved a count of this thread's from `before` to `after` is kept as an exemplar: where a
// span is current, the first ones and every 64th. No clock is read for the others, and rare buckets keep all.
inline bool keeps_exemplar(std::uint64_t before, std::uint64_t after) noexcept {
  return tls.current.span.value != 0 && (before < 16 || ((before ^ after) >> 6) != 0);
}

}  // namespace telltale::detail
