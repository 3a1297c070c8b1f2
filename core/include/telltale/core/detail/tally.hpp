// What is left of a span whose call site fires too often to be recorded each time: a count per thread, and now and then
// a call that is timed. The governor decides which sites (core/src/governor).
//
// A tally counts down to the next call that is timed, so that counting and choosing are one decrement: the calls so far
// are `armed - left`. How far it counts is drawn anew each time from a geometric distribution: every call has the same
// chance of being timed, whatever pattern the calls follow.
#pragma once

#include <atomic>
#include <cstdint>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/layout.hpp>
#include <telltale/core/site.hpp>

namespace telltale::detail {

// Call sites that can be counted so in one process. A site keeps its number for good.
inline constexpr std::size_t max_tallies = 256;

// Written by its thread, read by the drain: of a pair read while `armed` changes, or with `left` below zero, nothing
// can be told.
struct tally {
  std::atomic<std::int64_t> left{0};
  std::atomic<std::uint64_t> armed{0};
};

enum class sheet_state : std::uint32_t { unused, owned, ended };  // ended: the drain has yet to read it

// A thread's tallies. Never freed: handed to a later thread.
struct tally_sheet {
  tally of[max_tallies];
  std::uint32_t number = 0;
  std::atomic<sheet_state> state{sheet_state::unused};
  std::atomic<std::uint32_t> block{0};  // of the thread that counts in it
  tally_sheet* next = nullptr;          // made before this one
};

// Of threads that have met no such site. In it every call goes the slow way.
TELLTALE_EXPORT extern constinit tally_sheet no_tallies;

// Counts a call, and says whether it is one for sample_call().
inline bool count_call(const site& s) noexcept {
  tally& t = tls.tallies->of[s.tally()];
  const std::int64_t left = t.left.load(std::memory_order_relaxed) - 1;
  t.left.store(left, std::memory_order_relaxed);
  return left < 0;
}

// Draws how far to count next. A slot that holds the begin of a call to be timed; null where this one isn't.
TELLTALE_EXPORT open_slot* sample_call(const site& s) noexcept;
// Its end: writes how long it took, where there is room.
TELLTALE_EXPORT void close_sample(open_slot* slot) noexcept;

}  // namespace telltale::detail
