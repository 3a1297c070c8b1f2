// How much memory this process may use, and how much it does.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace prover::daemon {

// The least of the machine's memory and the limits of the control groups (v2 and v1) that this process is in, the outer
// ones included. `root` stands for "/", so that tests can have another machine.
std::size_t memory_limit(const std::filesystem::path& root = "/");

// The budget where it is "auto": the limit less what others need, an eighth or 2 GiB, whichever is less.
std::size_t detect_memory(const std::filesystem::path& root = "/");

// Memory of this process that no file stands behind (RssAnon); 0 where the system doesn't say.
std::size_t resident_memory();

// The most memory that this process had at once since it began: reads, and starts anew, the kernel's high-water mark.
// Nothing where the kernel has none.
class peak_probe {
 public:
  // Gives back to the system what the heap keeps, so that what comes is measured rather than reused.
  peak_probe();
  // Growth over what there was at the beginning. Counts the whole process: use it while nothing else runs.
  std::optional<std::size_t> growth() const;

 private:
  std::optional<std::size_t> before_;
};

}  // namespace prover::daemon
