// Histograms of durations against sorting them.
#include "hub/store/durations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace telltale::hub {
namespace {

TEST(Durations, QuantilesAreNearTheRank) {
  std::mt19937_64 random(7);
  for (const double widest : {3.0, 12.0, 40.0}) {
    duration_histogram h;
    std::vector<std::int64_t> all;
    for (int i = 0; i < 20'000; ++i) {
      const auto ns = static_cast<std::int64_t>(std::exp(std::uniform_real_distribution<double>(0, widest)(random)));
      h.add(i, ns, i % 10 == 0);
      all.push_back(ns);
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(h.spans, all.size());
    EXPECT_EQ(h.errors, 2'000u);
    EXPECT_EQ(h.max_ns, all.back());
    EXPECT_EQ(h.first_ns, 0);
    EXPECT_EQ(h.last_ns, 19'999);
    for (const double q : {0.0, 0.1, 0.5, 0.95, 0.99, 0.999, 1.0}) {
      const auto exact = static_cast<double>(all[static_cast<std::size_t>(q * static_cast<double>(all.size() - 1))]);
      EXPECT_LE(std::abs(h.quantile(q) - exact), 0.016 * exact + (exact < 32 ? 0 : 1)) << q << " of e^" << widest;
    }
  }
}

TEST(Durations, AreExactBelow32) {
  duration_histogram h;
  for (std::int64_t ns = 0; ns < 32; ++ns) h.add(0, ns, false);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(h.quantile(i / 31.0), i);
}

TEST(Durations, HoldTheLongest) {
  duration_histogram h;
  h.add(0, INT64_MAX, false);
  EXPECT_NEAR(h.quantile(0.5), 9.22e18, 0.02 * 9.22e18);
  EXPECT_EQ(duration_histogram{}.quantile(0.5), 0);
}

TEST(Durations, AddUpInAnyOrder) {
  std::mt19937_64 random(8);
  durations_by_name all;
  durations_by_name parts[3];
  for (int i = 0; i < 3'000; ++i) {
    const std::string name = "n" + std::to_string(random() % 5);
    const auto kind = static_cast<std::uint8_t>(random() % 2);
    const auto ns = static_cast<std::int64_t>(random() >> (random() % 60 + 4));
    all.of(name, kind).add(i, ns, false);
    parts[i % 3].of(name, kind).add(i, ns, false);
  }
  durations_by_name sum;
  for (const int i : {2, 0, 1}) sum.add(parts[i]);
  EXPECT_EQ(sum.size(), all.size());
  all.each([&](const durations_by_name::key& k, const duration_histogram& h) {
    const duration_histogram& s = sum.of(k.name, k.kind);
    EXPECT_EQ(s.spans, h.spans);
    EXPECT_EQ(s.max_ns, h.max_ns);
    EXPECT_EQ(s.first_ns, h.first_ns);
    EXPECT_EQ(s.steps_json(), h.steps_json());
    duration_histogram read;
    EXPECT_TRUE(read.add_steps(h.steps_json()));
    EXPECT_EQ(read.steps_json(), h.steps_json());
  });
}

TEST(Durations, ReadNothingElse) {
  for (const char* bad : {"", "[", "[]x", "[[1]]", "[[1,2]", "[[1,2],]", "[[-1,2]]", "[[2048,1]]", "[[1,99999999999]]",
                          "[[1,2]][[1,2]]", "[1,2]"}) {
    duration_histogram h;
    EXPECT_FALSE(h.add_steps(bad)) << bad;
  }
  duration_histogram h;
  EXPECT_TRUE(h.add_steps("[]"));
  EXPECT_TRUE(h.steps.empty());
}

}  // namespace
}  // namespace telltale::hub
