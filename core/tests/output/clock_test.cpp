// Ticks to time, against a simulated pair of clocks.
#include "clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

using telltale::detail::clock_sample;
using telltale::detail::tick_converter;

namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t start_ns = 1'778'273'112 * second;
constexpr std::uint64_t start_ticks = std::uint64_t{1} << 46;

// A counter at `rate` ticks per nanosecond, and a wall clock that somebody may have moved.
struct machine {
  double rate = 2.0;
  std::int64_t elapsed = 0;
  std::int64_t moved = 0;
  double ticks = 0;
  void run(std::int64_t ns) {
    elapsed += ns;
    ticks += static_cast<double>(ns) * rate;
  }
  clock_sample now() const { return {start_ticks + static_cast<std::uint64_t>(ticks), start_ns + elapsed + moved}; }
};

TEST(TickConverter, GivesWallTimeWithTheRightRate) {
  machine m;
  const tick_converter c(m.now(), 2.0);
  m.run(3 * second);
  EXPECT_EQ(c.to_ns(m.now().ticks), start_ns + 3 * second);
  EXPECT_EQ(c.to_ns(start_ticks), start_ns);
  EXPECT_EQ(c.to_ns(start_ticks - 2000), start_ns - 1000) << "a record made before the first sample";
}

TEST(TickConverter, WorksOffAnErrorOfTheFirstRateWithoutAJump) {
  machine m;
  tick_converter c(m.now(), 2.0 * 1.001);  // a permille off
  std::int64_t last = c.to_ns(m.now().ticks);
  for (int i = 0; i < 60; ++i) {
    for (int k = 0; k < 10; ++k) {
      m.run(second / 20);
      const std::int64_t now = c.to_ns(m.now().ticks);
      ASSERT_GT(now, last);
      last = now;
    }
    const std::int64_t before = c.to_ns(m.now().ticks);
    c.correct(m.now());
    ASSERT_LE(std::abs(c.to_ns(m.now().ticks) - before), 1) << "a correction leans, it does not step";
  }
  EXPECT_LT(std::abs(c.to_ns(m.now().ticks) - m.now().wall_ns), 10'000);
  EXPECT_EQ(c.steps(), 0u);
}

TEST(TickConverter, FollowsADriftForADay) {
  machine m;
  tick_converter c(m.now(), 2.0);
  for (int i = 0; i < 24 * 3600 * 2; ++i) {
    m.rate = 2.0 * (1 + 20e-6 * std::sin(i / 5000.0));  // warm and cold
    m.run(second / 2);
    c.correct(m.now());
    if (i > 100) {
      ASSERT_LT(std::abs(c.to_ns(m.now().ticks) - m.now().wall_ns), 200'000) << i;
    }
  }
}

TEST(TickConverter, TakesOverAClockThatWasSetAndCountsIt) {
  for (const std::int64_t hour : {3600 * second, -3600 * second}) {
    machine m;
    tick_converter c(m.now(), 2.0);
    m.run(second);
    c.correct(m.now());
    const std::uint64_t before = m.now().ticks;
    m.run(second);
    m.moved = hour;
    c.correct(m.now());
    EXPECT_EQ(c.steps(), 1u);
    EXPECT_LT(std::abs(c.to_ns(m.now().ticks) - m.now().wall_ns), 1000);
    EXPECT_LT(std::abs(c.to_ns(before) - (start_ns + second)), 10'000) << "what came before keeps its time";
    m.run(second);
    c.correct(m.now());
    EXPECT_EQ(c.steps(), 1u);
  }
}

TEST(TickConverter, KeepsDurationsRightWhenTheClockIsMovedByLessThanASecond) {
  for (const std::int64_t moved : {second / 2, -second / 2, 9 * second / 10, -9 * second / 10}) {
    machine m;
    tick_converter c(m.now(), 2.0);
    m.run(second / 2);
    m.moved = moved;
    for (int i = 0; i < 400; ++i) {
      c.correct(m.now());
      const std::int64_t begin = c.to_ns(m.now().ticks);
      m.run(second / 2);
      const std::int64_t took = c.to_ns(m.now().ticks) - begin;
      ASSERT_NEAR(static_cast<double>(took), 0.5e9, 0.5e9 * 0.02) << "after " << i << " corrections, moved " << moved;
    }
    EXPECT_LT(std::abs(c.to_ns(m.now().ticks) - m.now().wall_ns), 2'000'000);
    EXPECT_EQ(c.steps(), 0u);
  }
}

TEST(TickConverter, IsMonotonicInTicksAcrossAnyCorrections) {
  std::mt19937_64 random(7);
  machine m;
  tick_converter c(m.now(), 2.0);
  std::vector<std::uint64_t> stamps;
  for (int i = 0; i < 2000; ++i) {
    stamps.push_back(m.now().ticks);
    m.run(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(second)) + 1);
    m.rate = 2.0 + static_cast<double>(random() % 100) * 1e-6;
    c.correct(m.now());
    std::int64_t last = INT64_MIN;
    for (std::size_t k = stamps.size() > 40 ? stamps.size() - 40 : 0; k < stamps.size(); ++k) {
      const std::int64_t at = c.to_ns(stamps[k]);
      ASSERT_GE(at, last);
      last = at;
    }
  }
  EXPECT_NEAR(static_cast<double>(c.to_ns(start_ticks)), static_cast<double>(start_ns), 1e6)
      << "the begin of a span that was open all the time";
}

TEST(Clock, OfThisMachineAgreesWithItself) {
  telltale::detail::choose_clock(false);
  const std::string description = telltale::detail::clock_description();
  EXPECT_TRUE(description == "tsc" || description.starts_with("monotonic (")) << description;
  telltale::detail::choose_clock(true);
  EXPECT_EQ(telltale::detail::clock_description(), "monotonic (asked for)");
  const clock_sample a = telltale::detail::sample_clocks();
  const clock_sample b = telltale::detail::sample_clocks();
  EXPECT_GE(b.ticks, a.ticks);
}

}  // namespace
