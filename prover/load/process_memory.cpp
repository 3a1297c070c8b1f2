#include "prover/load/process_memory.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

namespace prover::load {

std::optional<std::size_t> anonymous_memory(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  std::size_t kilobytes = 0;
  for (std::string word; in >> word;) {
    if (word == "RssAnon:" && in >> kilobytes) return kilobytes << 10;
  }
  return std::nullopt;
}

memory_watch::memory_watch(std::function<std::optional<std::size_t>()> ask, std::chrono::milliseconds every)
    : thread_([this, ask = std::move(ask), every](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          if (const auto now = ask()) peak_ = std::max<std::size_t>(peak_, *now);
          std::this_thread::sleep_for(every);
        }
      }) {}

}  // namespace prover::load
