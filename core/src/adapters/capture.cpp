// Capturing stderr and stdout: streams that know who prints, and a pipe for those who write past them.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <streambuf>
#include <telltale/adapters/capture.hpp>
#include <telltale/core/detail/descriptors.hpp>
#include <thread>
#include <utility>

#include "lines.hpp"

namespace telltale {

using detail::line_builder;
using detail::line_destination;

namespace {

void write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno != EINTR && errno != EAGAIN) {
      return;
    }
  }
}

}  // namespace

struct capture::state {
  int fd;
  line_destination to;
  bool echo;
  context opened_in;  // for what comes through the pipe
  int real = -1;      // what the descriptor was
  int pipe = -1;      // our end of the pipe
  int stop = -1;      // an eventfd: read what is there, then end
  std::FILE* former_file = nullptr;
  std::array<std::streambuf*, 2> former_buffers{};
  std::thread reader{};
  pid_t process = ::getpid();  // a forked child has no reader

  void read_pipe();
  ~state() {
    for (const int d : {real, pipe, stop}) {
      if (d >= 0) ::close(d);
    }
  }
};

namespace {

// The capture of each descriptor. A stream looks here with every piece, under a lock that the end of a capture takes
// too: so nobody is left inside one that is going away.
struct slot {
  std::mutex mutex;
  capture::state* active = nullptr;
  std::FILE* file = nullptr;  // stands in for stderr or stdout; made once, since others may keep a pointer to it
};
slot& slot_of(int fd) {
  static auto& slots = *new std::array<slot, 3>;  // printed to until the last static object is gone
  return slots[static_cast<std::size_t>(fd)];
}

// Lines that this thread has begun, by descriptor. They end with the thread at the latest.
struct thread_lines {
  std::array<line_builder, 3> of;
  bool busy = false;  // recording a line; what that prints must not be recorded

  ~thread_lines();
};
thread_local std::optional<thread_lines> lines_here;
thread_local bool lines_gone = false;

thread_lines::~thread_lines() {
  lines_gone = true;
  for (const int fd : {1, 2}) {
    line_builder& line = of[static_cast<std::size_t>(fd)];
    if (line.empty()) continue;
    slot& s = slot_of(fd);
    const std::lock_guard lock(s.mutex);
    if (s.active != nullptr) {
      line.finish(s.active->to);
    } else {
      write_all(fd, line.take_text());
    }
  }
}

// A piece that was printed on this thread.
void printed(int fd, std::string_view piece) {
  slot& s = slot_of(fd);
  if (lines_gone || (lines_here && lines_here->busy)) return write_all(fd, piece);  // through the pipe, if there is one
  if (!lines_here) lines_here.emplace();
  line_builder& line = lines_here->of[static_cast<std::size_t>(fd)];
  lines_here->busy = true;
  try {
    const std::lock_guard lock(s.mutex);
    if (s.active == nullptr) {
      write_all(fd, line.take_text());  // begun while there was a capture
      write_all(fd, piece);
    } else {
      if (s.active->echo) write_all(s.active->real, piece);
      line.take(s.active->to, piece, current_context(), false);
    }
  } catch (...) {  // no memory: C code cannot be thrown at
    write_all(fd, piece);
  }
  lines_here->busy = false;
}

// --- stdio and iostreams --------------------------------------------------------------------------------------------

ssize_t write_cookie(void* cookie, const char* data, std::size_t size) {
  printed(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), {data, size});
  return static_cast<ssize_t>(size);
}

std::FILE* file_for(int fd) {
  cookie_io_functions_t functions{};
  functions.write = write_cookie;
  std::FILE* f = ::fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), "w", functions);
  if (f != nullptr) std::setvbuf(f, nullptr, _IONBF, 0);  // each call is handed over whole, on its own thread
  return f;
}

class stream_buffer final : public std::streambuf {
 public:
  explicit stream_buffer(int fd) noexcept : fd_(fd) {}

 protected:
  std::streamsize xsputn(const char* s, std::streamsize n) override {
    printed(fd_, {s, static_cast<std::size_t>(n)});
    return n;
  }
  int_type overflow(int_type c) override {
    if (c == traits_type::eof()) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    printed(fd_, {&one, 1});
    return c;
  }

 private:
  int fd_;
};
stream_buffer& buffer_of(int fd) {
  static auto& out = *new stream_buffer(1);
  static auto& err = *new stream_buffer(2);
  return fd == 1 ? out : err;
}

