// The memory that metrics count in.
#include "shards.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <memory>
#include <new>
#include <telltale/core/instrument.hpp>

namespace telltale::detail {

constinit metric_shard no_shard = {};
constinit std::mutex metrics_mutex;
constinit std::atomic<metric_shard*> shards[max_shards] = {};
constinit std::atomic<std::uint32_t> shard_count{0};

namespace {

// The region. Its size bounds threads × pages; where so much cannot be reserved (a limit on address space), less.
constinit std::byte* region = nullptr;
constinit std::size_t region_bytes = 0;
constinit std::atomic<std::size_t> region_used{0};

constinit metric_shard* free_shards[max_shards] = {};  // without a thread, last returned first: its memory is warm
constinit std::size_t free_shard_count = 0;
constinit std::uint32_t next_cell = cells_per_page;  // page 0 is never there
constinit std::atomic<std::uint64_t> lost{0};

pthread_key_t exit_key;
bool exit_key_made = false;

constexpr std::size_t page_bytes = sizeof(metric_cell) * cells_per_page;
static_assert(page_bytes % 4096 == 0 && sizeof(metric_shard) % 4096 == 0);

// Runs when a thread ends; one that counts even later gets a shard again, and pthread calls this again.
void give_back(void* p) noexcept {
  const std::lock_guard lock(metrics_mutex);
  if (tls.shard != p) return;  // the child of a fork
  tls.shard = &no_shard;
  free_shards[free_shard_count++] = static_cast<metric_shard*>(p);
}

bool reserve_region_locked() noexcept {
  if (region != nullptr) return true;
  for (std::size_t bytes = std::size_t{1} << 30; bytes >= std::size_t{1} << 24; bytes /= 4) {
    void* p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) continue;
    (void)::madvise(p, bytes, MADV_NOHUGEPAGE);  // a thread's first count would touch 2 MiB
    region = static_cast<std::byte*>(p);
    region_bytes = bytes;
    exit_key_made = ::pthread_key_create(&exit_key, give_back) == 0;
    return true;
  }
  return false;
}

// Zeroed memory; null when the region is used up.
std::byte* take_memory(std::size_t bytes) noexcept {
  const std::size_t at = region_used.fetch_add(bytes, std::memory_order_relaxed);
  if (at + bytes <= region_bytes) return region + at;
  region_used.fetch_sub(bytes, std::memory_order_relaxed);
  return nullptr;
}

bool take_shard() noexcept {
  const std::lock_guard lock(metrics_mutex);
  metric_shard* mine = nullptr;
  if (free_shard_count != 0) {
    mine = free_shards[--free_shard_count];
  } else {
    const std::uint32_t n = shard_count.load(std::memory_order_relaxed);
    if (n == max_shards || !reserve_region_locked()) return false;
    std::byte* memory = take_memory(sizeof(metric_shard));
    if (memory == nullptr) return false;
    mine = ::new (memory) metric_shard{};
    shards[n].store(mine, std::memory_order_relaxed);
    shard_count.store(n + 1, std::memory_order_release);
  }
  tls.shard = mine;
  if (exit_key_made) ::pthread_setspecific(exit_key, mine);
  return true;
}

}  // namespace

std::uint32_t take_cells_locked(std::uint32_t count) noexcept {
  const std::uint32_t left_in_page = cells_per_page - next_cell % cells_per_page;
  const std::uint32_t first = count <= left_in_page ? next_cell : next_cell + left_in_page;
  if (first + count > cells_per_page * max_cell_pages) return 0;
  next_cell = first + count;
  return first;
}

metric_cell* make_cell(std::uint32_t number) noexcept {
  if (number != 0 && (tls.shard != &no_shard || take_shard())) {
    std::atomic<metric_cell*>& page = tls.shard->pages[number / cells_per_page];
    if (page.load(std::memory_order_relaxed) == nullptr) {
      // The region is zero already, which is what a page of new atomics is.
      std::byte* memory = take_memory(page_bytes);
      if (memory != nullptr)
        page.store(std::launder(reinterpret_cast<metric_cell*>(memory)), std::memory_order_release);
    }
    if (metric_cell* c = find_cell(number)) return c;
  }
  lost.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

std::uint64_t sum_of(std::uint32_t number) noexcept {
  std::uint64_t sum = 0;
  for_each_cell(number, [&](const metric_cell* c) { sum += c->load(std::memory_order_relaxed); });
  return sum;
}

std::uint64_t lost_measurements() noexcept {
  return lost.load(std::memory_order_relaxed);
}

void reset_shards_after_fork() noexcept {
  lost.store(0, std::memory_order_relaxed);
  if (region == nullptr) return;
  shard_count.store(0, std::memory_order_relaxed);
  free_shard_count = 0;
  (void)::madvise(region, region_used.exchange(0, std::memory_order_relaxed), MADV_DONTNEED);  // zero again
  tls.shard = &no_shard;
  if (exit_key_made) ::pthread_setspecific(exit_key, nullptr);
}

}  // namespace telltale::detail
