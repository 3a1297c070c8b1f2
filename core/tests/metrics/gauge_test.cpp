// Gauges: values as they are now, set or asked for.
#include <telltale/core/callback.hpp>
#include <telltale/core/counter.hpp>
#include <telltale/core/gauge.hpp>
#include <thread>

#include "snapshot.hpp"

using namespace telltale::literals;
using namespace telltale::testing;

namespace {

TEST(Gauges, ShowWhatWasSetLast) {
  static constinit telltale::gauge temperature{"test.temperature", "of a device", "Cel"};
  temperature.set(20.5);
  temperature.set(71.25);
  temperature.set(-3, "device"_a = 1);
  const telltale::metric m = metric_named("test.temperature");
  EXPECT_EQ(m.kind, telltale::metric_kind::gauge);
  EXPECT_EQ(real(m), 71.25);
  EXPECT_EQ(real(m, R"(device="1")"), -3);
}

TEST(Gauges, AddWithoutLosingAny) {
  static constinit telltale::gauge level{"test.level", ""};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 10'000; ++i) level.add(0.5);
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(level.with().value(), 20'000);
}

TEST(Callbacks, AreAskedAtEverySnapshotUntilTheyAreGone) {
  std::size_t depth = 3;
  {
    const telltale::callback_gauge g{"test.depth", "jobs that wait", "{job}", [&] { return depth; }};
    EXPECT_EQ(whole(metric_named("test.depth")), 3);
    depth = 8;
    EXPECT_EQ(whole(metric_named("test.depth")), 8);
  }
  EXPECT_EQ(find_metric(telltale::snapshot_metrics(), "test.depth"), nullptr);
}

TEST(Callbacks, GiveSeriesWithLabelsTheLaterOfTwoHolds) {
  const telltale::callback_counter c{"test.cpu", "", "s", [](telltale::observer& o) {
                                       o.observe(1.5, "mode"_a = "user");
                                       o.observe(2.5, "mode"_a = "system");
                                       o.observe(2.75, "mode"_a = "system");
                                     }};
  const telltale::metric m = metric_named("test.cpu");
  EXPECT_EQ(m.kind, telltale::metric_kind::counter);
  EXPECT_EQ(m.numbers.size(), 2u);
  EXPECT_EQ(real(m, R"(mode="user")"), 1.5);
  EXPECT_EQ(real(m, R"(mode="system")"), 2.75);
}

TEST(Callbacks, OfOneNameAreOneInstrument) {
  const telltale::callback_gauge a{"test.pools", "", "By", [](telltale::observer& o) { o.observe(1, "pool"_a = "a"); }};
  const telltale::callback_gauge b{"test.pools", "", "By", [](telltale::observer& o) { o.observe(2, "pool"_a = "b"); }};
  const telltale::metric m = metric_named("test.pools");
  EXPECT_EQ(whole(m, R"(pool="a")"), 1);
  EXPECT_EQ(whole(m, R"(pool="b")"), 2);
}

TEST(Callbacks, ThatThrowAreCountedAndHarmNobodyElse) {
  const telltale::callback_gauge bad{"test.bad", "", "", []() -> double { throw std::runtime_error("no"); }};
  const telltale::callback_gauge good{"test.good", "", "", [] { return 1; }};
  const telltale::metric_snapshot s = telltale::snapshot_metrics();
  EXPECT_EQ(find_metric(s, "test.bad"), nullptr);
  ASSERT_NE(find_metric(s, "test.good"), nullptr);
  const telltale::metric* errors = find_metric(s, "telltale.metric.callback_errors");
  ASSERT_NE(errors, nullptr);
  EXPECT_GE(whole(*errors), 1);
}

TEST(Callbacks, ThatContradictAnInstrumentAreSaidOnceAndLeftOut) {
  static constinit telltale::counter taken{"test.taken", "", "By"};
  taken.add(4);
  const telltale::callback_gauge g{"test.taken", "", "By", [] { return 1; }};
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(whole(metric_named("test.taken")), 4);
  EXPECT_EQ(whole(metric_named("test.taken")), 4);
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  EXPECT_NE(said.find("\"test.taken\" is defined twice"), std::string::npos) << said;
}

TEST(Callbacks, ComeAndGoWhileSnapshotsAreTaken) {
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    while (!stop) (void)telltale::snapshot_metrics();
  });
  for (int i = 0; i < 500; ++i) {
    auto value = std::make_unique<int>(i);
    const telltale::callback_gauge g{"test.short", "", "", [&] { return *value; }};
  }
  stop = true;
  reader.join();
}

}  // namespace
