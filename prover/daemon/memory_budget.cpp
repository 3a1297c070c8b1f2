#include "prover/daemon/memory_budget.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include "prover/heap.hpp"

namespace prover::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t no_limit = SIZE_MAX;

// "max", and v1's way of saying so (a number near 2^63), are no limit.
std::size_t limit_in(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return no_limit;
  std::size_t value = 0;
  const auto end = word.data() + word.size();
  const auto [at, wrong] = std::from_chars(word.data(), end, value);
  if (wrong != std::errc() || at != end || value >= (std::size_t{1} << 60)) return no_limit;
  return value;
}

// The limits of a group and of all above it, up to where the hierarchy is mounted.
std::size_t least_upwards(const fs::path& mount, const fs::path& group, const char* file) {
  std::size_t least = limit_in(mount / file);
  fs::path at = mount;
  for (const auto& step : group.relative_path()) {
    at /= step;
    least = std::min(least, limit_in(at / file));
  }
  return least;
}

// A line "KEY: NUMBER kB" of a file in /proc, in bytes.
std::optional<std::size_t> kilobytes_in(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t digit = line.find_first_of("0123456789", key.size());
    std::size_t value = 0;
    if (digit == std::string::npos) return std::nullopt;
    std::from_chars(line.data() + digit, line.data() + line.size(), value);
    return value << 10;
  }
  return std::nullopt;
}

constexpr const char* own_status = "/proc/self/status";

}  // namespace

std::size_t memory_limit(const fs::path& root) {
  std::size_t least = kilobytes_in(root / "proc/meminfo", "MemTotal:").value_or(no_limit);
  // Lines are "0::/path" for v2 and "N:controllers:/path" for v1. Inside a container the path may be the host's, and
  // the mount already the group itself; what isn't there has no limit.
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      for (const char* mount : {"sys/fs/cgroup", "sys/fs/cgroup/unified"})
        least = std::min(least, least_upwards(root / mount, group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, least_upwards(root / "sys/fs/cgroup/memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::size_t detect_memory(const fs::path& root) {
  const std::size_t limit = memory_limit(root);
  // Nothing can be read: what every machine that proves has.
  if (limit == no_limit) return std::size_t{1} << 30;
  return limit - std::min(limit / 8, std::size_t{2} << 30);
}

std::size_t resident_memory() {
  return kilobytes_in(own_status, "RssAnon:").value_or(0);
}

peak_probe::peak_probe() {
  give_back_heap();
  std::ofstream clear("/proc/self/clear_refs");
  clear << '5' << std::flush;
  if (clear) before_ = kilobytes_in(own_status, "VmRSS:");
}

std::optional<std::size_t> peak_probe::growth() const {
  const auto peak = kilobytes_in(own_status, "VmHWM:");
  if (!before_ || !peak) return std::nullopt;
  return *peak - std::min(*peak, *before_);
}

}  // namespace prover::daemon
