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
#include "record.hpp"

namespace telltale::detail {

constinit thread_local thread_state tls __attribute__((tls_model("initial-exec"))) = {};
constinit std::mutex registry_mutex;

namespace {

constinit memory_map map;
constinit std::atomic<memory_map*> current_map{nullptr};
constinit std::atomic<bool> exhausted{false};  // no block left: don't ask again until one comes back

// Blocks without a thread, last returned first: its memory is warm.
constinit thread_block* free_blocks[65536];
constinit std::size_t free_block_count = 0;

pthread_key_t exit_key;
bool exit_key_made = false;

constexpr std::size_t round_up(std::size_t n, std::size_t to) {
  return (n + to - 1) / to * to;
}

// Runs when a thread ends, after its C++ thread_local objects are gone. A record made even later attaches again, and
// pthread calls this again.
void detach(void* p) noexcept {
  auto* block = static_cast<thread_block*>(p);
  const std::lock_guard lock(registry_mutex);
  if (tls.block != block) return;  // the child of a fork
  tls.block = nullptr;
  block->owned.store(0, std::memory_order_release);
  free_blocks[free_block_count++] = block;
  exhausted.store(false, std::memory_order_relaxed);
}

bool make_map(memory_sizes sizes) noexcept {
  const auto max_blocks = static_cast<std::uint32_t>(
      std::min<std::size_t>(std::max<std::size_t>(sizes.memory_bytes / sizes.ring_bytes, 1), std::size(free_blocks)));
  std::size_t at = 0;
  const auto part = [&](std::size_t bytes) {
    const std::size_t offset = at;
    at += round_up(bytes, 4096);
    return offset;
  };
  const std::size_t header = part(sizeof(memory_header));
  const std::size_t sites = part(sizeof(mapped_site) * max_sites);
  const std::size_t keys = part(sizeof(mapped_text) * max_keys);
  const std::size_t attributes = part(sizeof(mapped_attribute) * max_site_attributes);
  const std::size_t text = part(catalogue_text_bytes);
  const std::size_t scopes = part(sizeof(scope_node) * max_scopes);
  const std::size_t slots = part(sizeof(open_slot) * max_slots);
  const std::size_t blocks = part(sizeof(thread_block) * max_blocks);
  const std::size_t rings = part(sizes.ring_bytes * max_blocks);

  void* p = ::mmap(nullptr, at, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return false;
  auto* base = static_cast<std::byte*>(p);
  const auto address = [&]<class T>(T*& to, std::size_t offset) {
    to = std::launder(reinterpret_cast<T*>(base + offset));
  };
  address(map.header, header);
  address(map.sites, sites);
  address(map.keys, keys);
  address(map.attributes, attributes);
  address(map.text, text);
  address(map.scopes, scopes);
  address(map.slots, slots);
  address(map.blocks, blocks);
  address(map.rings, rings);
  map.bytes = at;
  memory_header& h = *map.header;
  std::memcpy(h.magic, "TELLTALE", 8);
  h.version = 1;
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

thread_block* take_block(memory_map& m) noexcept {
  if (free_block_count != 0) return free_blocks[--free_block_count];
  memory_header& h = *m.header;
  const std::uint32_t n = h.blocks.load(std::memory_order_relaxed);
  if (n == h.max_blocks) return nullptr;
  thread_block& b = m.blocks[n];
  std::byte* ring = m.rings + std::size_t{h.ring_bytes} * n;
  // Touched now, so that no record ever waits for a page.
  if (::madvise(ring, h.ring_bytes, 23 /* MADV_POPULATE_WRITE, Linux 5.14 */) != 0) std::memset(ring, 0, h.ring_bytes);
  b.ring = std::launder(reinterpret_cast<std::uint64_t*>(ring));
  b.mask = h.ring_bytes - 1;
  b.limit = h.ring_bytes;
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
  if (tls.block != nullptr) return tls.block;
  if (exhausted.load(std::memory_order_relaxed)) return nullptr;
  engine::ensure_configured();  // a counter may come before any call site: sizes and clock must be chosen first
  {
    const std::lock_guard lock(registry_mutex);
    memory_map* m = memory_locked();
    thread_block* b = m != nullptr ? take_block(*m) : nullptr;
    if (b == nullptr) {
      exhausted.store(true, std::memory_order_relaxed);
      return nullptr;
    }
    b->owned.store(1, std::memory_order_relaxed);
    tls.block = b;
    tls.id_state = random_seed();
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
  // Spans that are open are the parent's to finish. Where their objects end in the child too, nothing is recorded.
  const std::uint32_t slots = h.slots.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < slots; ++i) {
    if (get(&m->slots[i].words[2]) != 0) m->slots[i].block = abandoned_block;
  }
  free_block_count = 0;
  exhausted.store(false, std::memory_order_relaxed);
  const std::uint32_t blocks = h.blocks.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    thread_block& b = m->blocks[i];
    b.head.store(0, std::memory_order_relaxed);
    b.tail.store(0, std::memory_order_relaxed);
    b.limit = h.ring_bytes;
    b.top = b.top_end = nullptr;  // its next span takes a new chunk: this one holds what was open
    b.free_slots = 0;
    b.returned_slots.store(0, std::memory_order_relaxed);
    for (std::size_t r = 0; r < drop_reasons; ++r) {
      b.dropped[r].store(0, std::memory_order_relaxed);
      b.told[r] = 0;
    }
    b.first_drop_time.store(0, std::memory_order_relaxed);
    b.truncated.store(0, std::memory_order_relaxed);
    b.owned.store(0, std::memory_order_relaxed);
    free_blocks[free_block_count++] = &b;
  }
  // The thread that forked attaches anew at its next record: new ids, a record that says who it is.
  tls.block = nullptr;
  if (exit_key_made) ::pthread_setspecific(exit_key, nullptr);
}

}  // namespace telltale::detail

namespace telltale {

void name_thread(std::string_view name) {
  ::pthread_setname_np(::pthread_self(), std::string(name.substr(0, 15)).c_str());
  if (detail::attach() != nullptr) detail::announce_thread(detail::tls.block, name);
}

}  // namespace telltale
