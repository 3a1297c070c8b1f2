// The library watches itself.
#include <atomic>
#include <thread>

#include "../recorded.hpp"
#include "snapshot.hpp"

TELLTALE_MODULE("test::own");

using namespace telltale::testing;

namespace {

class failing final : public telltale::sink {
 public:
  std::uint64_t dropped() const override { return 3; }
  std::uint64_t errors() const override { return 5; }
  std::uint64_t retries() const override { return 7; }
  std::uint64_t spooled_bytes() const override { return 4096; }
};

TEST(OwnFigures, ShowWhatTheStatisticsSay) {
  const recorded r;
  const auto sink = std::make_shared<failing>();
  telltale::add_sink(sink);
  for (int i = 0; i < 10; ++i) {
    TELLTALE_SPAN("one");
  }
  TELLTALE_SPAN("open");
  EXPECT_TRUE(telltale::flush());
  const telltale::statistics s = telltale::stats();
  const auto expect_at_least = [](std::string_view name, std::uint64_t n) {
    EXPECT_GE(whole(metric_named(name)), static_cast<std::int64_t>(n)) << name;
  };
  EXPECT_GE(s.written, 10u);
  expect_at_least("telltale.records.written", s.written);
  expect_at_least("telltale.threads", 1);
  expect_at_least("telltale.spans.open", 1);
  EXPECT_EQ(whole(metric_named("telltale.sink.records.dropped")), 3);
  EXPECT_EQ(whole(metric_named("telltale.sink.errors")), 5);
  EXPECT_EQ(whole(metric_named("telltale.sink.retries")), 7);
  EXPECT_EQ(whole(metric_named("telltale.sink.spool.size")), 4096);
  EXPECT_GT(real(metric_named("telltale.drain.cpu.time")), 0);
  EXPECT_EQ(metric_named("telltale.drain.cpu.time").unit, "s");
  EXPECT_EQ(metric_named("telltale.records.dropped").numbers.size(), telltale::detail::drop_reasons);
  EXPECT_EQ(whole(metric_named("telltale.metric.lost")), 0);
  telltale::remove_sink(sink);
}

TEST(OwnFigures, HaveTheProcessorTimeOfTheThreadsThatWrite) {
  const auto taken = [] { return real(metric_named("telltale.sink.cpu.time")); };
  const double before = taken();
  telltale::options o;
  o.sinks = "json:/dev/null?overflow=block";
  o.overflow = telltale::overflow_policy::block;
  ASSERT_TRUE(telltale::start(o));
  for (int i = 0; i < 20'000; ++i) {
    TELLTALE_SPAN("written");
  }
  EXPECT_TRUE(telltale::flush());
  const double after = taken();
  EXPECT_GT(after, before);
  o.sinks = "none";
  ASSERT_TRUE(telltale::start(o));
  EXPECT_GE(taken(), after) << "a thread that is gone has taken what it took";
}

TEST(OwnFigures, CountADropByItsReason) {
  class parked final : public telltale::sink {
   public:
    void on_span(const telltale::span_view&) override {
      while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::atomic<bool> go{false};
  };
  const recorded r;
  const auto dropped = [] { return whole(metric_named("telltale.records.dropped"), R"(reason="ring_full")"); };
  const std::int64_t before = dropped();
  const auto sink = std::make_shared<parked>();
  telltale::add_sink(sink);
  for (int i = 0; i < 50'000; ++i) {
    TELLTALE_SPAN("flood");
  }
  EXPECT_GT(dropped(), before);
  sink->go = true;
  telltale::remove_sink(sink);
}

}  // namespace
