// Runs the registered Google Benchmarks in this process and gives the median of each.
//
//   BENCHMARK(span_off); BENCHMARK(bare_load);
//   const auto medians = telltale::bench::run_benchmarks();
//   medians.at("span_off").nanoseconds.median / medians.at("bare_load").nanoseconds.median
//
// Repetitions of all benchmarks are shuffled, so that a slow minute of the machine falls on both sides of a ratio.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace telltale::bench {

struct spread {
  double median = 0;
  double low = 0;
  double high = 0;
  std::size_t count = 0;
};
// Of at least one sample.
spread spread_of(std::vector<double> samples);

struct measured {
  spread nanoseconds;                      // real time per iteration
  spread cpu_nanoseconds;                  // the measuring thread's CPU time per iteration
  std::map<std::string, spread> counters;  // the benchmark's own
};

struct run_options {
  std::string filter = ".";   // a regular expression over the benchmarks' names
  int repetitions = 9;        // fewer than 9 is raised to 9
  double min_seconds = 0.05;  // per repetition
};

// By name, as Google Benchmark writes it ("msm/4096"). A benchmark that skips with an error is missing here, and its
// message is on stderr. Call it once, from main: Google Benchmark keeps its settings in globals.
std::map<std::string, measured> run_benchmarks(const run_options& options = {});

}  // namespace telltale::bench
