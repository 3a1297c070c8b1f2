// Labels: a series per set of them, up to a limit.
#include <telltale/core/counter.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/runtime.hpp>
#include <thread>

#include "snapshot.hpp"

using namespace telltale::literals;
using namespace telltale::testing;

namespace {

enum class group { g1, g2 };
constexpr std::string_view telltale_name(group g) {
  return g == group::g1 ? "g1" : "g2";
}

TEST(Labels, MakeASeriesEach) {
  static constinit telltale::counter served{"test.served", "requests", "{request}"};
  served.add(1, "route"_a = "/prove", "status"_a = 200);
  served.add(2, "route"_a = "/prove", "status"_a = 500);
  served.add(3, "route"_a = "/verify", "status"_a = 200);
  served.add(4, "status"_a = 200, "route"_a = "/verify");  // the order makes no difference
  served.add(5);
  const telltale::metric m = metric_named("test.served");
  EXPECT_EQ(m.numbers.size(), 4u);
  EXPECT_EQ(whole(m, R"(route="/prove",status="200")"), 1);
  EXPECT_EQ(whole(m, R"(route="/prove",status="500")"), 2);
  EXPECT_EQ(whole(m, R"(route="/verify",status="200")"), 7);
  EXPECT_EQ(whole(m), 5);
}

TEST(Labels, KeepTheirTypesInTheSnapshot) {
  static constinit telltale::counter typed{"test.typed", ""};
  const std::string id = "j7";
  typed.add(1, "b"_a = true, "i"_a = -3, "u"_a = UINT64_MAX, "d"_a = 0.5, "t"_a = telltale::text{id},
            "e"_a = group::g2);
  const telltale::metric m = metric_named("test.typed");
  ASSERT_EQ(m.numbers.size(), 1u);
  using pair = std::pair<std::string, telltale::attribute_value>;
  EXPECT_EQ(m.numbers[0].labels->labels, (std::vector<pair>{{"b", true},
                                                            {"d", 0.5},
                                                            {"e", std::string("g2")},
                                                            {"i", std::int64_t{-3}},
                                                            {"t", std::string("j7")},
                                                            {"u", UINT64_MAX}}));
  EXPECT_EQ(m.numbers[0].labels->exposition, R"(b="true",d="0.5",e="g2",i="-3",t="j7",u="18446744073709551615")");
}

TEST(Labels, ThatPrometheusCannotTellApartAreOneSeries) {
  static constinit telltale::counter same{"test.same", ""};
  same.add(1, "n"_a = 1);
  same.add(2, "n"_a = 1u);
  same.add(4, "n"_a = telltale::text{"1"});
  same.add(8, "n"_a = 1.0);
  same.add(16);
  same.add(32, "empty"_a = "");
  const telltale::metric m = metric_named("test.same");
  EXPECT_EQ(m.numbers.size(), 2u);
  EXPECT_EQ(whole(m, R"(n="1")"), 15);
  EXPECT_EQ(whole(m), 48);
}

TEST(Labels, BoundOnceCountInTheSameSeries) {
  static constinit telltale::counter bound{"test.bound", ""};
  const auto series = bound.with("k"_a = "v");
  std::thread([series] { series.add(2); }).join();
  series.add(3);
  bound.add(4, "k"_a = "v");
  EXPECT_EQ(series.value(), 9u);
  EXPECT_EQ(whole(metric_named("test.bound"), R"(k="v")"), 9);
}

TEST(Labels, BeyondTheLimitShareASeriesThatIsExactAndCounted) {
  static constinit telltale::counter limited{"test.limited", "", "", {.max_series = 10}};
  for (int i = 0; i < 100; ++i) limited.add(2, "user"_a = i);
  limited.add(1);  // without labels: always there
  const telltale::metric m = metric_named("test.limited");
  EXPECT_EQ(m.numbers.size(), 9u + 1u + 1u) << "nine of their own, the overflow's, and the one without labels";
  EXPECT_EQ(whole(m, R"(user="8")"), 2);
  EXPECT_EQ(whole(m, R"(otel_metric_overflow="true")"), 91 * 2);
  EXPECT_EQ(with_labels(m.numbers, R"(otel_metric_overflow="true")").labels->labels[0],
            (std::pair<std::string, telltale::attribute_value>{"otel.metric.overflow", true}));
  EXPECT_EQ(whole(metric_named("telltale.metric.overflows"), R"(metric="test.limited")"), 91);
  limited.add(2, "user"_a = 3);  // the early ones keep theirs
  EXPECT_EQ(whole(metric_named("test.limited"), R"(user="3")"), 4);
}

TEST(Labels, HaveALimitOfTwoThousandByDefault) {
  static constinit telltale::counter many{"test.default_limit", ""};
  for (int i = 0; i < 3000; ++i) many.add(1, "i"_a = i);
  const telltale::metric m = metric_named("test.default_limit");
  EXPECT_EQ(m.numbers.size(), 2000u);
  EXPECT_EQ(whole(m, R"(otel_metric_overflow="true")"), 1001);
}

TEST(Labels, HaveALimitThatTheOptionsSet) {
  telltale::options o;
  o.sinks = "none";
  o.max_series = 1;
  const auto refused = telltale::start(o);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "TELLTALE_MAX_SERIES: cannot keep 1 series per instrument: a number from 2 to 1048576");
  o.max_series = 5;
  ASSERT_TRUE(telltale::start(o));
  static constinit telltale::counter few{"test.option_limit", ""};
  for (int i = 0; i < 10; ++i) few.add(1, "i"_a = i);
  EXPECT_EQ(metric_named("test.option_limit").numbers.size(), 5u);
  o.max_series = 2000;
  ASSERT_TRUE(telltale::start(o));
}

TEST(Labels, MadeByManyThreadsAtOnceAreMadeOnce) {
  static constinit telltale::counter raced{"test.raced", ""};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 4000; ++i) raced.add(1, "i"_a = (i * 7 + t) % 500, "k"_a = "v");
    });
  }
  for (auto& t : threads) t.join();
  const telltale::metric m = metric_named("test.raced");
  EXPECT_EQ(m.numbers.size(), 500u);
  std::int64_t sum = 0;
  for (const auto& p : m.numbers) sum += std::get<std::int64_t>(p.value);
  EXPECT_EQ(sum, 8 * 4000);
}

TEST(Labels, AreCutAtTheirCap) {
  static constinit telltale::counter cut{"test.cut", ""};
  const std::string long_text(telltale::max_string_bytes + 100, 'x');
  cut.add(1, "t"_a = telltale::text{long_text});
  cut.add(1, "t"_a = telltale::text{std::string_view(long_text).substr(0, telltale::max_string_bytes)});
  const telltale::metric m = metric_named("test.cut");
  ASSERT_EQ(m.numbers.size(), 1u);
  EXPECT_EQ(std::get<std::int64_t>(m.numbers[0].value), 2);
}

}  // namespace
