// Nodes of inherited attributes: handed out to scopes that open, taken back by the drain when every record that may
// name them has been drained.
//
// Free nodes wait in a bounded queue (Dmitry Vyukov's multi-producer/multi-consumer queue of cells with sequence
// numbers), oldest first, so that a node rests as long as possible before it is used again. Ended nodes go onto a
// stack that the drain empties as a whole. Neither takes a lock.
#include "scopes.hpp"

#include <cstring>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/span.hpp>

#include "engine.hpp"
#include "memory.hpp"
#include "record.hpp"

namespace telltale::detail {

namespace {

struct cell {
  std::atomic<std::uint32_t> sequence;
  std::uint32_t index;
};
constinit cell queue[max_scopes] = {};
constinit std::atomic<std::uint32_t> queue_head{0};  // next to take
constinit std::atomic<std::uint32_t> queue_tail{0};  // next to fill
static_assert((max_scopes & (max_scopes - 1)) == 0);

std::uint32_t take_free() noexcept {  // index + 1, 0: none
  std::uint32_t at = queue_head.load(std::memory_order_relaxed);
  for (;;) {
    cell& c = queue[at % max_scopes];
    const auto distance = static_cast<std::int32_t>(c.sequence.load(std::memory_order_acquire) - (at + 1));
    if (distance == 0) {
      if (queue_head.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        const std::uint32_t index = c.index;
        c.sequence.store(at + max_scopes, std::memory_order_release);
        return index + 1;
      }
    } else if (distance < 0) {
      return 0;
    } else {
      at = queue_head.load(std::memory_order_relaxed);
    }
  }
}

void give_free(std::uint32_t index) noexcept {  // never full: as many cells as nodes
  std::uint32_t at = queue_tail.load(std::memory_order_relaxed);
  for (;;) {
    cell& c = queue[at % max_scopes];
    const auto distance = static_cast<std::int32_t>(c.sequence.load(std::memory_order_acquire) - at);
    if (distance == 0 && queue_tail.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
      c.index = index;
      c.sequence.store(at + 1, std::memory_order_release);
      return;
    }
    if (distance != 0) at = queue_tail.load(std::memory_order_relaxed);
  }
}

}  // namespace

void prepare_scopes(memory_map&) noexcept {
  for (std::uint32_t i = 0; i < max_scopes; ++i) queue[i].sequence.store(i, std::memory_order_relaxed);
  queue_head.store(0, std::memory_order_relaxed);
  queue_tail.store(0, std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < max_scopes; ++i) give_free(i);
}

new_scope begin_scope(const site& s) noexcept {
  attach();  // also where no block is left: attributes need none
  memory_map* map = memory();
  if (map == nullptr) return {};
  memory_map& m = *map;
  const std::uint32_t taken = take_free();
  if (taken == 0) {
    m.header->lost_scopes.fetch_add(1, std::memory_order_relaxed);
    return {};
  }
  scope_node& n = m.scopes[taken - 1];
  const std::uint32_t use = (n.use + 1) & 0xffff;
  n.use = use == 0 ? 1 : use;  // never 0: an id is never 0
  n.parent = tls.current.scope.value;
  n.site = s.id();
  n.words = 0;
  return {(taken - 1) | n.use << 16, n.payload};
}

void filled_scope(std::uint32_t id, std::size_t words) noexcept {
  scope_node& n = memory()->scopes[id & 0xffff];
  n.words = static_cast<std::uint16_t>(words);
  n.id.store(id, std::memory_order_release);
}

void end_scope(std::uint32_t id) noexcept {
  memory_map& m = *memory();
  const std::uint32_t index = id & 0xffff;
  scope_node& n = m.scopes[index];
  if (n.id.load(std::memory_order_relaxed) != id) return;  // ended already
  std::atomic<std::uint32_t>& top = m.header->ended_scopes;
  std::uint32_t next = top.load(std::memory_order_relaxed);
  do n.next_ended = next;
  while (!top.compare_exchange_weak(next, index + 1, std::memory_order_release, std::memory_order_relaxed));
}

ended_scopes take_ended_scopes() noexcept {
  memory_map* m = memory();
  return m == nullptr ? 0 : m->header->ended_scopes.exchange(0, std::memory_order_acquire);
}

void free_scopes(ended_scopes list) noexcept {
  memory_map* m = memory();
  while (list != 0) {
    scope_node& n = m->scopes[list - 1];
    const std::uint32_t next = n.next_ended;
    n.id.store(0, std::memory_order_relaxed);
    give_free(list - 1);
    list = next;
  }
}

std::uint64_t* put_cut_string(std::uint64_t* p, std::string_view s, std::size_t room) noexcept {
  if (room == 0) return p;
  std::size_t keep = kept_length(s);
  const std::size_t bytes = (room - 1) * 8;
  if (keep > bytes) keep = cut_to(s, bytes);
  std::uint64_t* const length = p;
  p = put_string(p, s.substr(0, keep));
  put(length, keep | std::uint64_t{s.size() < 0xffffffffu ? s.size() : 0xffffffffu} << 32);
  if (keep < s.size() && has_ring(tls.block)) count_truncated(tls.block);
  return p;
}

}  // namespace telltale::detail
