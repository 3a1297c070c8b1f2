// Prints the process's anonymous memory in KiB, once after the first million spans and once after each further ten
// million: `core_steady_memory MILLIONS`. The spans go to JSON lines, and none is lost.
#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <telltale/core/telltale.hpp>

TELLTALE_MODULE("bench");
using namespace telltale::literals;

namespace {

[[gnu::noinline]] void span(std::uint64_t n) {
  TELLTALE_SPAN("msm", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
}

void record(int millions) {
  for (int i = 0; i < millions * 1'000'000; ++i) span(static_cast<std::uint64_t>(i));
  telltale::flush(std::chrono::seconds(60));
}

// What is held: the allocator gives back first what it only keeps for later.
void print_memory() {
  ::malloc_trim(0);
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) std::cout << std::stol(line.substr(8)) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int millions = argc > 1 ? std::atoi(argv[1]) : 100;
  telltale::options o;
  o.overflow = telltale::overflow_policy::block;
  o.sinks = "json:/dev/null?overflow=block";
  o.overhead = 0;  // each span, however many
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  record(1);
  print_memory();
  for (int done = 0; done < millions; done += 10) {
    record(10);
    print_memory();
  }
  return telltale::stats().dropped_total() == 0 ? 0 : 1;
}
