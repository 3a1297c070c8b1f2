// The hot path: how a call site writes into its thread's memory. No lock, no allocation, no system call; everything
// that is rare is a cold function in the library.
#pragma once

#include <cstring>
#include <telltale/core/attribute.hpp>
#include <telltale/core/clock.hpp>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/layout.hpp>
#include <telltale/core/site.hpp>

namespace telltale::detail {

// A plain move that other threads may watch: slots are read by the drain while they are written.
inline void put(std::uint64_t* word, std::uint64_t value) noexcept {
  std::atomic_ref<std::uint64_t>(*word).store(value, std::memory_order_relaxed);
}
inline std::uint64_t get(const std::uint64_t* word) noexcept {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

// --- payload ------------------------------------------------------------------------------------------------------

// The longest prefix of `s` within the cap that ends at a code-point edge.
TELLTALE_EXPORT std::size_t cut_length(std::string_view s) noexcept;

inline std::size_t kept_length(std::string_view s) noexcept {
  return s.size() <= max_string_bytes ? s.size() : cut_length(s);
}

template <fixed_string K, attribute_type T>
constexpr std::size_t payload_words(const attribute<K, T>& a) noexcept {
  if constexpr (T == attribute_type::string) return 1 + (kept_length(a.value) + 7) / 8;
  return 1;
}

// The last 1 to 7 bytes of `s` as a word, the rest of it zero.
inline std::uint64_t tail_word(const char* s, std::size_t size, std::size_t rest) noexcept {
  std::uint64_t word = 0;
  if (size >= 8) [[likely]] {  // the eight bytes that end with the tail, the ones before it shifted out
    std::memcpy(&word, s + size - 8, 8);
    return word >> (8 * (8 - rest));
  }
  for (std::size_t i = 0; i < rest; ++i) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(s[size - rest + i])) << (8 * i);
  }
  return word;
}

[[gnu::always_inline]] inline std::uint64_t* put_string(std::uint64_t* p, std::string_view s) noexcept {
  const std::size_t size = kept_length(s);
  put(p++, size | std::uint64_t{s.size() < 0xffffffffu ? s.size() : 0xffffffffu} << 32);
  std::size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, s.data() + i, 8);
    put(p++, word);
  }
  if (i < size) put(p++, tail_word(s.data(), size, size - i));
  return p;
}

template <fixed_string K, attribute_type T>
inline std::uint64_t* put_attribute(std::uint64_t* p, const attribute<K, T>& a) noexcept {
  if constexpr (T == attribute_type::string) {
    return put_string(p, a.value);
  } else {
    put(p, a.bits);
    return p + 1;
  }
}

// --- ring ---------------------------------------------------------------------------------------------------------

// Room for a record of `bytes` (a multiple of line_bytes) in this thread's ring; null when it had to be dropped, which
// is then counted. Publish what was written with publish().
TELLTALE_EXPORT std::uint64_t* reserve_slow(thread_block* b, std::size_t bytes) noexcept;

inline std::uint64_t* reserve(thread_block* b, std::size_t bytes) noexcept {
  const std::uint64_t head = b->head.load(std::memory_order_relaxed);
  if (head + bytes <= b->limit) [[likely]]
    return b->ring + (head & b->mask) / 8;
  return reserve_slow(b, bytes);
}

// The lines that the next records will fill were last read by the drain, on another core. Asking for them now hides
// their way here behind the next clock reads (bench: "enabled span, burst", with and without).
inline void prefetch_for_writing(const std::uint64_t* line) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*line));
#else
  __builtin_prefetch(line, 1);
#endif
}

inline void publish(thread_block* b, std::size_t bytes) noexcept {
  const std::uint64_t head = b->head.load(std::memory_order_relaxed) + bytes;
  b->head.store(head, std::memory_order_release);
  constexpr std::uint64_t ahead = 8 * line_bytes;
  const std::uint64_t* next = b->ring + ((head + ahead) & b->mask) / 8;
  prefetch_for_writing(next);
  prefetch_for_writing(next + line_words);
}

// --- identifiers --------------------------------------------------------------------------------------------------

// 64 bits that no other call in this process returns: a Weyl sequence (steps of 2^64 / golden ratio) from a start that
// the operating system draws for each thread. Two threads meet as rarely as two random numbers do.
inline std::uint64_t next_id(thread_state& t) noexcept {
  constexpr std::uint64_t step = 0x9e3779b97f4a7c15u;
  t.id_state += step;
  if (t.id_state == 0) [[unlikely]]
    t.id_state += step;  // zero means "none"
  return t.id_state;
}

// --- header -------------------------------------------------------------------------------------------------------

constexpr std::uint64_t first_word(std::size_t bytes, record_kind kind, std::uint32_t site) noexcept {
  return bytes / line_bytes | std::uint64_t{static_cast<std::uint8_t>(kind)} << 8 | std::uint64_t{site} << 32;
}
constexpr std::uint64_t second_word(std::uint32_t scope, std::size_t payload_words, std::uint16_t flags = 0) noexcept {
  return scope | std::uint64_t{payload_words} << 32 | std::uint64_t{flags} << 48;
}
constexpr std::size_t record_bytes(std::size_t payload_words) noexcept {
  return (header_words + payload_words + line_words - 1) / line_words * line_bytes;
}

