// Writing records: the library's half of the hot path, and everything about it that is rare.
#include "record.hpp"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <telltale/core/detail/write.hpp>
#include <telltale/core/sampling.hpp>
#include <telltale/core/span.hpp>

#include "engine.hpp"
#include "governor/tallies.hpp"
#include "memory.hpp"

namespace telltale::detail {

namespace {

// Room for a record of `bytes` in this thread's ring; null when it had to be dropped, which is then counted.
std::uint64_t* reserve(std::size_t bytes) noexcept {
  const thread_block* b = tls.block;
  const std::uint64_t head = b->head.load(std::memory_order_relaxed);
  if (head + bytes <= b->limit) return b->ring + (head & b->mask) / 8;
  return reserve_slow(bytes);
}

std::size_t slot_payload(const open_slot& s) noexcept {
  return (get(&s.words[1]) >> 32) & 0xffff;
}

void add_to_first_word(open_slot* slot, std::uint64_t bits) noexcept {
  put(&slot->words[0], get(&slot->words[0]) | bits);
}

// One more record that belongs to the span.
void count_part(open_slot* slot) noexcept {
  const std::uint64_t word = get(&slot->words[0]);
  if ((word >> 24 & 0xff) != 0xff) put(&slot->words[0], word + (1u << 24));
}

// This thread's block; attaches it first where it has none. Null when there is no memory for it; the record that
// needed it is then counted as dropped.
thread_block* block_or_count() noexcept {
  thread_block* b = attach();
  if (b == nullptr) count_no_memory();
  return b;
}

// The header of a record that belongs to an open span, in this thread's ring; null when dropped. The payload follows.
std::uint64_t* begin_part(open_slot* slot, record_kind kind, std::uint32_t site, std::size_t payload_words) noexcept {
  if (is_sample(slot)) return nullptr;
  count_part(slot);
  const std::size_t bytes = record_bytes(payload_words);
  if (bytes > max_record_words * 8) {
    if (thread_block* b = block_or_count()) count_drop(b, drop_reason::too_large);
    return nullptr;
  }
  std::uint64_t* p = reserve(bytes);
  if (p == nullptr) return nullptr;
  p[0] = first_word(bytes, kind, site);
  p[1] = second_word(0, payload_words);
  p[2] = ticks();
  p[3] = 0;
  p[4] = get(&slot->words[4]);
  p[5] = get(&slot->words[5]);
  p[6] = get(&slot->words[6]);
  p[7] = 0;
  return p + header_words;
}

}  // namespace

// --- losses -------------------------------------------------------------------------------------------------------

void count_drop(thread_block* b, drop_reason why) noexcept {
  auto& d = b->dropped[static_cast<std::size_t>(why)];
  d.store(d.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (b->first_drop_time.load(std::memory_order_relaxed) == 0) {
    b->first_drop_time.store(ticks(), std::memory_order_relaxed);
  }
  b->limit = 0;  // the next write goes the slow way and tells of it
}

void count_no_memory() noexcept {
  if (memory_map* m = memory()) m->header->no_memory.fetch_add(1, std::memory_order_relaxed);
}

void count_truncated(thread_block* b) noexcept {
  b->truncated.store(b->truncated.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::size_t cut_to(std::string_view s, std::size_t bytes) noexcept {
  if (s.size() <= bytes) return s.size();
  std::size_t n = bytes;
  while (n > 0 && bytes - n < 3 && (static_cast<unsigned char>(s[n]) & 0xc0) == 0x80) --n;
  // Bytes that are no UTF-8 at all are cut where the cap says.
  return (static_cast<unsigned char>(s[n]) & 0xc0) == 0x80 ? bytes : n;
}

std::size_t cut_length(std::string_view s) noexcept {
  return cut_to(s, max_string_bytes);
}

std::size_t cut_and_count(std::string_view s) noexcept {
  if (has_ring(tls.block)) count_truncated(tls.block);
  return cut_length(s);
}

void announce_thread(thread_block* b, std::string_view name) noexcept {
  const std::size_t size = std::min(name.size(), sizeof b->thread_name - 1);
  std::memcpy(b->thread_name, name.data(), size);
  b->thread_name[size] = '\0';
  b->thread_id = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  b->thread_untold = 1;
  b->limit = 0;  // the next write goes the slow way and says it first
}

// --- ring ---------------------------------------------------------------------------------------------------------

namespace {

// Room for `bytes` at the head, padding to the start of the ring where they would wrap; null when it is full.
std::uint64_t* place(thread_block* b, std::size_t bytes) noexcept {
  const std::uint64_t capacity = b->mask + 1;
  std::uint64_t head = b->head.load(std::memory_order_relaxed);
  const std::uint64_t tail = b->tail.load(std::memory_order_acquire);
  const std::uint64_t lap_left = capacity - (head & b->mask);
  const std::uint64_t padding = lap_left < bytes ? lap_left : 0;
  if (head + padding + bytes - tail > capacity) return nullptr;
  if (padding != 0) {
    std::uint64_t* p = b->ring + (head & b->mask) / 8;
    p[0] = first_word(padding, record_kind::padding, 0);
    head += padding;
    b->head.store(head, std::memory_order_release);
  }
  // To the end of what is free or of the lap, but no further than half a ring: the drain is woken in time.
  b->limit = b->slow_clock != 0 ? 0 : std::min({tail + capacity, (head & ~b->mask) + capacity, head + capacity / 2});
  if (is_crowded(*b)) engine::wake_drain();
  return b->ring + (head & b->mask) / 8;
}

// Writes who owns the ring now; false when there is no room.
bool tell_thread(thread_block* b) noexcept {
  if (b->thread_untold == 0) return true;
  const std::string_view name{b->thread_name};
  const std::size_t words = 2 + (name.size() + 7) / 8;
  std::uint64_t* p = place(b, record_bytes(words));
  if (p == nullptr) return false;
  std::memset(p, 0, header_words * 8);
  p[0] = first_word(record_bytes(words), record_kind::thread, 0);
  p[1] = second_word(0, words);
  p[2] = ticks();
  p[header_words] = b->thread_id;
  put_string(p + header_words + 1, name);
  b->thread_untold = 0;
  publish(b, record_bytes(words));
  return true;
}

// Writes what was dropped since the last time it was told; false when there is no room even for that.
bool tell_losses(thread_block* b, std::size_t room_needed_after) noexcept {
  std::size_t untold = 0;
  for (std::size_t r = 0; r < drop_reasons; ++r) {
    if (b->dropped[r].load(std::memory_order_relaxed) != b->told[r]) ++untold;
  }
  if (untold == 0) return true;
  const std::uint64_t used = b->head.load(std::memory_order_relaxed) - b->tail.load(std::memory_order_acquire);
  if (used + untold * line_bytes + 2 * room_needed_after > b->mask + 1) return false;
  for (std::size_t r = 0; r < drop_reasons; ++r) {
    const std::uint64_t count = b->dropped[r].load(std::memory_order_relaxed);
    if (count == b->told[r]) continue;
    std::uint64_t* p = place(b, line_bytes);
    if (p == nullptr) return false;
    std::memset(p, 0, line_bytes);
    p[0] = first_word(line_bytes, record_kind::loss, 0);
    p[2] = b->first_drop_time.load(std::memory_order_relaxed);
    p[3] = count - b->told[r];
    p[6] = r;
    b->told[r] = count;
    publish(b, line_bytes);
  }
  b->first_drop_time.store(0, std::memory_order_relaxed);
  return true;
}

}  // namespace

[[gnu::cold, gnu::noinline]] std::uint64_t* reserve_slow(std::size_t bytes) noexcept {
  thread_block* b = block_or_count();
  if (b == nullptr) return nullptr;
  for (;;) {
    if (tell_losses(b, bytes) && tell_thread(b)) {
      if (std::uint64_t* p = place(b, bytes)) return p;
    }
    switch (engine::when_full()) {
      case full_action::wait:
        engine::wait_for_room(*b);
        break;
      case full_action::drop:
        count_drop(b, drop_reason::ring_full);
        return nullptr;
      case full_action::drop_shut_down:
        count_drop(b, drop_reason::shut_down);
        return nullptr;
    }
  }
}

// --- spans --------------------------------------------------------------------------------------------------------

namespace {

void free_slot(open_slot* slot, thread_block* mine) noexcept;

// A slot; null when there is none or no memory, which is counted. Attaches the thread where it has no block. First what
// the stack still has, then what ended out of order or on other threads; else a new chunk, whose first slot is never
// used: so a slot lies directly below the top only if it is of the same chunk.
open_slot* take_slot() noexcept {
  thread_block* b = block_or_count();
  if (b == nullptr) return nullptr;
  if (b->top != b->slots_end) return b->top++;
  memory_map& m = *memory();
  if (b->free_slots == 0) b->free_slots = b->returned_slots.exchange(0, std::memory_order_acquire);
  if (b->free_slots != 0) {
    open_slot* slot = m.slots + (b->free_slots - 1);
    b->free_slots = slot->next_free;
    return slot;
  }
  std::atomic<std::uint32_t>& used = m.header->slots;
  std::uint32_t first = used.load(std::memory_order_relaxed);
  do {
    if (first + slots_per_chunk > max_slots) {
      count_drop(b, drop_reason::too_many_open);
      return nullptr;
    }
  } while (!used.compare_exchange_weak(first, first + slots_per_chunk, std::memory_order_release,
                                       std::memory_order_relaxed));
  for (std::uint32_t i = first; i < first + slots_per_chunk; ++i) m.slots[i].block = b->index;
  b->top = m.slots + first + 2;
  b->slots_end = m.slots + first + slots_per_chunk;
  b->top_end = b->slow_clock != 0 ? nullptr : b->slots_end;
  return m.slots + first + 1;
}

// Traces whose id's lower 63 bits are below this are recorded; 2^63 is all of them.
constinit std::atomic<std::uint64_t> sampling_threshold{std::uint64_t{1} << 63};
constinit std::atomic<bool> sampling_by_parent{true};

// As other implementations of OpenTelemetry decide it, so that they agree about a trace.
bool is_sampled(trace_id t) noexcept {
  return t.low >> 1 < sampling_threshold.load(std::memory_order_relaxed);
}

}  // namespace

void set_sampling(std::uint64_t threshold, bool by_parent) noexcept {
  sampling_threshold.store(threshold, std::memory_order_relaxed);
  sampling_by_parent.store(by_parent, std::memory_order_relaxed);
}

namespace {

// Gives back a slot that was just taken.
void untake(open_slot* slot, thread_block* b) noexcept {
  if (b->top == slot + 1) {
    b->top = slot;
  } else {
    free_slot(slot, b);
  }
}

// open() where no span is current. The span that begins a trace which is left out is written all the same, marked: it
// must be known when it ends, so that the next trace has its own chance. What lies below it takes no slot and writes
// nothing.
opening open_root(std::uint32_t site, std::size_t payload_words, open_slot* slot) noexcept {
  thread_state& t = tls;
  context& now = t.current;
  const position_words parent = load_position(now);
  if ((now.flags & flag_not_recorded) != 0) {
    untake(slot, t.block);
    return {};
  }
  std::uint8_t state = state_is_root;
  if (!now.trace) {  // else an empty position in somebody's trace
    now.trace = {next_id(t), scattered(next_id(t))};
    state |= state_began_trace;
    if ((now.flags & flag_forced) == 0 && !is_sampled(now.trace)) state |= state_left_out;
  }
  const std::uint64_t id = next_id(t);
  fill_slot(slot, now.trace, site, parent, payload_words, id, state);
  const bool is_left_out = (state & state_left_out) != 0;
  enter(now, is_left_out ? 0 : id, site);
  if (is_left_out) {
    now.flags |= flag_not_recorded;
  } else if ((state & state_began_trace) != 0) {
    now.flags |= flag_sampled;
  }
  return {slot, ticks_of(t.block)};
}

}  // namespace

opening open(const site& s, std::size_t payload_words) noexcept {
  open_slot* slot = take_slot();
  if (slot == nullptr) return {};
  thread_state& t = tls;
  const position_words parent = load_position(t.current);
  if (parent.span == 0) return open_root(s.id(), payload_words, slot);
  const std::uint64_t id = next_id(t);
  fill_slot(slot, t.current.trace, s.id(), parent, payload_words, id);
  enter(t.current, id, s.id());
  return {slot, ticks_of(t.block)};
}

namespace {

// Frees a slot that is not the last one its block gave out.
void free_slot(open_slot* slot, thread_block* mine) noexcept {
  put(&slot->words[2], 0);
  if (slot->block == abandoned_block) return;
  memory_map& m = *memory();
  const auto number = static_cast<std::uint32_t>(slot - m.slots) + 1;
  if (has_ring(mine) && slot->block == mine->index) {
    slot->next_free = mine->free_slots;
    mine->free_slots = number;
    return;
  }
  std::atomic<std::uint32_t>& stack = m.blocks[slot->block].returned_slots;
  std::uint32_t next = stack.load(std::memory_order_relaxed);
  do slot->next_free = next;
  while (!stack.compare_exchange_weak(next, number, std::memory_order_release, std::memory_order_relaxed));
}

// The record of a span that ends, where there is room for it.
void write_span(const open_slot* slot, std::uint64_t end) noexcept {
  const std::size_t bytes = (get(&slot->words[0]) & 0xff) * line_bytes;
  if (std::uint64_t* p = reserve(bytes)) {
    copy_record(p, slot, bytes, end);
    publish(tls.block, bytes);
  }
}

}  // namespace

void close_at_limit(open_slot* slot, std::uint64_t end) noexcept {
  thread_block* b = tls.block;
  write_span(slot, b->slow_clock != 0 ? ticks() : end);
  put(&slot->words[2], 0);
  b->top = slot;
}

void finish_at_limit(open_slot* slot, std::uint64_t end) noexcept {
  close_at_limit(slot, end);
  store_position(tls.current, former_position(slot));
}

void finish_slow(open_slot* slot) noexcept {
  if (is_sample(slot)) return close_sample(slot);
  // Before the slot is anybody's again.
  const position_words former = former_position(slot);
  const bool ends_trace = (get(&slot->words[0]) >> 16 & state_began_trace) != 0;
  close(slot);
  store_position(tls.current, former);
  if (ends_trace) tls.current.trace = {};
}

void close_slow(open_slot* slot) noexcept {
  const std::uint64_t end = ticks();
  if (slot->block != abandoned_block) write_span(slot, end);
  free_slot(slot, tls.block);
}

void static_attributes_follow(open_slot* slot) noexcept {
  put(&slot->words[1], get(&slot->words[1]) | std::uint64_t{flag_no_static_attributes} << 48);
}

namespace {

// The payload has grown to `words`.
void lengthen(open_slot* slot, std::size_t words) noexcept {
  put(&slot->words[0], (get(&slot->words[0]) & ~std::uint64_t{0xff}) | record_bytes(words) / line_bytes);
  const std::uint64_t second = get(&slot->words[1]);
  put(&slot->words[1], (second & ~(std::uint64_t{0xffff} << 32)) | std::uint64_t{words} << 32);
}

}  // namespace

void set_late(open_slot* slot, std::uint32_t key, attribute_type type, std::uint64_t bits) noexcept {
  if (is_sample(slot)) return;
  const std::size_t used = slot_payload(*slot);
  if (used + 2 <= slot_payload_words) {
    put(&slot->words[header_words + used], late_key(key, type));
    put(&slot->words[header_words + used + 1], bits);
    lengthen(slot, used + 2);
    return;
  }
  std::uint64_t* p = begin_part(slot, record_kind::attributes, 0, 2);
  if (p == nullptr) return;
  p[0] = late_key(key, type);
  p[1] = bits;
  publish(tls.block, record_bytes(2));
}

void set_late(open_slot* slot, std::uint32_t key, std::string_view value) noexcept {
  if (is_sample(slot)) return;
  const std::size_t used = slot_payload(*slot);
  const std::size_t words = 2 + (kept_length(value) + 7) / 8;
  if (used + words <= slot_payload_words) {
    put(&slot->words[header_words + used], late_key(key, attribute_type::string));
    put_string(&slot->words[header_words + used + 1], value);
    lengthen(slot, used + words);
    return;
  }
  std::uint64_t* p = begin_part(slot, record_kind::attributes, 0, words);
  if (p == nullptr) return;
  p[0] = late_key(key, attribute_type::string);
  put_string(p + 1, value);
  publish(tls.block, record_bytes(words));
}

void add_link(open_slot* slot, const context& target, link_kind kind) noexcept {
  std::uint64_t* p = begin_part(slot, record_kind::link, 0, 4);
  if (p == nullptr) return;
  p[0] = target.trace.high;
  p[1] = target.trace.low;
  p[2] = target.span.value;
  p[3] = static_cast<std::uint8_t>(kind);
  publish(tls.block, record_bytes(4));
}

void fail(open_slot* slot, std::string_view code) noexcept {
  if (is_sample(slot)) return;
  add_to_first_word(slot, std::uint64_t{state_failed} << 16);
  set_late(slot, key_number<"error.type">(), code);
}

void set_kind(open_slot* slot, span_kind kind) noexcept {
  const std::uint64_t mask = std::uint64_t{state_kind_mask} << (16 + state_kind_shift);
  if (is_sample(slot)) return;
  put(&slot->words[0],
      (get(&slot->words[0]) & ~mask) | std::uint64_t{static_cast<std::uint8_t>(kind)} << (16 + state_kind_shift));
}

std::uint64_t* begin_event(open_slot* slot, const site& s, std::size_t payload_words) noexcept {
  return begin_part(slot, record_kind::event, s.id(), payload_words);
}

// --- calls of sites that are only counted -------------------------------------------------------------------------

open_slot* sample_call(const site& s) noexcept {
  tally_sheet* sheet = own_sheet();
  if (sheet == nullptr) {
    count_no_memory();
    return nullptr;
  }
  thread_block* b = attach();
  thread_state& state = tls;
  if (b != nullptr) sheet->block.store(b->index, std::memory_order_relaxed);
  tally& t = sheet->of[s.tally()];
  const std::uint64_t before = t.armed.load(std::memory_order_relaxed);
  // A sheet that was just taken holds what its last thread left over; this call was counted elsewhere.
  const std::int64_t left = std::max<std::int64_t>(t.left.load(std::memory_order_relaxed), 0);
  const std::uint64_t calls = before - static_cast<std::uint64_t>(left) + 1;
  const std::uint64_t one_in = calls_per_sample(s.tally());
  // The first call of all isn't drawn: it only sets out.
  const bool is_drawn = before != 0 && left == 0;
  const std::uint64_t distance = draw_distance(one_in, next_id(state));
  t.left.store(-1, std::memory_order_relaxed);
  t.armed.store(calls + distance - 1, std::memory_order_release);
  t.left.store(static_cast<std::int64_t>(distance) - 1, std::memory_order_release);
  if (!is_drawn || b == nullptr) return nullptr;

  open_slot* slot = take_slot();
  if (slot == nullptr) return nullptr;
  std::uint64_t* w = slot->words;
  put(&w[0], first_word(record_bytes(3), record_kind::sample, s.id()) | std::uint64_t{state_is_root} << 16);
  put(&w[1], second_word(state.current.scope.value, 3));
  put_pair(&w[4], &state.current.trace);
  put(&w[6], next_id(state));
  put(&w[7], state.current.span.value);
  put(&w[header_words], sheet->number | std::uint64_t{s.tally()} << 32);
  put(&w[header_words + 1], calls);
  put(&w[header_words + 2], one_in);
  std::atomic_ref<std::uint64_t>(w[2]).store(ticks_of(b), std::memory_order_release);
  return slot;
}

void close_sample(open_slot* slot) noexcept {
  const std::uint64_t end = ticks();
  thread_block* b = tls.block;
  // What finds no room is no loss: the call is counted, and any sample will do.
  if (has_ring(b) && slot->block != abandoned_block && engine::when_full() != full_action::drop_shut_down) {
    const std::size_t bytes = record_bytes(3);
    std::uint64_t* p = tell_losses(b, bytes) && tell_thread(b) ? place(b, bytes) : nullptr;
    if (p != nullptr) {
      copy_record(p, slot, bytes, end);
      publish(b, bytes);
    }
  }
  if (has_ring(b) && b->top == slot + 1) {
    put(&slot->words[2], 0);
    b->top = slot;
  } else {
    free_slot(slot, b);
  }
}

bool copy_open_span(const open_slot& slot, std::uint64_t (&words)[slot_words]) noexcept {
  if (is_sample(&slot)) return false;
  auto& shared = const_cast<open_slot&>(slot);  // atomic_ref wants it so; nothing of it changes
  const std::uint64_t since = std::atomic_ref<std::uint64_t>(shared.words[2]).load(std::memory_order_acquire);
  if (since == 0) return false;
  for (std::size_t k = 0; k < header_words + slot_payload_words; ++k) words[k] = get(&slot.words[k]);
  // Still the same span? (A read-modify-write that changes nothing orders the reads above before it.)
  return std::atomic_ref<std::uint64_t>(shared.words[6]).fetch_add(0, std::memory_order_acq_rel) == words[6] &&
         get(&slot.words[2]) == since;
}

context slot_context(const open_slot* slot) noexcept {
  if (is_sample(slot)) return tls.current;
  context c;
  c.trace = {get(&slot->words[4]), get(&slot->words[5])};
  c.span = {get(&slot->words[6])};
  c.scope = {static_cast<std::uint32_t>(get(&slot->words[1]))};
  c.origin = static_cast<std::uint16_t>(get(&slot->words[0]) >> 32);
  c.flags = flag_sampled;
  if (tls.current.trace == c.trace) c.flags = tls.current.flags;  // a trace's flags are the same everywhere in it
  if ((get(&slot->words[0]) >> 16 & state_left_out) != 0) {
    c.span = {};
    c.flags = flag_not_recorded;
  }
  return c;
}

}  // namespace telltale::detail

telltale::context telltale::continue_trace(context remote) noexcept {
  detail::engine::ensure_configured();
  if (!remote.trace) return remote;
  const bool decided = detail::sampling_by_parent.load(std::memory_order_relaxed) ? (remote.flags & flag_sampled) != 0
                                                                                  : detail::is_sampled(remote.trace);
  if (decided || (remote.flags & flag_forced) != 0) {
    remote.flags |= flag_sampled;
  } else {
    remote.flags = static_cast<std::uint16_t>((remote.flags & ~flag_sampled) | flag_not_recorded);
    remote.span = {};
  }
  return remote;
}

telltale::context telltale::span::get_context() const noexcept {
  return slot_ != nullptr ? detail::slot_context(slot_) : current_context();
}
