// The clock of records: raw ticks on the calling thread, nanoseconds since 1970 (UTC) on the drain's side.
//
// Where the processor's time-stamp counter is invariant it is read directly (CORE-18); where it cannot be trusted,
// CLOCK_MONOTONIC is used instead, which costs more and is said in the trace. Which one is decided once, at start.
#pragma once

#include <cstdint>
#include <telltale/core/context.hpp>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace telltale::detail {

// 0: the time-stamp counter; otherwise every stamp comes from slow_ticks().
TELLTALE_EXPORT extern std::uint32_t clock_is_slow;
TELLTALE_EXPORT std::uint64_t slow_ticks() noexcept;

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  if (clock_is_slow == 0) [[likely]]
    return __rdtsc();
#endif
  return slow_ticks();
}

}  // namespace telltale::detail
