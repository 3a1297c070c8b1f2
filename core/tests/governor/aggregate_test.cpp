// Counts that add up, told where they were sampled; a sample's mean with an honest error.
#include "governor/aggregate.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace telltale::detail {
namespace {

site_info site_named(std::uint32_t id, std::string name) {
  site_info s;
  s.id = id;
  s.name = std::move(name);
  return s;
}

const site_info inner = site_named(3, "inner");
const thread_info worker{1, 100, "worker"};
call_place below(std::uint64_t parent) {
  return {{1, 2}, {parent}, nullptr};
}

TEST(Sample, HasMeanLeastAndGreatest) {
  sample_statistics s;
  for (const double v : {4.0, 8.0, 6.0}) s.add(v);
  EXPECT_EQ(s.size(), 3u);
  EXPECT_DOUBLE_EQ(s.mean(), 6.0);
  EXPECT_DOUBLE_EQ(s.least(), 4.0);
  EXPECT_DOUBLE_EQ(s.greatest(), 8.0);
  // Standard deviation 2; t(97.5 %, 2) = 4.303.
  EXPECT_NEAR(s.error(), 4.303 * 2 / std::sqrt(3.0), 1e-9);
}

TEST(Sample, OfOneValueHasNoError) {
  sample_statistics s;
  EXPECT_EQ(s.error(), 0);
  s.add(5);
  EXPECT_EQ(s.mean(), 5);
  EXPECT_EQ(s.error(), 0);
}

// Student's t at 30 and 1,000 degrees of freedom, from tables: 2.042 and 1.962.
TEST(Sample, UsesTheRightQuantileForAnySize) {
  for (const auto& [size, t] : {std::pair{31, 2.042}, {1001, 1.962}, {2, 12.706}}) {
    sample_statistics s;
    for (int i = 0; i < size; ++i) s.add(i);
    double squares = 0;
    for (int i = 0; i < size; ++i) squares += (i - s.mean()) * (i - s.mean());
    const double deviation = std::sqrt(squares / (size - 1));
    EXPECT_NEAR(s.error() / (deviation / std::sqrt(size)), t, 0.001) << size;
  }
}

// Of intervals at 95 %, about 95 in 100 hold the true mean, also for a skewed distribution and few values.
TEST(Sample, IntervalsHoldTheMeanAsOftenAsTheySay) {
  std::mt19937_64 random(1);
  std::exponential_distribution<double> durations(1.0 / 50);
  int held = 0;
  constexpr int trials = 2000;
  for (int i = 0; i < trials; ++i) {
    sample_statistics s;
    for (int k = 0; k < 100; ++k) s.add(durations(random));
    held += std::abs(s.mean() - 50) <= s.error() ? 1 : 0;
  }
  EXPECT_GT(held, trials * 92 / 100);
  EXPECT_LT(held, trials * 98 / 100);
}

TEST(Aggregates, TellCountsWhereTheSampleWasTaken) {
  aggregates a;
  a.add_sample(inner, 0, worker, below(7), {0, 1000, 500, 100, 150});
  a.add_sample(inner, 0, worker, below(7), {0, 1800, 500, 300, 360});
  a.add_sample(inner, 0, worker, below(8), {0, 2100, 500, 500, 540});
  const auto told = a.take(INT64_MAX);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].place.parent.value, 7u);
  EXPECT_EQ(told[0].calls, 1800u);
  EXPECT_EQ(told[0].durations.size(), 2u);
  EXPECT_DOUBLE_EQ(told[0].durations.mean(), 55);
  EXPECT_EQ(told[0].begin_ns, 100);
  EXPECT_EQ(told[0].end_ns, 360);
  EXPECT_EQ(told[1].place.parent.value, 8u);
  EXPECT_EQ(told[1].calls, 300u);
  EXPECT_EQ(told[1].begin_ns, 360) << "counting went on since the last sample";
  EXPECT_EQ(a.total_calls(), 2100u);
}