void replace_streams(capture::state& s) {
  if (s.fd == 1) {
    s.former_file = std::exchange(stdout, slot_of(1).file);
    s.former_buffers[0] = std::cout.rdbuf(&buffer_of(1));
  } else {
    s.former_file = std::exchange(stderr, slot_of(2).file);
    s.former_buffers = {std::cerr.rdbuf(&buffer_of(2)), std::clog.rdbuf(&buffer_of(2))};
  }
}
void put_streams_back(const capture::state& s) {
  if (s.fd == 1) {
    stdout = s.former_file;
    std::cout.rdbuf(s.former_buffers[0]);
  } else {
    stderr = s.former_file;
    std::cerr.rdbuf(s.former_buffers[0]);
    std::clog.rdbuf(s.former_buffers[1]);
  }
}

// --- fork -----------------------------------------------------------------------------------------------------------

void before_fork() {
  slot_of(1).mutex.lock();
  slot_of(2).mutex.lock();
}
void after_fork() {
  slot_of(2).mutex.unlock();
  slot_of(1).mutex.unlock();
}
// Nobody reads the pipe for the child: its descriptor is the real one again.
void after_fork_in_child() {
  for (const int fd : {1, 2}) {
    if (const capture::state* s = slot_of(fd).active) ::dup2(s->real, fd);
  }
  after_fork();
}
void watch_forks() {
  [[maybe_unused]] static const int once = ::pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

error cannot(std::string_view stream, std::string_view why) {
  return error{"cannot capture " + std::string(stream) + ": " + std::string(why)};
}

}  // namespace

// --- the pipe -------------------------------------------------------------------------------------------------------

void capture::state::read_pipe() {
  line_builder line;
  std::array<char, 65536> piece;
  constexpr std::size_t at_most = 256 * 1024;  // after the end: what a pipe holds, and not what others go on writing
  std::size_t after_end = 0;
  for (bool ending = false; after_end < at_most;) {
    pollfd ready[] = {{pipe, POLLIN, 0}, {stop, POLLIN, 0}};
    ::poll(ready, 2, ending ? 0 : -1);
    ending = ending || ready[1].revents != 0;
    if (ready[0].revents == 0) {
      if (ending) break;
      continue;
    }
    const ssize_t n = ::read(pipe, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    const std::string_view text{piece.data(), static_cast<std::size_t>(n)};
    if (ending) after_end += text.size();
    if (echo) write_all(real, text);
    line.take(to, text, opened_in, true);
  }
  line.finish(to);
}

// --- life -----------------------------------------------------------------------------------------------------------

capture::capture(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
capture::capture(capture&&) noexcept = default;

result<capture> capture::start(standard_stream which, capture_options o) {
  const int fd = static_cast<int>(which);
  const std::string_view name = fd == 1 ? "stdout" : "stderr";
  watch_forks();
  std::unique_ptr<state> s(
      new state{.fd = fd, .to = {log_source(o.module), o.level, name}, .echo = o.echo, .opened_in = current_context()});
  slot& here = slot_of(fd);
  const std::lock_guard lock(here.mutex);
  if (here.active != nullptr) return cannot(name, "another capture of it is open. End that one first.");
  if (here.file == nullptr) here.file = file_for(fd);
  int ends[2] = {-1, -1};
  s->real = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  s->stop = ::eventfd(0, EFD_CLOEXEC);
  if (here.file == nullptr || s->real < 0 || s->stop < 0 || ::pipe2(ends, O_CLOEXEC) != 0) {
    return cannot(name, std::string(std::strerror(errno)) +  // NOLINT(concurrency-mt-unsafe): glibc's is
                            ". Check that the descriptor is open, and the limit on open files (ulimit -n).");
  }
  s->pipe = ends[0];
  std::fflush(fd == 1 ? stdout : stderr);
  fd == 1 ? std::cout.flush() : std::cerr.flush();
  detail::stand_in_for(fd, s->real);
  ::dup2(ends[1], fd);  // without O_CLOEXEC: programs started meanwhile write into the pipe too
  ::close(ends[1]);
  s->reader = std::thread(&state::read_pipe, s.get());
  here.active = s.get();
  replace_streams(*s);
  return capture(std::move(s));
}

capture::~capture() {
  if (state_ == nullptr) return;  // moved from
  state& s = *state_;
  slot& here = slot_of(s.fd);
  {
    const std::lock_guard lock(here.mutex);
    put_streams_back(s);
    if (lines_here) lines_here->of[static_cast<std::size_t>(s.fd)].finish(s.to);
    here.active = nullptr;
    ::dup2(s.real, s.fd);
  }
  if (s.process == ::getpid()) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t told = ::write(s.stop, &one, sizeof one);
    s.reader.join();
  } else {
    s.reader.detach();
  }
  detail::stand_in_for(s.fd, -1);
}

}  // namespace telltale
