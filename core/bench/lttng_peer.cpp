// core_lttng_peer off|on: an LTTng-UST tracepoint beside our line, in alternating chunks. Prints two numbers, ours and
// LTTng's, in nanoseconds per call. A program of its own, since LTTng starts threads in every program it is linked to.
#include <algorithm>
#include <iostream>
#include <string_view>
#include <telltale/core/telltale.hpp>

#include "core/bench/lttng_provider.h"
#include "core/bench/paired.hpp"

TELLTALE_MODULE("bench");

using namespace telltale::literals;
using telltale::bench::spread_of;
using telltale::bench::timed;

namespace {

constexpr int pairs = 101;

int off() {
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int k = 0; k < pairs; ++k) {
    theirs.push_back(timed(
        [](std::uint64_t n) {
          asm volatile("" : : "r"(n) : "memory");
          tracepoint(telltale_bench, msm, n, n, "cuda:0 stream 42");
        },
        100'000));
    ours.push_back(timed(
        [](std::uint64_t n) {
          asm volatile("" : : "r"(n) : "memory");
          TELLTALE_DEBUG("msm", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
        },
        100'000));
  }
  std::cout << spread_of(ours).median << ' ' << spread_of(theirs).median << '\n';
  return 0;
}

int on() {
  if (!tracepoint_enabled(telltale_bench, msm)) {
    std::cout << "no session has switched the tracepoint on\n";
    return 3;
  }
  std::vector<double> ours;
  std::vector<double> theirs;
  for (int k = 0; k < pairs; ++k) {
    theirs.push_back(timed([](std::uint64_t n) { tracepoint(telltale_bench, msm, n, n, "cuda:0 stream 42"); }, 1000));
    ours.push_back(timed(
        [](std::uint64_t n) { TELLTALE_INFO("msm", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42"); }, 1000));
    telltale::flush();
  }
  std::cout << spread_of(ours).median << ' ' << spread_of(theirs).median << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  telltale::options o;
  o.sinks = "none";
  o.overhead = 0;  // each span, however many
  if (argc != 2 || !telltale::start(o)) return 2;
  return std::string_view{argv[1]} == "on" ? on() : off();
}
