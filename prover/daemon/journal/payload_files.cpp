// Payloads as files.
#include "prover/daemon/journal/payload_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "prover/format/digest.hpp"

namespace prover::daemon {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view unfinished = ".part";

telltale::error cannot(const std::string& what, const std::string& path, int number) {
  const std::string hint = number == ENOSPC || number == EDQUOT || number == EFBIG ? " Make room there." : "";
  return {"cannot " + what + " the payload \"" + path +
          "\": " + std::error_code(number, std::generic_category()).message() + "." + hint};
}

// Its number is what failed, 0 for nothing.
int write_all(int fd, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    content = content.subspan(static_cast<std::size_t>(n));
  }
  return 0;
}

// A name in a directory is durable once the directory is.
int sync_directory(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno;
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  return failed;
}

}  // namespace

std::string payload_files::path(const digest& d) const {
  return directory_ + "/" + format::to_hex(d);
}

telltale::result<void> payload_files::open(const std::function<bool(const digest&)>& wanted) {
  std::error_code failed;
  fs::create_directories(directory_, failed);
  if (failed) return cannot("make the directory of", directory_, failed.value());
  std::vector<fs::path> strangers;
  for (fs::directory_iterator i(directory_, failed), end; !failed && i != end; i.increment(failed)) {
    const std::string name = i->path().filename().string();
    const bool half = name.ends_with(unfinished);
    // Only what we could have written is ours to remove.
    const std::string_view hex = std::string_view(name).substr(0, 64);
    if (hex.size() != 64 || hex.find_first_not_of("0123456789abcdef") != std::string_view::npos) continue;
    if (!half && name.size() != 64) continue;
    digest d{};
    const auto value = [&](std::size_t at) { return hex[at] <= '9' ? hex[at] - '0' : hex[at] - 'a' + 10; };
    for (std::size_t n = 0; n < d.size(); ++n) d[n] = static_cast<std::byte>(value(2 * n) << 4 | value(2 * n + 1));
    if (half || !wanted(d)) strangers.push_back(i->path());
  }
  if (failed) return cannot("list", directory_, failed.value());
  for (const fs::path& p : strangers) fs::remove(p, failed);
  return {};
}

payload_files::pin::pin(payload_files& files, const digest& d) : files_(&files), digest_(d) {
  const std::lock_guard lock(files.mutex_);
  ++files.pins_[d];
}

payload_files::pin::~pin() {
  if (files_ == nullptr) return;
  const std::lock_guard lock(files_->mutex_);
  const auto found = files_->pins_.find(digest_);
  if (--found->second == 0) files_->pins_.erase(found);
}

telltale::result<void> payload_files::write(const digest& d, std::span<const std::byte> content) {
  static std::atomic<std::uint64_t> number{0};
  const std::string final = path(d);
  struct stat there{};
  if (::stat(final.c_str(), &there) == 0 && static_cast<std::uint64_t>(there.st_size) == content.size()) return {};
  const std::string half = final + "." + std::to_string(number.fetch_add(1)) + std::string(unfinished);
  const int fd = ::open(half.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return cannot("write", half, errno);
  int failed = write_all(fd, content);
  if (failed == 0 && ::fdatasync(fd) != 0) failed = errno;
  ::close(fd);
  if (failed == 0 && ::rename(half.c_str(), final.c_str()) != 0) failed = errno;
  if (failed == 0) failed = sync_directory(directory_);
  if (failed == 0) return {};
  ::unlink(half.c_str());
  return cannot("write", final, failed);
}

telltale::result<std::vector<std::byte>> payload_files::read(const digest& d) const {
  const std::string name = path(d);
  const int fd = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot("read", name, errno);
  struct stat there{};
  int failed = ::fstat(fd, &there) == 0 ? 0 : errno;
  std::vector<std::byte> content(failed == 0 ? static_cast<std::size_t>(there.st_size) : 0);
  std::span<std::byte> rest(content);
  while (failed == 0 && !rest.empty()) {
    const ssize_t n = ::read(fd, rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) failed = errno;
    if (n <= 0) break;
    rest = rest.subspan(static_cast<std::size_t>(n));
  }
  ::close(fd);
  if (failed != 0) return cannot("read", name, failed);
  if (!rest.empty() || format::sha256(content) != d) {
    return telltale::error{"the payload \"" + name +
                           "\" isn't what was accepted: somebody changed the file, or the disk did. Submit the job "
                           "again."};
  }
  return content;
}

void payload_files::drop(const digest& d, const std::function<bool(const digest&)>& wanted) {
  const std::lock_guard lock(mutex_);
  if (!pins_.contains(d) && !wanted(d)) ::unlink(path(d).c_str());
}

}  // namespace prover::daemon
