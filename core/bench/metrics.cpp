// What counting costs, alone and on two threads, and what rendering 100,000 series costs those who count meanwhile.
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <telltale/core/counter.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/prometheus.hpp>
#include <thread>

#include "core/bench/figures.hpp"
#include "core/bench/metrics_peer.hpp"
#include "core/bench/paired.hpp"

namespace telltale::bench {

namespace {

using namespace telltale::literals;

constexpr int pairs = 51;
constexpr int chunk = 20'000;

constinit counter plain{"bench.plain", "increments without labels"};
constinit counter labelled{"bench.labelled", "increments with labels"};
constinit histogram latency{"bench.latency", "values of a histogram with the default bounds", "s"};
constinit exponential_histogram sizes{"bench.sizes", "values of an exponential histogram", "By"};

// Values over all buckets, in no order that a branch predictor could learn.
const std::vector<double>& values() {
  static const std::vector<double> all = [] {
    std::vector<double> v;
    std::uint64_t x = 1;
    for (int i = 0; i < 4096; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      v.push_back(std::exp2(static_cast<double>(x >> 40) / (1 << 24) * 13 - 9));  // 2 ms to 16 s
    }
    return v;
  }();
  return all;
}
double value(std::uint64_t i) {
  return values()[i % 4096];
}

void increment(std::uint64_t) {
  plain.add();
}

// A figure of its own, or beside a peer where there is one. Chunks alternate.
template <class F, class P>
void add(report& r, const std::string& name, F ours, const char* peer, P peers, bar limit) {
  ours(0);
  paired p;
  for (int k = 0; k < pairs; ++k) {
    p.ours.push_back(timed(ours, chunk));
    if (has_metrics_peer) p.floor.push_back(timed(peers, chunk));
  }
  r.add({.name = name, .value = spread_of(p.ours).median, .unit = "ns", .bar = limit});
  if (has_metrics_peer) {
    r.add(p.as_figure(name, peer, ratio_at_most(1)));
  } else {
    r.absent(name + " against a peer", "prometheus-cpp isn't installed");
  }
}

// Nanoseconds of this thread's processor time per increment: what the machine gives to others does not count.
double thread_ns(int calls) {
  const auto now = [] {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
  };
  const double begin = now();
  for (int i = 0; i < calls; ++i) plain.add();
  return (now() - begin) / calls;
}

paired two_threads() {
  paired p;
  constexpr int calls = 1'000'000;
  for (int k = 0; k < 21; ++k) {
    p.floor.push_back(thread_ns(calls));
    std::atomic<int> ready{0};
    double other = 0;
    const auto meet = [&] {
      ++ready;
      while (ready != 2) std::this_thread::yield();
    };
    std::thread second([&] {
      meet();
      other = thread_ns(calls);
    });
    meet();
    const double mine = thread_ns(calls);
    second.join();
    p.ours.push_back((mine + other) / 2);
  }
  return p;
}

// The longest time that 1,000 increments took, in milliseconds, until `stop`.
double longest_pause(const std::atomic<bool>& stop) {
  std::uint64_t longest = 0;
  while (!stop.load(std::memory_order_relaxed)) {
    const std::uint64_t begin = ns_now();
    for (int i = 0; i < 1000; ++i) plain.add();
    longest = std::max(longest, ns_now() - begin);
  }
  return static_cast<double>(longest) / 1e6;
}

template <class F>
double longest_pause_while(F work) {
  std::atomic<bool> stop{false};
  double longest = 0;
  std::thread writer([&] { longest = longest_pause(stop); });
  work();
  stop = true;
  writer.join();
  return longest;
}

void add_rendering(report& r) {
  static constinit counter many{"bench.many", "one of 100,000 series", "", {.max_series = 100'001}};
  for (int i = 0; i < 100'000; ++i) many.add(static_cast<std::uint64_t>(i), "job"_a = i, "kind"_a = "groth16");
  constexpr int renders = 9;
  std::vector<double> took;
  std::size_t bytes = 0;
  const auto render = [&] {
    for (int k = 0; k < renders; ++k) {
      const std::uint64_t begin = ns_now();
      bytes = render_prometheus(snapshot_metrics(), exposition::openmetrics).size();
      took.push_back(static_cast<double>(ns_now() - begin) / 1e6);
    }
  };
  render();
  r.add({.name = "100,000 series, snapshot and rendering",
         .value = spread_of(took).median,
         .unit = "ms",
         .bar = value_at_most(250)});
  r.add({.name = "100,000 series, size", .value = static_cast<double>(bytes) / 1e6, .unit = "MB"});
  // The reference works as long and touches no metric: what the machine's scheduler does to a writer beside it.
  const double spin_ms = spread_of(took).median * renders;
  const double beside_spinning = longest_pause_while([&] {
    const std::uint64_t end = ns_now() + static_cast<std::uint64_t>(spin_ms * 1e6);
    while (ns_now() < end) {
    }
  });
  r.add({.name = "longest pause of a writer meanwhile",
         .value = longest_pause_while(render),
         .unit = "ms",
         .reference = "beside a busy loop",
         .reference_value = beside_spinning,
         .bar = value_at_most(25)});
}

}  // namespace

void add_metric_figures(report& r) {
  add(r, "counter increment", increment, "prometheus-cpp", peer_increment, value_at_most(5));
  const figure both =
      two_threads().as_figure("counter increment, two threads at once", "one thread", ratio_at_most(1.1));
  r.add(both);
  const bound_counter bound = labelled.with("job"_a = 7, "kind"_a = "groth16");
  add(
      r, "labelled increment, bound", [&](std::uint64_t) { bound.add(); }, "prometheus-cpp, bound", peer_increment,
      value_at_most(5));
  add(r, "labelled increment, looked up",
      [](std::uint64_t i) { labelled.add(1, "job"_a = i % 512, "kind"_a = "groth16"); }, "prometheus-cpp, looked up",
      peer_labelled_increment, {});
  add(
      r, "histogram record, 14 bounds", [](std::uint64_t i) { latency.record(value(i)); }, "prometheus-cpp",
      [](std::uint64_t i) { peer_observe(value(i)); }, value_at_most(12));
  sizes.record(1);
  std::vector<double> exponential;
  for (int k = 0; k < pairs; ++k) {
    exponential.push_back(timed([](std::uint64_t i) { sizes.record(value(i)); }, chunk));
  }
  r.add({.name = "exponential histogram record", .value = spread_of(exponential).median, .unit = "ns"});
  add_rendering(r);
}

}  // namespace telltale::bench
