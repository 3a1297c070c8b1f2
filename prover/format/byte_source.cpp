// Files: opening and positioned reads.
#include "prover/format/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>

namespace prover::format {

class byte_source::descriptor {
 public:
  explicit descriptor(int fd) noexcept : fd_(fd) {}
  ~descriptor() { ::close(fd_); }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  int get() const noexcept { return fd_; }

 private:
  int fd_;
};

namespace {

std::string reason(int code) {
  return std::generic_category().message(code);
}

}  // namespace

telltale::result<byte_source> byte_source::open(std::string path, std::string kind) {
  byte_source r;
  r.name_ = std::move(path);
  r.kind_ = std::move(kind);
  const int fd = ::open(r.name_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return r.wrong(reason(errno), "Check the path and its permissions");
  r.file_ = std::make_shared<const descriptor>(fd);
  struct stat status{};
  if (::fstat(fd, &status) != 0) return r.wrong(reason(errno), "Check the path and its permissions");
  if (!S_ISREG(status.st_mode)) return r.wrong("it is not a regular file", "Give the path of a file");
  r.size_ = static_cast<u64>(status.st_size);
  return r;
}

byte_source byte_source::from_memory(std::vector<std::byte> bytes, std::string name, std::string kind) {
  byte_source r;
  r.name_ = std::move(name);
  r.kind_ = std::move(kind);
  r.size_ = bytes.size();
  const auto wipe = [](std::vector<std::byte>* held) {
    if (!held->empty()) explicit_bzero(held->data(), held->size());
    delete held;
  };
  r.memory_ = std::shared_ptr<std::vector<std::byte>>(new std::vector<std::byte>(std::move(bytes)), wipe);
  return r;
}

telltale::result<void> byte_source::read(u64 offset, std::span<std::byte> into) const {
  if (memory_) {
    if (!into.empty()) std::memcpy(into.data(), memory_->data() + offset, into.size());
    return {};
  }
  while (!into.empty()) {
    const ssize_t got = ::pread(file_->get(), into.data(), into.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return wrong(reason(errno), "Check the disk");
    if (got == 0) return wrong("it became shorter while it was read", "Let nothing write to it, and try again");
    offset += static_cast<u64>(got);
    into = into.subspan(static_cast<std::size_t>(got));
  }
  return {};
}

telltale::result<file_status> byte_source::status() const {
  if (memory_) return file_status{};
  struct stat s{};
  if (::fstat(file_->get(), &s) != 0) return wrong(reason(errno), "Check the disk");
  const auto ns = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return file_status{s.st_dev, s.st_ino, static_cast<u64>(s.st_size), ns(s.st_mtim), ns(s.st_ctim),
                     s.st_uid, s.st_mode};
}

telltale::result<std::string> read_text(const std::string& path, const std::string& kind, u64 limit) {
  auto source = byte_source::open(path, kind);
  if (!source) return source.error();
  if (source->size() > limit) {
    return source->wrong(
        "it has " + grouped(source->size()) + " bytes, more than the " + grouped(limit) + " that such a file can have",
        "Check that it is the right file");
  }
  std::string text(source->size(), '\0');
  if (auto done = source->read(0, std::as_writable_bytes(std::span(text))); !done) return done.error();
  return text;
}

}  // namespace prover::format
