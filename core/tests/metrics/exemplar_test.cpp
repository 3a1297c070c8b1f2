// Exemplars: a measurement and the span it was made in.
#include <telltale/core/counter.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/span.hpp>
#include <thread>

#include "../recorded.hpp"
#include "snapshot.hpp"

TELLTALE_MODULE("test::exemplars");

using namespace telltale::literals;
using namespace telltale::testing;

namespace {

std::int64_t now_ns() {
  return std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
}

TEST(Exemplars, NameTheSpanThatWasCurrent) {
  const recorded r;
  static constinit telltale::histogram h{"test.traced", "", "s", {1, 10}};
  static constinit telltale::counter c{"test.traced.count", ""};
  static constinit telltale::exponential_histogram e{"test.traced.exponential", "", "s"};
  const std::int64_t begin = now_ns();
  telltale::context here;
  {
    TELLTALE_SPAN("work");
    here = telltale::current_context();
    h.record(5);
    c.add(3);
    c.add(4, "k"_a = "v");
    e.record(2.5);
  }
  const auto expect_exemplar = [&](const std::vector<telltale::exemplar>& all, double value) {
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].value, value);
    EXPECT_EQ(all[0].trace, here.trace);
    EXPECT_EQ(all[0].span, here.span);
    EXPECT_GE(all[0].time_ns, begin);
    EXPECT_LE(all[0].time_ns, now_ns());
  };
  expect_exemplar(metric_named("test.traced").histograms.at(0).exemplars, 5);
  const telltale::metric counts = metric_named("test.traced.count");
  expect_exemplar(with_labels(counts.numbers, "").exemplars, 3);
  expect_exemplar(with_labels(counts.numbers, R"(k="v")").exemplars, 4);
  expect_exemplar(metric_named("test.traced.exponential").exponentials.at(0).exemplars, 2.5);
}

TEST(Exemplars, AreNotKeptWithoutASpan) {
  static constinit telltale::histogram h{"test.untraced", "", "s", {1}};
  static constinit telltale::counter c{"test.untraced.count", ""};
  h.record(0.5);
  c.add();
  EXPECT_TRUE(metric_named("test.untraced").histograms.at(0).exemplars.empty());
  EXPECT_TRUE(metric_named("test.untraced.count").numbers.at(0).exemplars.empty());
}

TEST(Exemplars, AreTheLatestOfEachBucketWhereItIsRare) {
  const recorded r;
  static constinit telltale::histogram h{"test.latest", "", "", {1, 10}};
  TELLTALE_SPAN("work");
  for (const double v : {0.25, 5.0, 100.0, 0.5, 6.0, 200.0}) h.record(v);
  const auto exemplars = metric_named("test.latest").histograms.at(0).exemplars;
  ASSERT_EQ(exemplars.size(), 3u);
  EXPECT_EQ(exemplars[0].value, 0.5);
  EXPECT_EQ(exemplars[1].value, 6);
  EXPECT_EQ(exemplars[2].value, 200);
}

TEST(Exemplars, OfABusyBucketAreRenewedEvery64th) {
  const recorded r;
  static constinit telltale::histogram h{"test.busy", "", "", {1e9}};
  TELLTALE_SPAN("work");
  for (int i = 0; i < 1000; ++i) h.record(i);
  const auto exemplars = metric_named("test.busy").histograms.at(0).exemplars;
  ASSERT_EQ(exemplars.size(), 1u);
  EXPECT_EQ(exemplars[0].value, 959);  // the 960th
}

TEST(Exemplars, AreWholeWhileManyThreadsRenewThem) {
  const recorded r;
  static constinit telltale::counter c{"test.whole", ""};
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 1; t <= 3; ++t) {
    writers.emplace_back([&stop, t] {
      telltale::context mine;
      mine.trace = {t, t};
      mine.span = {t};
      const telltale::with_context guard{mine};
      while (!stop.load(std::memory_order_relaxed)) c.add(t << 6);
    });
  }
  int seen = 0;
  while (seen < 50) {
    const telltale::metric_snapshot s = telltale::snapshot_metrics();
    const telltale::metric* m = find_metric(s, "test.whole");
    if (m == nullptr || m->numbers.empty()) continue;
    for (const telltale::exemplar& e : m->numbers[0].exemplars) {
      ASSERT_EQ(e.trace.high, e.span.value);
      ASSERT_EQ(e.trace.low, e.span.value);
      ASSERT_EQ(e.value, static_cast<double>(e.span.value << 6));
      ++seen;
    }
  }
  stop = true;
  for (auto& t : writers) t.join();
}

}  // namespace
