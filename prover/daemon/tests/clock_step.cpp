// Preloaded into a daemon under test: the wall clock is as many seconds off as the file CLOCK_STEP_FILE says, which the
// test changes while the daemon runs. The steady clock stays as it is.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>

namespace {

const volatile std::int64_t* offset() {
  static const auto* const mapped = [] {
    const char* name = std::getenv("CLOCK_STEP_FILE");  // NOLINT(concurrency-mt-unsafe): nobody sets it
    const int fd = name != nullptr ? ::open(name, O_RDONLY | O_CLOEXEC) : -1;
    void* p = fd >= 0 ? ::mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (fd >= 0) ::close(fd);
    return p != MAP_FAILED ? static_cast<const volatile std::int64_t*>(p) : nullptr;
  }();
  return mapped;
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* t) noexcept {
  using function = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "clock_gettime"));
  const int failed = real(clock, t);
  if (failed == 0 && clock == CLOCK_REALTIME && offset() != nullptr) t->tv_sec += *offset();
  return failed;
}
