// ./bench core: what a record costs, against the same written by hand in the same run. Chunks of both alternate, and a
// ratio is the median over the pairs, so that a slow moment of the machine falls on both sides.

#include <iostream>
#include <string>
#include <telltale/core/sink.hpp>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "core/bench/figures.hpp"
#include "core/bench/floors.hpp"
#include "core/bench/medians.hpp"
#include "core/bench/paired.hpp"
#include "core/bench/parked_drain.hpp"
#include "core/bench/report.hpp"

TELLTALE_MODULE("bench");

using namespace telltale::literals;
using telltale::bench::paired;
using telltale::bench::ratio_at_most;
using telltale::bench::spread_of;
using telltale::bench::timed;
using telltale::bench::value_at_most;

namespace {

constexpr int pairs = 201;
constexpr int chunk = 4000;  // half of what a default ring takes

[[gnu::noinline]] void our_span(std::uint64_t n, std::uint64_t m) {
  TELLTALE_SPAN("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42");
}
[[gnu::noinline]] void our_line(std::uint64_t n, std::uint64_t m) {
  TELLTALE_INFO("msm", "n"_a = n, "m"_a = m, "device"_a = "cuda:0 stream 42");
}

paired burst_of_lines(telltale::bench::parked_drain& drain, telltale::bench::floor_ring& floor) {
  paired p;
  for (int k = 0; k < pairs; ++k) {
    const auto m = static_cast<std::uint64_t>(k);
    floor.read_back();
    p.floor.push_back(timed([&](std::uint64_t n) { floor.line(n, m); }, chunk));
    drain.park();
    {
      TELLTALE_SPAN("parent");
      p.ours.push_back(timed([&](std::uint64_t n) { our_line(n, m); }, chunk));
    }
    drain.release();
  }
  return p;
}

// One thread and then two at once, each with a ring of its own.
paired burst_on_two_threads(telltale::bench::parked_drain& drain) {
  paired p;
  const auto burst = [] {
    TELLTALE_SPAN("parent");
    return timed([](std::uint64_t n) { our_span(n, n); }, chunk);
  };
  for (int k = 0; k < pairs; ++k) {
    drain.park();
    p.floor.push_back(burst());
    drain.release();
    drain.park();
    std::atomic<int> ready{0};
    double other = 0;
    std::thread second([&] {
      our_span(0, 0);  // attaches
      ++ready;
      while (ready != 2) {
      }
      other = burst();
    });
    ++ready;
    while (ready != 2) {
    }
    const double mine = burst();
    second.join();
    p.ours.push_back((mine + other) / 2);
    drain.release();
  }
  return p;
}

paired span_off() {
  paired p;
  (void)telltale::set_trace_filter("off");
  our_span(0, 0);
  for (int k = 0; k < pairs; ++k) {
    p.floor.push_back(timed([](std::uint64_t n) { asm volatile("" : : "r"(n) : "memory"); }, 100'000));
    p.ours.push_back(timed(
        [](std::uint64_t n) {
          asm volatile("" : : "r"(n) : "memory");
          TELLTALE_SPAN("off", "n"_a = n, "m"_a = n, "device"_a = "cuda:0 stream 42");
        },
        100'000));
  }
  (void)telltale::set_trace_filter("info");
  return p;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = telltale::bench::parse_options(argc, argv);
  telltale::options o;
  o.sinks = "none";
  o.overhead = 0;  // each span, however many
  if (const auto started = telltale::start(o); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  telltale::bench::report report("core");

  report.add({.name = "span off, above an empty loop",
              .value = span_off().difference(),
              .unit = "ns",
              .bar = value_at_most(0.7)});
  telltale::bench::add_instruction_figures(report);
  telltale::bench::add_span_figures(report);
  {
    const auto drain = std::make_shared<telltale::bench::parked_drain>();
    telltale::add_sink(drain);
    telltale::bench::floor_ring floor;
    const std::uint64_t dropped = telltale::stats().dropped_total();
    report.add(burst_of_lines(*drain, floor)
                   .as_figure("enabled line, 3 attributes, burst", "one rdtsc and 128 bytes", ratio_at_most(1.43)));
    report.add(
        burst_on_two_threads(*drain).as_figure("enabled span, two threads at once", "one thread", ratio_at_most(1.10)));
    report.add({.name = "records dropped in the bursts",
                .value = static_cast<double>(telltale::stats().dropped_total() - dropped),
                .unit = "",
                .bar = value_at_most(0)});
    telltale::remove_sink(drain);
  }
  telltale::bench::add_spdlog_figures(report);
  telltale::bench::add_lttng_figures(report);
  telltale::bench::add_metric_figures(report);
  telltale::bench::add_sustained_figures(report);
  telltale::bench::add_end_to_end_figures(report);
  telltale::bench::add_memory_figures(report);
  telltale::bench::add_otlp_figures(report);
  telltale::bench::add_governor_figures(report);
  telltale::bench::add_flight_figures(report);
  telltale::bench::add_compile_time_figures(report);
  return report.finish(options, std::cout);
}
