// What a span costs a whole process on its way to JSON lines: `core_json_lines CHUNKS` prints a line for each chunk
// with nanoseconds of processor time per span: a hand-written writer, then ours with nothing lost.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <x86intrin.h>

#include <cstdlib>
#include <iostream>
#include <telltale/core/telltale.hpp>

#include "core/bench/json_floor.hpp"

TELLTALE_MODULE("bench");
using namespace telltale::literals;

namespace {

constexpr int spans = 100'000;

double process_cpu_ns() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto ns = [](const timeval& t) {
    return 1e9 * static_cast<double>(t.tv_sec) + 1e3 * static_cast<double>(t.tv_usec);
  };
  return ns(u.ru_utime) + ns(u.ru_stime);
}

void by_hand(int null) {
  telltale::bench::json_floor out(null);
  for (std::uint64_t i = 0; i < spans; ++i) {
    const std::uint64_t begin = __rdtsc();
    asm volatile("" ::: "memory");
    out.span(i, begin, __rdtsc(), i, i, "cuda:0 stream 42");
  }
}

[[gnu::noinline]] void our_span(std::uint64_t n, std::uint64_t m) {
  TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42");
}

void ours() {
  {
    TELLTALE_SPAN("parent");
    for (std::uint64_t i = 0; i < spans; ++i) our_span(i, i);
  }
  telltale::flush(std::chrono::seconds(20));
}

}  // namespace

int main(int argc, char** argv) {
  const int chunks = argc > 1 ? std::atoi(argv[1]) : 11;
  telltale::options o;
  o.overflow = telltale::overflow_policy::block;
  o.sinks = "json:/dev/null?overflow=block";  // a file that takes everything
  o.overhead = 0;                             // each span, however many
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (int k = 0; k < chunks; ++k) {
    const double before = process_cpu_ns();
    by_hand(null);
    const double between = process_cpu_ns();
    ours();
    std::cout << (between - before) / spans << ' ' << (process_cpu_ns() - between) / spans << '\n';
  }
  ::close(null);
  const telltale::statistics now = telltale::stats();
  if (now.dropped_total() + now.sink_dropped + now.sink_errors != 0) {
    std::cerr << "records were lost: the figures are not those of spans\n";
    return 1;
  }
  return 0;
}