TEST(Aggregates, CountsWithoutASampleGoWhereTheLastOneWas) {
  aggregates a;
  a.add_sample(inner, 0, worker, below(7), {0, 1000, 500, 100, 150});
  EXPECT_EQ(a.take(INT64_MAX).size(), 1u);
  a.add_count(inner, 0, 0, worker, 1200, 900);
  const auto told = a.take(INT64_MAX);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].calls, 200u);
  EXPECT_EQ(told[0].durations.size(), 0u);
  EXPECT_EQ(told[0].place.parent.value, 7u);
  EXPECT_EQ(told[0].begin_ns, 150);
  EXPECT_EQ(told[0].end_ns, 900);
}

TEST(Aggregates, CountsBeforeTheFirstSampleGoWhereThatIs) {
  aggregates a;
  a.add_count(inner, 0, 0, worker, 300, 90);
  a.add_sample(inner, 0, worker, below(7), {0, 1000, 500, 100, 150});
  const auto told = a.take(INT64_MAX);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].calls, 1000u);
  EXPECT_EQ(told[0].place.parent.value, 7u);
  EXPECT_EQ(told[0].begin_ns, 90);
}

TEST(Aggregates, ASampleReadAfterALaterCountAddsNothingTwice) {
  aggregates a;
  a.add_count(inner, 0, 0, worker, 1200, 900);
  a.add_sample(inner, 0, worker, below(7), {0, 1000, 500, 100, 150});
  std::uint64_t sum = 0;
  for (const aggregate& g : a.take(INT64_MAX)) sum += g.calls;
  EXPECT_EQ(sum, 1200u);
  EXPECT_EQ(a.total_calls(), 1200u);
}

TEST(Aggregates, PassOverWhatWasToldBefore) {
  aggregates a;
  a.pass_over(0, 0, 1000);
  a.add_count(inner, 0, 0, worker, 1200, 900);
  EXPECT_EQ(a.total_calls(), 200u);
}

TEST(Aggregates, KeepThreadsSitesAndChancesApart) {
  aggregates a;
  const site_info other = site_named(4, "other");
  const thread_info second{2, 101, "second"};
  a.add_sample(inner, 0, worker, below(7), {0, 10, 500, 100, 150});
  a.add_sample(other, 1, worker, below(7), {0, 20, 500, 100, 150});
  a.add_sample(inner, 0, second, below(7), {1, 30, 500, 100, 150});
  a.add_sample(inner, 0, worker, below(7), {0, 40, 100, 200, 250});
  const auto told = a.take(INT64_MAX);
  ASSERT_EQ(told.size(), 4u);
  EXPECT_EQ(told[0].calls, 10u);
  EXPECT_EQ(told[1].calls, 20u);
  EXPECT_EQ(told[2].calls, 30u);
  EXPECT_EQ(told[3].calls, 30u) << "one in 100 from here on";
  EXPECT_EQ(a.calls_of(0), 70u);
  EXPECT_EQ(a.calls_of(1), 20u);
}

TEST(Aggregates, AreTakenByAge) {
  aggregates a;
  a.add_sample(inner, 0, worker, below(7), {0, 10, 500, 100, 150});
  a.add_sample(inner, 0, worker, below(8), {0, 20, 500, 300, 350});
  EXPECT_EQ(a.take(120).size(), 1u);
  EXPECT_EQ(a.take(120).size(), 0u);
  EXPECT_EQ(a.take(INT64_MAX).size(), 1u);
}

TEST(Aggregates, OfManyPlacesAreBoundedAndStillAddUp) {
  aggregates a;
  for (std::uint64_t i = 1; i <= 2000; ++i) {
    a.add_sample(inner, 0, worker, below(i),
                 {0, 10 * i, 500, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)});
  }
  std::uint64_t sum = 0;
  const auto told = a.take(INT64_MAX);
  for (const aggregate& g : told) sum += g.calls;
  EXPECT_EQ(sum, 20'000u);
  EXPECT_EQ(told.size(), 2000u);
}

}  // namespace
}  // namespace telltale::detail
