// The hot path: how a call site writes into its thread's memory. No lock, no allocation, no system call; everything
// that is rare is a cold function in the library.
#pragma once

#include <bit>
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
using half [[gnu::may_alias]] = std::uint32_t;
inline constexpr std::size_t low_half = std::endian::native == std::endian::little ? 0 : 1;

// Its low half. (A load that is narrower than the store before it needn't wait for that to leave the store buffer; a
// wider one has to.)
inline std::uint32_t get_low(const std::uint64_t* word) noexcept {
  return __atomic_load_n(&reinterpret_cast<const half*>(word)[low_half], __ATOMIC_RELAXED);
}
inline std::uint64_t get(const std::uint64_t* word) noexcept {
  return std::atomic_ref<std::uint64_t>(*const_cast<std::uint64_t*>(word)).load(std::memory_order_relaxed);
}

// Two words at once, where nobody checks that other threads only see whole ones.
inline void put_pair(std::uint64_t* words, const void* pair) noexcept {
#if defined(__SANITIZE_THREAD__)
  std::uint64_t both[2];
  std::memcpy(both, pair, sizeof both);
  put(&words[0], both[0]);
  put(&words[1], both[1]);
#else
  std::memcpy(words, pair, 2 * sizeof *words);
#endif
}

// Words of a slot, to where nobody looks yet. Where a span ends right after its begin, its slot is still on the way to
// memory. So what was stored as two words is loaded as two words, or it would have to arrive first; and it is stored as
// one pair, because stores are what takes time: each waits for its line of the ring, which another core read last.
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
using pair_register [[gnu::vector_size(16)]] = long long;
inline void copy_two_words(std::uint64_t* to, const std::uint64_t* from) noexcept {
  pair_register pair;
  asm("movq %1, %0\n\tmovhps %2, %0" : "=&x"(pair) : "m"(from[0]), "m"(from[1]));
  std::memcpy(to, &pair, sizeof pair);
}
inline void copy_word_and(std::uint64_t* to, const std::uint64_t* from, std::uint64_t second) noexcept {
  pair_register pair;
  asm("movq %1, %0" : "=x"(pair) : "m"(*from));
  pair[1] = static_cast<long long>(second);
  std::memcpy(to, &pair, sizeof pair);
}
inline void copy_pair(std::uint64_t* to, const std::uint64_t* from) noexcept {
  std::memcpy(to, from, sizeof(pair_register));
}
#else
inline void copy_word_and(std::uint64_t* to, const std::uint64_t* from, std::uint64_t second) noexcept {
  to[0] = get(from);
  to[1] = second;
}
inline void copy_two_words(std::uint64_t* to, const std::uint64_t* from) noexcept {
  copy_word_and(to, from, get(from + 1));
}
inline void copy_pair(std::uint64_t* to, const std::uint64_t* from) noexcept {
  copy_two_words(to, from);
}
#endif

// --- payload ------------------------------------------------------------------------------------------------------

// The longest prefix of `s` within the cap that ends at a code-point edge.
TELLTALE_EXPORT std::size_t cut_length(std::string_view s) noexcept;
// The same for who writes it: counts that something was cut.
TELLTALE_EXPORT std::size_t cut_and_count(std::string_view s) noexcept;

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
  const std::size_t size = s.size() <= max_string_bytes ? s.size() : cut_and_count(s);
  put(p++, size | std::uint64_t{s.size() < 0xffffffffu ? s.size() : 0xffffffffu} << 32);
  std::size_t i = 0;
  for (; i + 16 <= size; i += 16, p += 2) put_pair(p, s.data() + i);
  if (i + 8 <= size) {
    std::uint64_t word;
    std::memcpy(&word, s.data() + i, 8);
    put(p++, word);
    i += 8;
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
// is then counted. Attaches the thread where it has no block: tls.block may be another one afterwards. Publish what was
// written with publish().
TELLTALE_EXPORT std::uint64_t* reserve_slow(std::size_t bytes) noexcept;

// The lines that the next records will fill were last read by the drain, on another core. Asking for them now hides
// their way here behind the next clock reads. (Behind the ring's end this asks for a line in vain, once a lap.)
inline void prefetch_ahead(const std::uint64_t* record) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw 1024(%0)\n\tprefetchw 1088(%0)" : : "r"(record));
#else
  __builtin_prefetch(record + 128, 1);
#endif
}

// Where in the ring the byte lies that is number `head` of all that were ever written.
inline std::uint64_t* place_of(const thread_block* b, std::uint64_t head) noexcept {
  return reinterpret_cast<std::uint64_t*>(reinterpret_cast<unsigned char*>(b->ring) + (head & b->mask));
}

