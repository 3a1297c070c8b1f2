// Exponential histograms: indices, windows, halving and merging, against the same computed another way.
#include "metrics/exponential.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <telltale/core/histogram.hpp>
#include <thread>

#include "snapshot.hpp"

using namespace telltale::detail;
using namespace telltale::testing;

namespace {

// A value's bucket by the definition, in long double: base^index < v <= base^(index + 1).
long double bound(std::int64_t index, std::int32_t scale) {
  return std::exp2(std::ldexp(static_cast<long double>(index), -scale));
}

std::vector<double> values(std::uint64_t seed, int count, double lowest_exponent, double highest_exponent) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(lowest_exponent, highest_exponent);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(std::exp2(exponent(random)));
  return out;
}

TEST(ExponentialIndex, LiesBetweenItsBounds) {
  for (std::int32_t scale = min_scale; scale <= max_scale; ++scale) {
    for (const double v : values(1, 2000, -1000, 1000)) {
      const std::int32_t i = exponential_index(v, scale);
      // Where the scale is fine a value within a rounding error of a bound may lie on either side.
      const long double slack = scale > 0 ? 4e-13L : 0;
      ASSERT_LT(bound(i, scale) * (1 - slack), static_cast<long double>(v)) << v << " at scale " << scale;
      ASSERT_GE(bound(i + 1, scale) * (1 + slack), static_cast<long double>(v)) << v << " at scale " << scale;
    }
  }
}

TEST(ExponentialIndex, IsExactForPowersOfTwo) {
  for (std::int32_t scale = 0; scale <= max_scale; ++scale) {
    for (int e = -1074; e <= 1023; ++e) {
      const double v = std::ldexp(1.0, e);
      ASSERT_EQ(exponential_index(v, scale), e * (1 << scale) - 1) << "2^" << e << " at scale " << scale;
    }
  }
  for (std::int32_t down = 1; down <= 10; ++down) {
    for (int e = -1074; e <= 1023; ++e) {
      // ceil(e / 2^down) - 1, by division
      const auto expected = static_cast<std::int32_t>(std::ceil(std::ldexp(static_cast<double>(e), -down))) - 1;
      ASSERT_EQ(exponential_index(std::ldexp(1.0, e), -down), expected) << "2^" << e << " at scale " << -down;
    }
  }
}

TEST(ExponentialIndex, OfAPairIsTheIndexOneScaleCoarser) {
  for (std::int32_t scale = min_scale; scale < max_scale; ++scale) {
    for (const double v : values(2, 1000, -1000, 1000)) {
      ASSERT_LE(std::abs((exponential_index(v, scale + 1) >> 1) - exponential_index(v, scale)), scale >= 0 ? 1 : 0);
    }
  }
}

TEST(ExponentialIndex, TakesTheEndsOfTheRange) {
  const double smallest = std::numeric_limits<double>::denorm_min();
  const double largest = std::numeric_limits<double>::max();
  EXPECT_EQ(exponential_index(smallest, 0), -1075);
  EXPECT_EQ(exponential_index(largest, 0), 1023);
  EXPECT_EQ(exponential_index(largest, max_scale), 1024 * (1 << 20) - 1);
  EXPECT_EQ(exponential_index(smallest, min_scale), -2);
  EXPECT_EQ(exponential_index(largest, min_scale), 0);
}

// What a histogram of `all` must show: the finest scale at which 160 buckets suffice, reached by halving from 20, and
// in each bucket the values whose index at scale 20 leads there.
void expect_holds(const telltale::exponential_buckets& b, std::int32_t scale, const std::vector<double>& all) {
  std::map<std::int32_t, std::uint64_t> expected;
  for (const double v : all) ++expected[exponential_index(v, max_scale) >> (max_scale - scale)];
  std::map<std::int32_t, std::uint64_t> shown;
  for (std::size_t i = 0; i < b.counts.size(); ++i) {
    if (b.counts[i] != 0) shown[b.offset + static_cast<std::int32_t>(i)] = b.counts[i];
  }
  // A value next to a bound may have been put on the other side of it where it came in at a coarser scale.
  std::uint64_t sum = 0;
  for (const auto& [index, n] : shown) sum += n;
  EXPECT_EQ(sum, all.size());
  std::uint64_t moved = 0;
  for (const auto& [index, n] : expected) moved += n > shown[index] ? n - shown[index] : 0;
  EXPECT_LE(moved, all.size() / 1000);
  EXPECT_LE(b.counts.size(), 160u);
}

std::int32_t finest_scale(const std::vector<double>& all) {
  std::int32_t low = INT32_MAX;
  std::int32_t high = INT32_MIN;
  for (const double v : all) {
    low = std::min(low, exponential_index(v, max_scale));
    high = std::max(high, exponential_index(v, max_scale));
  }
  std::int32_t scale = max_scale;
  while ((high >> (max_scale - scale)) - (low >> (max_scale - scale)) >= 160) --scale;
  return scale;
}

