#include "core/bench/medians.hpp"

#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

namespace {

void counts(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(state.iterations());
  state.counters["things"] = 7;
}
BENCHMARK(counts)->Arg(16)->MinTime(0.001);

void stops(benchmark::State& state) {
  state.SkipWithError("no device");
}
BENCHMARK(stops);

TEST(Medians, TheMiddleOfOddAndEvenNumbersOfSamples) {
  const auto odd = telltale::bench::spread_of({3, 1, 2});
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.low, 1);
  EXPECT_EQ(odd.high, 3);
  EXPECT_EQ(odd.count, 3U);
  EXPECT_EQ(telltale::bench::spread_of({4, 1, 3, 2}).median, 2.5);
}

TEST(Medians, EveryBenchmarkIsRunNineTimesAndFoundByItsName) {
  const auto medians = telltale::bench::run_benchmarks({.repetitions = 3, .min_seconds = 0.001});
  ASSERT_EQ(medians.size(), 1U) << "a benchmark that stops is left out";
  const auto& m = medians.at("counts/16");
  EXPECT_EQ(m.nanoseconds.count, 9U);
  EXPECT_GT(m.nanoseconds.median, 0);
  EXPECT_LE(m.nanoseconds.low, m.nanoseconds.median);
  EXPECT_EQ(m.counters.at("things").median, 7);
}

}  // namespace
