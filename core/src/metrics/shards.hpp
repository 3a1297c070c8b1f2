// The memory that metrics count in: hands out cell numbers, gives every thread a shard, and adds shards up.
//
// Pages come from one region that is reserved once and touched as it is used, so a page costs no system call, and a
// forked child gets rid of everything its parent counted at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <telltale/core/detail/cells.hpp>

namespace telltale::detail {

// Guards the registration of instruments and series and the handing out of shards. Held shortly, never while a
// snapshot is read or rendered; taken around fork(), after registry_mutex. Nothing else is locked under it.
extern constinit std::mutex metrics_mutex;

// Numbers for `count` cells that follow each other in one page (count <= cells_per_page); the first of them, or 0 when
// all are used up.
std::uint32_t take_cells_locked(std::uint32_t count) noexcept;

constexpr std::size_t max_shards = 65536;
extern constinit std::atomic<metric_shard*> shards[max_shards];
extern constinit std::atomic<std::uint32_t> shard_count;

// Calls `f(cell)` with every thread's cell of that number; `cell` points at the series' cells that follow, too.
template <class F>
void for_each_cell(std::uint32_t number, F f) {
  const std::uint32_t count = shard_count.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < count; ++i) {
    const metric_shard* s = shards[i].load(std::memory_order_relaxed);
    const metric_cell* page = s->pages[number / cells_per_page].load(std::memory_order_acquire);
    if (page != nullptr) f(page + number % cells_per_page);
  }
}

// Measurements that found no memory.
std::uint64_t lost_measurements() noexcept;

// In the child of a fork: nothing has been counted yet. Series and their numbers stay.
void reset_shards_after_fork() noexcept;

}  // namespace telltale::detail
