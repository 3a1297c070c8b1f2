// Notices that a loaded key's file was replaced, truncated or deleted. What is loaded stays as it is.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "prover/daemon/job.hpp"

namespace prover::daemon {

// Thread-safe; asks the file system, so not to be called under anybody's lock.
class file_watch {
 public:
  explicit file_watch(const std::vector<kind>& kinds);

  // The kind's file is about to be read: remembers which it is.
  void loading(std::size_t kind);
  // Which of these kinds have another file by now, each told once per load, in a sentence.
  std::vector<std::pair<std::size_t, std::string>> look(const std::vector<std::size_t>& kinds);

 private:
  struct identity {
    std::uint64_t device = 0, inode = 0, size = 0;
    std::int64_t modified_ns = 0;
    bool operator==(const identity&) const = default;
  };
  static std::optional<identity> identify(const std::string& path);

  struct entry {
    std::string path;
    std::optional<identity> was;
    bool told = false;
  };
  std::mutex mutex_;
  std::vector<entry> entries_;
};

}  // namespace prover::daemon
