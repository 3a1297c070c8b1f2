// Prints nanoseconds per span of bursts, the drain parked: `core_flight_burst BURSTS`. Whether the rings lie in a file
// is said by TELLTALE_FLIGHT.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "core/bench/paired.hpp"
#include "core/bench/parked_drain.hpp"

TELLTALE_MODULE("bench");
using namespace telltale::literals;

namespace {

[[gnu::noinline]] void span(std::uint64_t n) {
  TELLTALE_SPAN("msm", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
}

}  // namespace

int main(int argc, char** argv) {
  const int bursts = argc > 1 ? std::atoi(argv[1]) : 51;
  telltale::options o;
  if (auto from = telltale::options::from_environment()) o = *from;
  o.sinks = "none";
  o.overhead = 0;  // each span, however many
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  const auto drain = std::make_shared<telltale::bench::parked_drain>();
  telltale::add_sink(drain);
  for (int k = 0; k < bursts; ++k) {
    drain->park();
    {
      TELLTALE_SPAN("parent");
      std::cout << telltale::bench::timed(span, 4000) << '\n';
    }
    drain->release();
  }
  telltale::remove_sink(drain);
  return 0;
}
