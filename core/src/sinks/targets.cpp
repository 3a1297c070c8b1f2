// Descriptors, files and rolling files.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "../descriptors.hpp"
#include "output.hpp"

namespace telltale::detail {

namespace {

std::string why(int error_number) {
  return std::strerror(error_number);
}  // NOLINT(concurrency-mt-unsafe): glibc's is

// How far a write came: bytes, and the error that stopped it (0: none).
struct progress {
  std::size_t bytes = 0;
  int failed = 0;
};

// Writes all of it, waiting where the descriptor is non-blocking and full.
progress write_all(int fd, std::string_view bytes) noexcept {
  progress done;
  while (done.bytes != bytes.size()) {
    const ssize_t n = ::write(fd, bytes.data() + done.bytes, bytes.size() - done.bytes);
    if (n >= 0) {
      done.bytes += static_cast<std::size_t>(n);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd p{fd, POLLOUT, 0};
      ::poll(&p, 1, 1000);
    } else if (errno != EINTR) {
      done.failed = errno;
      break;
    }
  }
  return done;
}

// Takes off what was written, by whole lines. True where the write stopped inside one (the disk is full): the next one
// then begins with a line feed of its own.
bool take_off(std::string_view& lines, progress done) noexcept {
  const std::size_t whole = done.failed == 0 ? done.bytes : lines.substr(0, done.bytes).rfind('\n') + 1;
  lines.remove_prefix(whole);
  return whole != done.bytes;
}

// A named pipe that nobody reads is an error: the program would wait for a reader before it has done anything.
int open_for_append(const std::string& path, int more = 0) noexcept {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | more, 0644);
  if (fd >= 0) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

error cannot_open(const std::string& path, int error_number) {
  if (error_number == ENXIO) {
    return error{"cannot open \"" + path + "\" for writing: nobody reads that pipe. Start its reader first."};
  }
  return error{"cannot open \"" + path + "\" for writing: " + why(error_number) +
               ". Check that its directory exists and that this user may write there, or name another file in "
               "TELLTALE_SINKS."};
}

error cannot_write(const std::string& name, int error_number) {
  return error{"cannot write to " + name + ": " + why(error_number) + ". Records for it are dropped and counted."};
}

class descriptor final : public line_target {
 public:
  descriptor(int fd, std::string name, bool owned) : fd_(fd), name_(std::move(name)), owned_(owned) {}
  ~descriptor() override {
    if (owned_) ::close(fd_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  result<void> take(std::string_view& lines) override {
    const int fd = owned_ ? fd_ : real_descriptor(fd_);
    int failed = in_line_ ? write_all(fd, "\n").failed : 0;
    if (failed == 0) {
      const progress done = write_all(fd, lines);
      failed = done.failed;
      in_line_ = take_off(lines, done);
    }
    if (failed == 0) return {};
    return cannot_write(name_, failed);
  }
  // The descriptor is shared with the parent: whole lines are appended by either.
  std::shared_ptr<line_target> for_child() const override {
    return std::make_shared<descriptor>(owned_ ? ::fcntl(fd_, F_DUPFD_CLOEXEC, 0) : fd_, name_, owned_);
  }
  std::string name() const override { return name_; }

 private:
  int fd_;
  std::string name_;
  bool owned_;
  bool in_line_ = false;
};

class rolling final : public line_target {
 public:
  rolling(std::string path, rolling_options o, int fd) : path_(std::move(path)), o_(o), fd_(fd) { look(); }
  ~rolling() override { ::close(fd_); }
  rolling(const rolling&) = delete;
  rolling& operator=(const rolling&) = delete;

  result<void> take(std::string_view& lines) override {
    while (!lines.empty()) {
      if (size_ != 0 && (size_ >= o_.max_bytes || too_old())) {
        if (auto rolled = roll(); !rolled) return rolled;
      }
      const std::size_t fits = fitting(lines);
      if (fits == 0) {  // the next line doesn't fit behind what is there
        if (auto rolled = roll(); !rolled) return rolled;
        continue;
      }
      progress done;
      if (in_line_) size_ += (done = write_all(fd_, "\n")).bytes;
      if (done.failed == 0) {
        size_ += (done = write_all(fd_, lines.substr(0, fits))).bytes;
        in_line_ = take_off(lines, done);
      }
      if (done.failed != 0) return cannot_write("\"" + path_ + "\"", done.failed);
    }
    return {};
  }
  std::shared_ptr<line_target> for_child() const override {
    return std::make_shared<rolling>(path_, o_, open_for_append(path_));
  }
  std::string name() const override { return path_; }

 private:
  // Bytes of whole lines that still fit; a single line that is larger than a file gets a file of its own.
  std::size_t fitting(std::string_view lines) const noexcept {
    const std::uint64_t room = o_.max_bytes > size_ ? o_.max_bytes - size_ : 0;
    if (lines.size() <= room) return lines.size();
    const std::size_t end = lines.substr(0, room).rfind('\n');
    if (end != std::string_view::npos) return end + 1;
    if (size_ != 0) return 0;
    const std::size_t first = lines.find('\n');
    return first == std::string_view::npos ? lines.size() : first + 1;
  }

  bool too_old() const noexcept { return o_.max_age.count() > 0 && std::time(nullptr) - born_ >= o_.max_age.count(); }

  void look() noexcept {
    struct stat s{};
    size_ = ::fstat(fd_, &s) == 0 ? static_cast<std::uint64_t>(s.st_size) : 0;
    born_ = size_ != 0 ? s.st_mtime : std::time(nullptr);
  }

  std::string numbered(unsigned n) const { return path_ + "." + std::to_string(n); }

  result<void> roll() {
    if (o_.keep == 0) {
      ::unlink(path_.c_str());
    } else {
      ::unlink(numbered(o_.keep).c_str());
      for (unsigned n = o_.keep; n > 1; --n) ::rename(numbered(n - 1).c_str(), numbered(n).c_str());
      if (::rename(path_.c_str(), numbered(1).c_str()) != 0 && errno != ENOENT) {
        return error{"cannot roll \"" + path_ + "\": " + why(errno) + ". Records for it are dropped and counted."};
      }
    }
    const int fd = open_for_append(path_);
    if (fd < 0) return cannot_open(path_, errno);
    ::close(fd_);
    fd_ = fd;
    look();
    return {};
  }

  std::string path_;
  rolling_options o_;
  int fd_;
  std::uint64_t size_ = 0;
  std::time_t born_ = 0;
  bool in_line_ = false;
};

}  // namespace

std::shared_ptr<line_target> descriptor_target(int fd, std::string name) {
  return std::make_shared<descriptor>(fd, std::move(name), false);
}

result<std::shared_ptr<line_target>> file_target(const std::string& path) {
  const int fd = open_for_append(path);
  if (fd < 0) return cannot_open(path, errno);
  return std::shared_ptr<line_target>(std::make_shared<descriptor>(fd, "\"" + path + "\"", true));
}

result<std::shared_ptr<line_target>> fresh_file_target(const std::string& path) {
  const int fd = open_for_append(path, O_TRUNC);
  if (fd < 0) return cannot_open(path, errno);
  return std::shared_ptr<line_target>(std::make_shared<descriptor>(fd, "\"" + path + "\"", true));
}

result<std::shared_ptr<line_target>> rolling_target(const std::string& path, rolling_options o) {
  const int fd = open_for_append(path);
  if (fd < 0) return cannot_open(path, errno);
  return std::shared_ptr<line_target>(std::make_shared<rolling>(path, o, fd));
}

}  // namespace telltale::detail
