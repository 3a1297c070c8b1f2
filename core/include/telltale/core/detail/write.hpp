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

inline std::uint64_t* put_string(std::uint64_t* p, std::string_view s) noexcept {
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
  if (head + bytes <= b->limit) [[likely]] return b->ring + (head & b->mask) / 8;
  return reserve_slow(b, bytes);
}

inline void publish(thread_block* b, std::size_t bytes) noexcept {
  b->head.store(b->head.load(std::memory_order_relaxed) + bytes, std::memory_order_release);
}

// --- identifiers --------------------------------------------------------------------------------------------------

// 64 bits that no other call in this process returns and that look random (splitmix64, Steele, Lea, Flood 2014: a
// bijection of a counter whose start is drawn from the operating system once per thread).
inline std::uint64_t next_id(thread_state& t) noexcept {
  std::uint64_t z = t.id_state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (z ^ (z >> 31)) | 1;  // never zero
}

// --- spans and lines ----------------------------------------------------------------------------------------------

// Takes a slot, gives the span its ids, makes it the current one and stamps its begin. The caller then writes the
// payload and calls opened(). Null when it cannot be recorded, which is counted; the parent then stays current.
TELLTALE_EXPORT open_slot* open(const site& s, std::size_t payload_words) noexcept;

inline void opened(open_slot* slot) noexcept {
  slot->generation.store(slot->generation.load(std::memory_order_relaxed) | 1, std::memory_order_release);
}

// Stamps the end, writes the record and frees the slot. Any thread may call it. Doesn't touch the current context.
TELLTALE_EXPORT void close(open_slot* slot) noexcept;

// Header of a log line of `payload_words`, stamped; null when it had to be dropped. publish() it after the payload.
TELLTALE_EXPORT std::uint64_t* begin_log(const site& s, std::size_t payload_words) noexcept;

constexpr std::size_t record_bytes(std::size_t payload_words) noexcept {
  return (header_words + payload_words + line_words - 1) / line_words * line_bytes;
}

}  // namespace telltale::detail
