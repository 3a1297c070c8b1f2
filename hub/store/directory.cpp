#include "hub/store/directory.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace telltale::hub {

namespace fs = std::filesystem;

directory::directory(directory&& o) noexcept
    : path_(std::move(o.path_)), manifest_(std::move(o.manifest_)), lock_(std::exchange(o.lock_, -1)) {}

directory& directory::operator=(directory&& o) noexcept {
  std::swap(path_, o.path_);
  std::swap(manifest_, o.manifest_);
  std::swap(lock_, o.lock_);
  return *this;
}

directory::~directory() {
  if (lock_ >= 0) ::close(lock_);
}

result<directory> directory::open(const std::string& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (code) return error{"cannot make the store's directory " + path + ": " + code.message()};
  directory d;
  d.path_ = fs::canonical(path, code).string();
  d.lock_ = ::open((d.path_ + "/LOCK").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (d.lock_ < 0) {
    return error{"cannot write in the store's directory " + d.path_ + ": " + std::generic_category().message(errno)};
  }
  if (::flock(d.lock_, LOCK_EX | LOCK_NB) != 0) {
    return error{"the store in " + d.path_ + " is open in another process: ask that one over HTTP, or stop it"};
  }
  auto m = read_manifest(d.path_);
  if (!m) return m.error();
  d.manifest_ = std::move(*m);
  for (const auto& entry : fs::directory_iterator(d.path_, code)) {  // left over from a crash
    const std::string name = entry.path().filename().string();
    const bool ours = name.ends_with(".parquet") || name.ends_with(".tmp");
    const bool known = std::any_of(d.manifest_.files.begin(), d.manifest_.files.end(), [&](const file_entry& f) {
      return f.name == name || (f.kind == file_kind::spans && durations_of(f.name) == name);
    });
    if (ours && !known) fs::remove(entry.path(), code);
  }
  return d;
}

result<directory> directory::open_to_read(const std::string& path) {
  std::error_code code;
  directory d;
  d.path_ = fs::canonical(path, code).string();
  d.lock_ = code ? -1 : ::open((d.path_ + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  if (d.lock_ < 0) {
    return error{"there is no store in " + path + " that could be read (" +
                 (code ? code.message() : std::generic_category().message(errno)) +
                 "). `telltale serve --store DIR` makes one"};
  }
  if (::flock(d.lock_, LOCK_SH | LOCK_NB) != 0) {
    return error{"a hub has the store in " + d.path_ + " open: ask it, with --hub URL in place of --store"};
  }
  auto m = read_manifest(d.path_);
  if (!m) return m.error();
  d.manifest_ = std::move(*m);
  return d;
}

}  // namespace telltale::hub
