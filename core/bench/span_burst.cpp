// What a span costs beside its floor, in a process that does nothing else: `core_span_burst BURSTS` prints a line for
// each burst with nanoseconds per call: the floor, a span in the same loop, a span in a function of its own. What else
// is compiled into a program changes where g++ puts the span's code: up to a third of its time.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "core/bench/floors.hpp"
#include "core/bench/paired.hpp"
#include "core/bench/parked_drain.hpp"

TELLTALE_MODULE("bench");
using namespace telltale::literals;

namespace {

constexpr int chunk = 4000;  // half of what a default ring takes

[[gnu::noinline]] void called_span(std::uint64_t n, std::uint64_t m) {
  TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42");
}

template <class F>
double parked(telltale::bench::parked_drain& drain, F span) {
  drain.park();
  double ns = 0;
  {
    TELLTALE_SPAN("parent");
    ns = telltale::bench::timed(span, chunk);
  }
  drain.release();
  return ns;
}

}  // namespace

int main(int argc, char** argv) {
  const int bursts = argc > 1 ? std::atoi(argv[1]) : 51;
  telltale::options o;
  o.sinks = "none";
  o.overhead = 0;  // each span, however many
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  const auto drain = std::make_shared<telltale::bench::parked_drain>();
  telltale::add_sink(drain);
  {
    telltale::bench::floor_ring floor;
    for (int k = 0; k < bursts; ++k) {
      const auto m = static_cast<std::uint64_t>(k);
      floor.read_back();
      std::cout << telltale::bench::timed([&](std::uint64_t n) { floor.span(n, m); }, chunk) << ' '
                << parked(*drain,
                          [&](std::uint64_t n) {
                            TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42");
                          })
                << ' ' << parked(*drain, [&](std::uint64_t n) { called_span(n, m); }) << '\n';
    }
  }
  telltale::remove_sink(drain);
  if (telltale::stats().dropped_total() != 0) {
    std::cerr << "records were dropped: the figures are not those of spans\n";
    return 1;
  }
  return 0;
}