// --- spans --------------------------------------------------------------------------------------------------------

// This thread's block; attaches it first where it has none. Null when there is no memory for it; the record that
// needed it is then counted as dropped.
TELLTALE_EXPORT thread_block* block_or_count() noexcept;
// Fills the block's list of free slots; false when there are none, which is counted.
TELLTALE_EXPORT bool refill_slots(thread_block* b) noexcept;
// Gives the current context a trace of its own.
TELLTALE_EXPORT void begin_trace(thread_state& t) noexcept;
// Frees a slot that another thread's block owns.
TELLTALE_EXPORT void return_slot(open_slot* slot) noexcept;
// close() where something about it is rare: a fork between begin and end, no block, a full ring.
TELLTALE_EXPORT void close_slow(open_slot* slot, std::uint64_t end) noexcept;

inline std::uint64_t ticks_of(const thread_block* b) noexcept {
#if defined(__x86_64__)
  if (!b->slow_clock) [[likely]]
    return __rdtsc();
#endif
  return slow_ticks();
}

// Takes a slot, gives the span its ids, makes it the current one and stamps its begin. The caller then writes the
// payload and calls opened(). Null when it cannot be recorded, which is counted; the parent then stays current.
[[gnu::always_inline]] inline open_slot* open(const site& s, std::size_t payload_words) noexcept {
  thread_state& t = tls;
  thread_block* b = t.block;
  if (b == nullptr) [[unlikely]] {
    if ((b = block_or_count()) == nullptr) return nullptr;
  }
  if (b->free_slots == 0) [[unlikely]] {
    if (!refill_slots(b)) return nullptr;
  }
  open_slot* slot = b->slots + (b->free_slots - 1);
  b->free_slots = slot->next_free;

  context& now = t.current;
  if (!now.trace) [[unlikely]]
    begin_trace(t);
  const std::uint64_t id = next_id(t);
  std::uint64_t* w = slot->words;
  put(&w[0], first_word(0, record_kind::span, s.id()));
  put(&w[1], second_word(now.scope.value, payload_words));
  put(&w[4], now.trace.high);
  put(&w[5], now.trace.low);
  put(&w[6], id);
  put(&w[7], now.span.value);
  now.span.value = id;
  now.origin = static_cast<std::uint16_t>(s.id());
  put(&w[2], ticks_of(b));
  return slot;
}

inline void opened(open_slot* slot) noexcept {
  slot->generation.store(slot->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

// Frees a slot whose record is written, or was given up.
inline void free_slot(open_slot* slot, thread_block* b) noexcept {
  slot->generation.store(slot->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (b != nullptr && slot->block == b->index) [[likely]] {
    slot->next_free = b->free_slots;
    b->free_slots = static_cast<std::uint32_t>(slot - b->slots) + 1;
  } else {
    return_slot(slot);
  }
}

// Writes an open span's record to `p`. Word by word: a wider load of what narrower stores have just written would
// wait for them to leave the store buffer.
inline void copy_record(std::uint64_t* p, const open_slot* slot, std::size_t bytes, std::uint64_t end) noexcept {
  const std::uint64_t* w = slot->words;
  p[0] = get(&w[0]) | bytes / line_bytes;
  p[1] = get(&w[1]);
  p[2] = get(&w[2]);
  p[3] = end;
#pragma GCC unroll 4
  for (std::size_t i = 4; i < line_words; ++i) p[i] = get(&w[i]);
  for (std::size_t left = bytes - line_bytes; left != 0; left -= line_bytes) {
    w += line_words;
    p += line_words;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < line_words; ++i) p[i] = get(&w[i]);
  }
}

// Stamps the end, writes the record and frees the slot. Any thread may call it. Doesn't touch the current context.
[[gnu::noinline]] inline void close(open_slot* slot) noexcept {
  thread_block* b = tls.block;
  if (b == nullptr || slot->block == abandoned_block) [[unlikely]]
    return close_slow(slot, ticks());
  const std::uint64_t end = ticks_of(b);
  const std::size_t bytes = record_bytes(get(&slot->words[1]) >> 32 & 0xffff);
  if (std::uint64_t* p = reserve(b, bytes)) [[likely]] {
    copy_record(p, slot, bytes, end);
    publish(b, bytes);
  }
  free_slot(slot, b);
}

// --- lines --------------------------------------------------------------------------------------------------------

// Header of a log line of `payload_words`, stamped; null when it had to be dropped. publish() it after the payload.
[[gnu::always_inline]] inline std::uint64_t* begin_log(const site& s, std::size_t payload_words) noexcept {
  const thread_state& t = tls;
  thread_block* b = t.block;
  if (b == nullptr) [[unlikely]] {
    if ((b = block_or_count()) == nullptr) return nullptr;
  }
  const std::size_t bytes = record_bytes(payload_words);
  std::uint64_t* p = reserve(b, bytes);
  if (p == nullptr) [[unlikely]]
    return nullptr;
  p[0] = first_word(bytes, record_kind::log, s.id());
  p[1] = second_word(t.current.scope.value, payload_words);
  p[2] = ticks_of(b);
  p[3] = 0;
  p[4] = t.current.trace.high;
  p[5] = t.current.trace.low;
  p[6] = t.current.span.value;
  p[7] = t.current.origin;
  return p + header_words;
}

}  // namespace telltale::detail
