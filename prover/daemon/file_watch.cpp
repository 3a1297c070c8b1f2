#include "prover/daemon/file_watch.hpp"

#include <sys/stat.h>

namespace prover::daemon {

file_watch::file_watch(const std::vector<kind>& kinds) {
  for (const auto& k : kinds) entries_.push_back({k.key, {}, false});
}

std::optional<file_watch::identity> file_watch::identify(const std::string& path) {
  struct stat s{};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
  return identity{s.st_dev, s.st_ino, static_cast<std::uint64_t>(s.st_size),
                  std::int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

void file_watch::loading(std::size_t kind) {
  const auto now = identify(entries_[kind].path);  // the path never changes
  const std::lock_guard lock(mutex_);
  entries_[kind].was = now;
  entries_[kind].told = false;
}

std::vector<std::pair<std::size_t, std::string>> file_watch::look(const std::vector<std::size_t>& kinds) {
  std::vector<std::pair<std::size_t, std::string>> changed;
  for (const std::size_t k : kinds) {
    const auto now = identify(entries_[k].path);
    const std::lock_guard lock(mutex_);
    entry& e = entries_[k];
    if (e.told || !e.was || now == e.was) continue;
    e.told = true;
    const std::string what = !now                      ? "is gone"
                             : now->size < e.was->size ? "was truncated or replaced"
                                                       : "was replaced or written to";
    changed.emplace_back(k, "key \"" + e.path + "\" " + what +
                                " since it was loaded; the loaded one stays in use. Evict it to load the file anew.");
  }
  return changed;
}

}  // namespace prover::daemon
