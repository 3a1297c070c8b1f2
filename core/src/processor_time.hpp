// What threads have taken of the processor: by this the library measures its own cost.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <telltale/core/context.hpp>

namespace telltale::detail {

inline std::int64_t processor_ns(clockid_t of) noexcept {
  timespec t{};
  ::clock_gettime(of, &t);
  return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}
inline std::int64_t thread_processor_ns() noexcept {
  return processor_ns(CLOCK_THREAD_CPUTIME_ID);
}

// The sinks' own threads, those that write and send, all together and since the beginning.
TELLTALE_EXPORT extern constinit std::atomic<std::int64_t> sink_threads_ns;

// One of those threads; lives on it.
class sink_thread_time {
 public:
  // Adds what was taken since the last time.
  void tell() noexcept {
    const std::int64_t now = thread_processor_ns();
    sink_threads_ns.fetch_add(now - told_, std::memory_order_relaxed);
    told_ = now;
  }

 private:
  std::int64_t told_ = 0;
};

}  // namespace telltale::detail
