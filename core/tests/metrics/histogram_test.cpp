// Histograms with fixed bounds.
#include <cmath>
#include <limits>
#include <random>
#include <telltale/core/histogram.hpp>
#include <thread>

#include "snapshot.hpp"

using namespace telltale::literals;
using namespace telltale::testing;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST(Histograms, PutAValueBelowOrOnItsBound) {
  static constinit telltale::histogram h{"test.bounds", "", "", {0, 1, 10}};
  for (const double v : {-5.0, 0.0, 0.5, 1.0, 1.0000001, 10.0, 10.5, 1e9}) h.record(v);
  const telltale::metric m = metric_named("test.bounds");
  EXPECT_EQ(m.kind, telltale::metric_kind::histogram);
  EXPECT_EQ(m.bounds, (std::vector<double>{0, 1, 10}));
  ASSERT_EQ(m.histograms.size(), 1u);
  EXPECT_EQ(m.histograms[0].counts, (std::vector<std::uint64_t>{2, 2, 2, 2}));
  EXPECT_EQ(m.histograms[0].count, 8u);
  EXPECT_DOUBLE_EQ(m.histograms[0].sum, -5 + 0.5 + 1 + 1.0000001 + 10 + 10.5 + 1e9);
}

TEST(Histograms, TakeTheirDefaultBoundsFromTheUnit) {
  static constinit telltale::histogram seconds{"test.seconds", "", "s"};
  static constinit telltale::histogram rows{"test.rows", "", "{row}"};
  EXPECT_EQ(seconds.bounds().values().front(), 0.005);
  EXPECT_EQ(seconds.bounds().values().back(), 10);
  EXPECT_EQ(rows.bounds().values().size(), 15u);
}

TEST(Histograms, AddUpOverThreadsAndSeries) {
  static constinit telltale::histogram h{"test.shared", "", "", {1, 2, 3}};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      const auto series = h.with("kind"_a = "bound");
      for (int i = 0; i < 3000; ++i) {
        h.record(i % 4);
        h.record(2, "kind"_a = "looked up");
        series.record(3.5);
      }
    });
  }
  for (auto& t : threads) t.join();
  const telltale::metric m = metric_named("test.shared");
  const auto& plain = with_labels(m.histograms, "");
  EXPECT_EQ(plain.counts, (std::vector<std::uint64_t>{6000, 3000, 3000, 0}));
  EXPECT_EQ(plain.sum, 4 * 750 * (0 + 1 + 2 + 3));
  EXPECT_EQ(with_labels(m.histograms, R"(kind="looked up")").counts, (std::vector<std::uint64_t>{0, 12000, 0, 0}));
  EXPECT_EQ(with_labels(m.histograms, R"(kind="bound")").counts, (std::vector<std::uint64_t>{0, 0, 0, 12000}));
}

TEST(Histograms, RefuseAndCountWhatIsNotFinite) {
  static constinit telltale::histogram h{"test.finite", "", "", {1}};
  static constinit telltale::exponential_histogram e{"test.finite.exponential", ""};
  const std::int64_t before = whole(metric_named("telltale.metric.refused"));
  for (const double v : {infinity, -infinity, std::nan("")}) {
    h.record(v);
    h.record(v, "k"_a = "v");
    e.record(v);
  }
  h.record(0.5);
  const telltale::metric m = metric_named("test.finite");
  EXPECT_EQ(with_labels(m.histograms, "").count, 1u);
  EXPECT_EQ(with_labels(m.histograms, "").sum, 0.5);
  EXPECT_EQ(whole(metric_named("telltale.metric.refused")), before + 9);
}

TEST(Histograms, RefuseBoundsThatDoNotIncrease) {
  using telltale::bucket_bounds;
  EXPECT_THROW(bucket_bounds({1, 1}), std::invalid_argument);
  EXPECT_THROW(bucket_bounds({2, 1}), std::invalid_argument);
  EXPECT_THROW(bucket_bounds({1, infinity}), std::invalid_argument);
  EXPECT_THROW(bucket_bounds({std::nan("")}), std::invalid_argument);
  EXPECT_THROW(bucket_bounds(std::span<const double>{}), std::invalid_argument);
  const std::vector<double> many(65, 1.0);
  EXPECT_THROW(bucket_bounds(std::span<const double>(many)), std::invalid_argument);
}

TEST(Histograms, FindTheBucketThatASearchThroughAllBoundsFinds) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> number(-1000, 1000);
  for (std::size_t size = 1; size <= telltale::max_bounds; ++size) {
    std::vector<double> bounds;
    while (bounds.size() < size) bounds.push_back(number(random));
    std::ranges::sort(bounds);
    const telltale::bucket_bounds b{std::span<const double>(bounds)};
    const auto check = [&](double v) {
      std::uint32_t expected = 0;
      for (const double bound : bounds) expected += bound < v ? 1 : 0;
      ASSERT_EQ(b.bucket_of(v), expected) << size << " bounds, " << v;
    };
    for (int i = 0; i < 200; ++i) check(number(random));
    for (const double bound : bounds) {
      check(bound);
      check(std::nextafter(bound, infinity));
      check(std::nextafter(bound, -infinity));
    }
    check(-1e300);
    check(1e300);
  }
}

TEST(Histograms, OfOneNameAndOtherBoundsAreAConflict) {
  static constinit telltale::histogram one{"test.two_bounds", "", "", {1, 2}};
  static constinit telltale::histogram two{"test.two_bounds", "", "", {1, 3}};
  one.record(1);
  ::testing::internal::CaptureStderr();
  two.record(1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("with two sets of bounds"), std::string::npos);
  EXPECT_EQ(metric_named("test.two_bounds").histograms[0].count, 1u);
}

}  // namespace