inline void publish(thread_block* b, std::size_t bytes) noexcept {
  b->head.store(b->head.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

// --- the current position -----------------------------------------------------------------------------------------

// A position as two words, which is how it is loaded and stored, one by one: a load that is wider than the stores
// before it waits until they have left the store buffer. (g++ joins the two where it is let.)
struct position_words {
  std::uint64_t span = 0;
  std::uint64_t rest = 0;  // scope (32) | origin (16) | flags (16)
};
static_assert(sizeof(position) == sizeof(position_words) && sizeof(context) == 2 * sizeof(position_words));

inline position_words load_position(const context& c) noexcept {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&c);
  position_words p;
  std::memcpy(&p.span, bytes, 8);
  std::memcpy(&p.rest, bytes + 8, 8);
  asm("" : "+r"(p.span), "+r"(p.rest));  // in two registers, not in a wide one
  return p;
}
inline void store_position(context& c, const position_words& p) noexcept {
  auto* bytes = reinterpret_cast<unsigned char*>(&c);
  std::memcpy(bytes, &p.span, 8);
  asm("" : : : "memory");
  std::memcpy(bytes + 8, &p.rest, 8);
}
// Makes a span current; scope and flags stay as they are.
inline void enter(context& c, std::uint64_t span, std::uint32_t site) noexcept {
  c.span.value = span;
  c.origin = static_cast<std::uint16_t>(site);
}

// --- identifiers --------------------------------------------------------------------------------------------------

// 64 bits that no other call in this process returns, never zero: a Weyl sequence (steps of 2^64 / golden ratio) from a
// start that the operating system draws for each thread. Two threads meet as rarely as two random numbers do.
inline constexpr std::uint64_t id_step = 0x9e3779b97f4a7c15u;
inline std::uint64_t next_id(thread_state& t) noexcept {
  return t.id_state += id_step;
}
// The start of a sequence, from random bits: one that comes to zero, which means "none", after 2^63 steps or more.
constexpr std::uint64_t id_sequence(std::uint64_t random) noexcept {
  return std::uint64_t{0} - (random | std::uint64_t{1} << 63) * id_step;
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

// What a slot says about its span, but for the payload and the begin.
[[gnu::always_inline]] inline void fill_slot(open_slot* slot, const trace_id& trace, std::uint32_t site,
                                             const position_words& parent, std::size_t payload_words, std::uint64_t id,
                                             std::uint8_t state = 0) noexcept {
  std::uint64_t* w = slot->words;
  put(&w[0], first_word(record_bytes(payload_words), record_kind::span, site) | std::uint64_t{state} << 16);
  put(&w[1], static_cast<std::uint32_t>(parent.rest) | std::uint64_t{payload_words} << 32);
  put_pair(&w[4], &trace);
  put(&w[6], id);
  put(&w[7], parent.span);
  put(&w[3], parent.rest);
}
// What was current when a slot's span began.
inline position_words former_position(const open_slot* slot) noexcept {
  return {get(&slot->words[7]), get(&slot->words[3])};
}

// Ends a slot's span where something about it is rare: it ends out of order or on another thread, a fork lies between.
// Doesn't touch the current context.
TELLTALE_EXPORT void close_slow(open_slot* slot) noexcept;
// The same for this thread's last span where the ring has no room at once, or where the time-stamp counter, which `end`
// was read from, isn't used.
TELLTALE_EXPORT void close_at_limit(open_slot* slot, std::uint64_t end) noexcept;
// finish() where it is no span that this thread opened last, below another one: a root, a call that is timed.
TELLTALE_EXPORT void finish_slow(open_slot* slot) noexcept;
TELLTALE_EXPORT void finish_at_limit(open_slot* slot, std::uint64_t end) noexcept;

inline std::uint64_t ticks_of([[maybe_unused]] const thread_block* b) noexcept {
#if defined(__x86_64__)
  if (b->slow_clock == 0) [[likely]]
    return __rdtsc();
#endif
  return slow_ticks();
}
// The same for who has seen, or notices later, that the counter isn't used.
inline std::uint64_t hasty_ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}

// A span on its way: its slot, and its begin, which is written last.
struct opening {
  open_slot* slot = nullptr;
  std::uint64_t begin = 0;
};

// Takes a slot, gives the span its ids, makes it the current one and stamps its begin. The caller then writes the
// payload and calls opened(). Without a slot it cannot be recorded, which is counted, and the parent stays current.
// Attaches the thread where it has no block; begins a trace where no span is current, which the sampler may leave out.
TELLTALE_EXPORT opening open(const site& s, std::size_t payload_words) noexcept;

// The same where nothing about it is rare; else without a slot, nothing counted, and open() has to do it. One
// comparison says that there is a slot and that the time-stamp counter is used.
[[gnu::always_inline]] inline opening open_at_once(const site& s, std::size_t payload_words) noexcept {
  thread_state& t = tls;
  thread_block* b = t.block;
  open_slot* slot = b->top;
  const position_words parent = load_position(t.current);
  if (slot >= b->top_end || parent.span == 0) [[unlikely]]
    return {};
  b->top = slot + 1;
  const std::uint64_t id = next_id(t);
  const std::uint32_t site = s.id();
  fill_slot(slot, t.current.trace, site, parent, payload_words, id);
  enter(t.current, id, site);
  return {slot, hasty_ticks()};
}

inline void opened(const opening& o) noexcept {
  std::atomic_ref<std::uint64_t>(o.slot->words[2]).store(o.begin, std::memory_order_release);
}

// The id of the span that is open in a slot.
inline std::uint64_t id_in(const open_slot* slot) noexcept {
  return get(&slot->words[6]);
}
// Whether it holds a call that is timed rather than a span (tally.hpp).
inline bool is_sample(const open_slot* slot) noexcept {
  return (get(&slot->words[0]) >> 8 & 0xff) == static_cast<std::uint8_t>(record_kind::sample);
}

// The low half of a slot's first word says how long the record will be.
constexpr std::size_t bytes_said_by(std::uint32_t first) noexcept {
  return std::size_t{first & 0xff} * line_bytes;
}
// What it is where a span has one to eight words of attributes, as most have: their copy needs no loop.
inline constexpr auto first_of_two_lines = static_cast<std::uint32_t>(first_word(2 * line_bytes, record_kind::span, 0));

// Writes an open span's record to `p`.
[[gnu::always_inline]] inline void copy_record(std::uint64_t* p, const open_slot* slot, std::size_t bytes,
                                               std::uint64_t end) noexcept {
  const std::uint64_t* w = slot->words;
  const std::uint64_t* const behind = w + bytes / sizeof *w;
  copy_two_words(p, w);
  copy_word_and(p + 2, w + 2, end);
  copy_pair(p + 4, w + 4);  // the trace, which was stored as a pair
  copy_two_words(p + 6, w + 6);
  while ((w += line_words) != behind) {
    p += line_words;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < line_words; i += 2) copy_two_words(p + i, w + i);
  }
}

