// Sleeping and waking without a lock, for who may not take one: a record, and the child of a fork.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace telltale::detail {

// Sleeps while `word` is still `seen`, until somebody wakes it, or for `at_most`; may wake for no reason.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen,
                       std::chrono::nanoseconds at_most) noexcept {
  const timespec pause{static_cast<time_t>(at_most.count() / 1'000'000'000),
                       static_cast<long>(at_most.count() % 1'000'000'000)};
  ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &pause, nullptr, 0);
}

// Wakes everybody who sleeps on `word`; who is about to fall asleep finds it changed.
inline void futex_wake(std::atomic<std::uint32_t>& word) noexcept {
  word.fetch_add(1, std::memory_order_seq_cst);
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace telltale::detail