telltale::exponential_point point_of(const std::vector<metric_cell>& cells) {
  telltale::exponential_point p;
  p.scale = max_scale;
  add_exponential(p, cells.data());
  return p;
}

TEST(ExponentialCells, KeepEveryValueAtTheFinestScaleThatFits) {
  struct range {
    double low, high;
  };
  for (const auto [low, high] : {range{0, 0.0001}, range{-1, 1}, range{-10, 10}, range{-300, 5}, range{-1022, 1023}}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<double> all = values(seed, 2000, low, high);
      std::vector<metric_cell> cells(exponential_cells);
      for (const double v : all) record_exponential(cells.data(), v);
      const telltale::exponential_point p = point_of(cells);
      EXPECT_EQ(p.count, all.size());
      EXPECT_EQ(p.scale, finest_scale(all));
      expect_holds(p.positive, p.scale, all);
      EXPECT_TRUE(p.negative.counts.empty());
    }
  }
}

TEST(ExponentialCells, KeepNegativeValuesAndZeros) {
  std::vector<metric_cell> cells(exponential_cells);
  const std::vector<double> all = values(3, 500, -4, 4);
  for (const double v : all) record_exponential(cells.data(), -v);
  for (int i = 0; i < 7; ++i) record_exponential(cells.data(), i % 2 == 0 ? 0.0 : -0.0);
  record_exponential(cells.data(), 3);
  const telltale::exponential_point p = point_of(cells);
  EXPECT_EQ(p.zero_count, 7u);
  EXPECT_EQ(p.count, 508u);
  expect_holds(p.negative, p.scale, all);
  EXPECT_EQ(p.positive.counts, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(p.positive.offset, exponential_index(3, p.scale));
}

TEST(ExponentialCells, OfTwoThreadsMergeAsIfOneHadRecordedAll) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> middle(-40, 40);
    std::uniform_real_distribution<double> width(0.001, 30);
    std::vector<double> all;
    telltale::exponential_point merged;
    merged.scale = max_scale;
    for (int thread = 0; thread < 3; ++thread) {
      const double m = middle(random);
      const double w = width(random);
      const std::vector<double> some = values(seed * 3 + static_cast<std::uint64_t>(thread), 300, m - w, m + w);
      std::vector<metric_cell> cells(exponential_cells);
      for (const double v : some) record_exponential(cells.data(), v);
      add_exponential(merged, cells.data());
      all.insert(all.end(), some.begin(), some.end());
    }
    EXPECT_EQ(merged.count, all.size());
    EXPECT_EQ(merged.scale, finest_scale(all));
    expect_holds(merged.positive, merged.scale, all);
  }
}

TEST(ExponentialHistograms, AreReadWholeWhileThreadsHalveTheirResolution) {
  static constinit telltale::exponential_histogram h{"test.exponential", "", "s"};
  constexpr int per_thread = 20'000;
  std::atomic<int> running{3};
  std::vector<std::thread> writers;
  for (int t = 0; t < 3; ++t) {
    writers.emplace_back([&, t] {
      const std::vector<double> mine = values(static_cast<std::uint64_t>(t), per_thread, -0.01, 0.01);
      for (int i = 0; i < per_thread; ++i) {
        h.record(std::pow(mine[static_cast<std::size_t>(i)], i / 20.0));  // ever wider
      }
      --running;
    });
  }
  std::uint64_t before = 0;
  while (running != 0) {
    const telltale::metric_snapshot s = telltale::snapshot_metrics();
    const telltale::metric* m = find_metric(s, "test.exponential");
    if (m == nullptr) continue;
    const telltale::exponential_point& p = m->exponentials.at(0);
    std::uint64_t sum = p.zero_count;
    for (const std::uint64_t n : p.positive.counts) sum += n;
    ASSERT_EQ(sum, p.count);
    ASSERT_GE(p.count, before);
    ASSERT_LE(p.positive.counts.size(), 160u);
    before = p.count;
  }
  for (auto& t : writers) t.join();
  const telltale::metric m = metric_named("test.exponential");
  EXPECT_EQ(m.kind, telltale::metric_kind::exponential_histogram);
  EXPECT_EQ(m.exponentials.at(0).count, 3u * per_thread);
}

TEST(ExponentialBound, IsWhereTheIndexChanges) {
  for (std::int32_t scale = -10; scale <= 4; ++scale) {
    for (std::int32_t index = -64 >> std::max(0, -scale); index <= 64 >> std::max(0, -scale); ++index) {
      const double b = exponential_bound(index, scale);
      EXPECT_NEAR(static_cast<double>(bound(index, scale) / static_cast<long double>(b)), 1, 1e-14);
      EXPECT_EQ(exponential_index(std::nextafter(b * (1 + 1e-12), b * 2), scale), index);
      EXPECT_EQ(exponential_index(b * (1 - 1e-12), scale), index - 1);
    }
  }
}

}  // namespace
