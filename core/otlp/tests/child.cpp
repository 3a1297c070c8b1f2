// A program whose records go out while it ends, forks, dies, or its clock is set: child MODE. Its sinks come from the
// environment.
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("child");
using namespace telltale::literals;

namespace {

std::atomic<std::int64_t> clock_set_by{0};  // seconds

void record(int n) {
  for (int i = 0; i < n; ++i) {
    TELLTALE_SPAN("span", "n"_a = i);
    TELLTALE_INFO("line");
  }
}

// The child of a fork: what it records is its own, and what its parent had not sent yet is its parent's.
int forked(int records) {
  record(20);
  const pid_t child = ::fork();
  if (child == 0) {
    record(records);
    std::exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  record(20);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Somebody sets the clock forth and back, between spans and within one.
int set_clock() {
  record(20);
  {
    TELLTALE_SPAN("across");
    clock_set_by = 3600;
    ::usleep(600'000);  // the drain looks at the clock twice a second
  }
  record(20);
  clock_set_by = -3600;
  ::usleep(600'000);
  record(20);
  return 0;
}

// Dies with a span open, and with records that nobody has taken.
int aborted() {
  record(20);
  TELLTALE_SPAN("open");
  ::usleep(300'000);
  std::abort();
}

}  // namespace

// Instead of the C library's, for every library here.
extern "C" int clock_gettime(clockid_t which, timespec* to) noexcept {
  const long done = ::syscall(SYS_clock_gettime, which, to);
  if (done == 0 && which == CLOCK_REALTIME) to->tv_sec += clock_set_by.load();
  return static_cast<int>(done);
}

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "exit") record(200);
  if (mode == "fork") return forked(20);
  if (mode == "fork_silent") return forked(0);
  if (mode == "set_clock") return set_clock();
  if (mode == "abort") return aborted();
  if (mode == "flood") record(20'000);
  return 0;
}