// Writes the record of this thread's last span, which takes so many bytes, and frees its slot; false, with nothing
// done, where the ring has no room at once.
[[gnu::always_inline]] inline bool write_top(thread_block* b, open_slot* slot, std::size_t bytes,
                                             std::uint64_t end) noexcept {
  const std::uint64_t head = b->head.load(std::memory_order_relaxed);
  if (head + bytes > b->limit) [[unlikely]]
    return false;
  std::uint64_t* p = place_of(b, head);
  prefetch_ahead(p);
  copy_record(p, slot, bytes, end);
  b->top = slot;
  b->head.store(head + bytes, std::memory_order_release);
  return true;
}

// Ends the span of a slot: stamps the end, writes the record and frees the slot. Any thread may call it. Doesn't touch
// the current context.
inline void close(open_slot* slot) noexcept {
  thread_block* b = tls.block;
  // The last one that this thread opened, as nearly always: everything about it is this thread's own.
  if (b->top != slot + 1) [[unlikely]]
    return close_slow(slot);
  const std::uint64_t end = hasty_ticks();
  if (!write_top(b, slot, bytes_said_by(get_low(&slot->words[0])), end)) [[unlikely]]
    return close_at_limit(slot, end);
  put(&slot->words[2], 0);
}

// Ends a span where it is current, or a call that is timed: close(), and what was current before it is so again. What
// is rare is called last, so that the common way has no registers to save.
[[gnu::noinline]] inline void finish(open_slot* slot) noexcept {
  thread_state& t = tls;
  thread_block* b = t.block;
  const std::uint32_t first = get_low(&slot->words[0]);
  if (b->top != slot + 1) [[unlikely]]
    return finish_slow(slot);
  if (first == first_of_two_lines) [[likely]] {
    const std::uint64_t end = hasty_ticks();
    if (!write_top(b, slot, 2 * line_bytes, end)) [[unlikely]]
      return finish_at_limit(slot, end);
  } else {
    if ((first >> 16 & state_is_root) != 0) [[unlikely]]
      return finish_slow(slot);
    const std::uint64_t end = hasty_ticks();
    if (!write_top(b, slot, bytes_said_by(first), end)) [[unlikely]]
      return finish_at_limit(slot, end);
  }
  store_position(t.current, former_position(slot));
  put(&slot->words[2], 0);
}

// --- lines --------------------------------------------------------------------------------------------------------

// Header of a log line of `payload_words`, stamped; null when it had to be dropped. publish() it after the payload.
[[gnu::always_inline]] inline std::uint64_t* begin_log(const site& s, std::size_t payload_words) noexcept {
  const thread_state& t = tls;
  const thread_block* b = t.block;
  const std::size_t bytes = record_bytes(payload_words);
  const std::uint64_t head = b->head.load(std::memory_order_relaxed);
  std::uint64_t* p = place_of(b, head);
  if (head + bytes > b->limit) [[unlikely]] {
    if ((p = reserve_slow(bytes)) == nullptr) return nullptr;
    b = t.block;
  }
  p[0] = first_word(bytes, record_kind::log, s.id());
  p[1] = second_word(t.current.scope.value, payload_words);
  p[2] = ticks_of(b);
  p[3] = 0;
  std::memcpy(p + 4, &t.current.trace, sizeof t.current.trace);
  p[6] = t.current.span.value;
  p[7] = t.current.origin;
  prefetch_ahead(p);
  return p + header_words;
}

}  // namespace telltale::detail
