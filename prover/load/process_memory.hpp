// The memory of another process of this machine, as the kernel counts it: what no file stands behind (RssAnon).
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <thread>

namespace prover::load {

// Nothing where there is no such process, or the system doesn't say.
std::optional<std::size_t> anonymous_memory(pid_t pid);

// The most that `ask` answered: it is asked again and again, on a thread of its own, until the object ends.
class memory_watch {
 public:
  memory_watch(std::function<std::optional<std::size_t>()> ask, std::chrono::milliseconds every);
  std::size_t peak() const { return peak_; }

 private:
  std::atomic<std::size_t> peak_{0};
  std::jthread thread_;
};

}  // namespace prover::load
