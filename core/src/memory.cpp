// Makes the mapping, and hands its blocks to threads and takes them back.
#include "memory.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstring>
#include <new>
#include <string>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/runtime.hpp>

#include "engine.hpp"
#include "flight/recorder.hpp"
#include "record.hpp"

namespace telltale::detail {

namespace {
constinit thread_block no_block{};
}
constinit thread_local thread_state tls __attribute__((tls_model("initial-exec"))) = {{}, &no_block, 0};
constinit std::mutex registry_mutex;

namespace {

constinit memory_map map;
constinit std::atomic<memory_map*> current_map{nullptr};
constinit std::atomic<bool> exhausted{false};  // no block left: don't ask again until one comes back

// Blocks without a thread, last returned first: its memory is warm.
constinit thread_block* free_blocks[max_rings];
constinit std::size_t free_block_count = 0;

pthread_key_t exit_key;
bool exit_key_made = false;

// Runs when a thread ends, after its C++ thread_local objects are gone. A record made even later attaches again, and
// pthread calls this again.
void detach(void* p) noexcept {
  auto* block = static_cast<thread_block*>(p);
  const std::lock_guard lock(registry_mutex);
  if (tls.block != block) return;  // the child of a fork
  tls.block = &no_block;
  block->owned.store(0, std::memory_order_release);
  free_blocks[free_block_count++] = block;
  exhausted.store(false, std::memory_order_relaxed);
}

bool make_map(memory_sizes sizes) noexcept {
  const auto max_blocks = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::max<std::size_t>(sizes.memory_bytes / sizes.ring_bytes, 1), std::size(free_blocks)));
  const memory_layout layout = memory_layout::of(sizes.ring_bytes, max_blocks);
  void* p = ::mmap(nullptr, layout.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  map = memory_map::at(static_cast<std::byte*>(p), layout);
  memory_header& h = *map.header;
  std::memcpy(h.magic, layout_magic, sizeof h.magic);
  h.version = layout_version;
  h.layout = layout_hash();
  h.ring_bytes = static_cast<std::uint32_t>(sizes.ring_bytes);
  h.max_blocks = max_blocks;
  h.process = static_cast<std::uint32_t>(::getpid());
  h.sites.store(1, std::memory_order_relaxed);  // number 0 means "none" for sites and keys
  h.keys.store(1, std::memory_order_relaxed);
  prepare_scopes(map);
  exit_key_made = ::pthread_key_create(&exit_key, detach) == 0;
  current_map.store(&map, std::memory_order_release);
  return true;
}

// Room for what will be written there, now: no record ever waits for a page, or meets a disk that is full.
void populate(std::byte* ring, std::size_t bytes) noexcept {
  if (::madvise(ring, bytes, 23 /* MADV_POPULATE_WRITE, Linux 5.14 */) != 0) std::memset(ring, 0, bytes);
}

thread_block* take_block(memory_map& m) noexcept {
  if (free_block_count != 0) return free_blocks[--free_block_count];
  memory_header& h = *m.header;
  const std::uint32_t n = h.blocks.load(std::memory_order_relaxed);
  if (n == h.max_blocks) return nullptr;
  thread_block& b = m.blocks[n];
  std::byte* ring = m.rings + std::size_t{h.ring_bytes} * n;
  b.outside_file = m.in_file && !flight::extend(m, n) ? 1 : 0;
  populate(ring, h.ring_bytes);
  b.ring = std::launder(reinterpret_cast<std::uint64_t*>(ring));
  b.mask = h.ring_bytes - 1;
  b.limit = clock_is_slow ? 0 : h.ring_bytes;
  b.index = n;
  b.slow_clock = clock_is_slow;
  h.blocks.store(n + 1, std::memory_order_release);
  return &b;
}

std::uint64_t random_seed() noexcept {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) {
    seed = ticks() ^ (static_cast<std::uint64_t>(::getpid()) << 32) ^ reinterpret_cast<std::uintptr_t>(&tls);
  }
  return seed;
}

}  // namespace

memory_map* memory() noexcept {
  return current_map.load(std::memory_order_acquire);
}

memory_map* memory_locked() noexcept {
  memory_map* m = memory();
  if (m == nullptr && make_map(engine::sizes_locked())) m = memory();
  return m;
}

thread_block* attach() noexcept {
  if (has_ring(tls.block)) return tls.block;
  if (exhausted.load(std::memory_order_relaxed)) return nullptr;
  engine::ensure_configured();  // a counter may come before any call site: sizes and clock must be chosen first
  {
    const std::lock_guard lock(registry_mutex);
    memory_map* m = memory_locked();
    if (m != nullptr) flight::move_in_late(*m);
    thread_block* b = m != nullptr ? take_block(*m) : nullptr;
    if (b == nullptr) {
      exhausted.store(true, std::memory_order_relaxed);
      return nullptr;
    }
    b->owned.store(1, std::memory_order_relaxed);
    tls.block = b;
    tls.id_state = id_sequence(random_seed());
    if (exit_key_made) ::pthread_setspecific(exit_key, b);
  }
  char name[16] = "";
  ::pthread_getname_np(::pthread_self(), name, sizeof name);
  announce_thread(tls.block, name);
  engine::ensure_drain();
  return tls.block;
}

void reset_after_fork() noexcept {
  memory_map* m = memory();
  if (m == nullptr) return;
  memory_header& h = *m->header;
  h.process = static_cast<std::uint32_t>(::getpid());
  h.no_memory.store(0, std::memory_order_relaxed);
  h.lost_scopes.store(0, std::memory_order_relaxed);
  // Spans that are open are the parent's to finish. Where their objects end in the child too, nothing is recorded. The
  // slots that are free are given up as well: the next span takes a new chunk.
  const std::uint32_t slots = h.slots.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < slots; ++i) m->slots[i].block = abandoned_block;
  const std::uint32_t blocks = h.blocks.load(std::memory_order_relaxed);
  std::memset(static_cast<void*>(m->blocks), 0, blocks * sizeof(thread_block));
  h.blocks.store(0, std::memory_order_relaxed);
  free_block_count = 0;
  exhausted.store(false, std::memory_order_relaxed);
  // The thread that forked attaches anew at its next record: new ids, a record that says who it is.
  tls.block = &no_block;
  if (exit_key_made) ::pthread_setspecific(exit_key, nullptr);
}

}  // namespace telltale::detail

namespace telltale {

void name_thread(std::string_view name) {
  ::pthread_setname_np(::pthread_self(), std::string(name.substr(0, 15)).c_str());
  if (detail::attach() != nullptr) detail::announce_thread(detail::tls.block, name);
}

}  // namespace telltale
