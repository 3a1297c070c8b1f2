// Small helpers of the recording side that several of its files share.
#pragma once

#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/layout.hpp>

namespace telltale::detail {

// More than half of the ring is unread: time for the drain to read, and for who waits for room to go on waiting.
inline bool is_crowded(const thread_block& b) noexcept {
  return b.head.load(std::memory_order_relaxed) - b.tail.load(std::memory_order_acquire) > (b.mask + 1) / 2;
}

// Random-looking bits of a sequence of steps, so that what is chosen by them doesn't run in step with what a program
// does: the output function of Sebastiano Vigna's SplitMix64, one to one, zero stays zero.
constexpr std::uint64_t scattered(std::uint64_t x) noexcept {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

// Counts one dropped record on a thread's block and makes its next write tell of it.
void count_drop(thread_block* b, drop_reason why) noexcept;
// Counts one dropped record of a thread that has no block.
void count_no_memory() noexcept;
// Counts a value that was cut to a cap.
void count_truncated(thread_block* b) noexcept;
// The longest prefix of `s` of at most `bytes` bytes that ends at a code-point edge.
std::size_t cut_to(std::string_view s, std::size_t bytes) noexcept;
// Has this thread's ring say who writes from here on, ahead of the next record.
void announce_thread(thread_block* b, std::string_view name) noexcept;

// Copies what stands in a slot; false where no span is open in it, or it changed hands meanwhile.
bool copy_open_span(const open_slot& slot, std::uint64_t (&words)[slot_words]) noexcept;

// The context of the span that is open in `slot`.
context slot_context(const open_slot* slot) noexcept;

// Which traces are recorded: those whose id's lower 63 bits are below `threshold`; `by_parent`: a trace that comes from
// elsewhere is recorded where it is recorded there.
void set_sampling(std::uint64_t threshold, bool by_parent) noexcept;

}  // namespace telltale::detail
