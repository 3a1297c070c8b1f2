// What Prometheus reads: names, texts, both formats, and whether other people's parsers agree.
#include <cmath>
#include <fstream>
#include <limits>
#include <telltale/core/callback.hpp>
#include <telltale/core/counter.hpp>
#include <telltale/core/gauge.hpp>
#include <telltale/core/histogram.hpp>
#include <telltale/core/prometheus.hpp>
#include <telltale/core/span.hpp>

#include "../recorded.hpp"
#include "../support/process.hpp"
#include "snapshot.hpp"

TELLTALE_MODULE("test::prometheus");

using namespace telltale::literals;
using namespace telltale::testing;
using telltale::exposition;

namespace {

std::shared_ptr<const telltale::label_set> labels(std::string exposition) {
  auto set = std::make_shared<telltale::label_set>();
  set->exposition = std::move(exposition);
  return set;
}

telltale::metric made(std::string name, std::string unit, telltale::metric_kind kind, std::string description = {}) {
  telltale::metric m;
  m.name = std::move(name);
  m.unit = std::move(unit);
  m.kind = kind;
  m.description = std::move(description);
  return m;
}

std::string render(std::vector<telltale::metric> metrics, exposition format) {
  telltale::metric_snapshot s;
  s.metrics = std::move(metrics);
  return telltale::render_prometheus(s, format);
}

// The name under which a sample of this metric appears.
std::string sample_name(std::string name, std::string unit, telltale::metric_kind kind) {
  telltale::metric m = made(std::move(name), std::move(unit), kind);
  m.numbers.push_back({labels(""), std::int64_t{1}, {}});
  const std::string page = render({m}, exposition::text);
  const std::size_t begin = page.find('\n') + 1;
  return page.substr(begin, page.find(' ', begin) - begin);
}

TEST(PrometheusNames, FollowOpenTelemetrysRules) {
  using enum telltale::metric_kind;
  EXPECT_EQ(sample_name("prover.msm.points", "{point}", counter), "prover_msm_points_total");
  EXPECT_EQ(sample_name("prover.total", "", counter), "prover_total");
  EXPECT_EQ(sample_name("drain.cpu.time", "s", counter), "drain_cpu_time_seconds_total");
  EXPECT_EQ(sample_name("io", "By", counter), "io_bytes_total");
  EXPECT_EQ(sample_name("io.bytes", "By", counter), "io_bytes_total");
  EXPECT_EQ(sample_name("io.total", "By", counter), "io_bytes_total");
  EXPECT_EQ(sample_name("cache.hits", "1", gauge), "cache_hits_ratio");
  EXPECT_EQ(sample_name("cache.hits", "1", counter), "cache_hits_total");
  EXPECT_EQ(sample_name("io.rate", "By/s", gauge), "io_rate_bytes_per_second");
  EXPECT_EQ(sample_name("io.rate", "{packet}/s", gauge), "io_rate_per_second");
  EXPECT_EQ(sample_name("load", "%", gauge), "load_percent");
  EXPECT_EQ(sample_name("heat", "Cel", gauge), "heat_celsius");
  EXPECT_EQ(sample_name("odd", "foo-bar", gauge), "odd_foo_bar");
  EXPECT_EQ(sample_name("in use", "", up_down_counter), "in_use");
  EXPECT_EQ(sample_name("2.fast", "", gauge), "_2_fast");
  EXPECT_EQ(sample_name("a..b--c", "", gauge), "a_b_c");
  EXPECT_EQ(sample_name("", "", gauge), "_");
}

TEST(PrometheusText, IsWrittenLikeThis) {
  telltale::metric c = made("shop.orders", "{order}", telltale::metric_kind::counter, "orders \"served\"\nand \\ paid");
  c.numbers.push_back({labels(""), std::int64_t{7}, {}});
  c.numbers.push_back({labels(R"(route="/pay")"), std::int64_t{3}, {{1, 1'700'000'000'000'000'005, {1, 2}, {3}}}});
  telltale::metric g = made("heat", "Cel", telltale::metric_kind::gauge);
  for (const double v : {0.1, 1e300, std::nan(""), std::numeric_limits<double>::infinity(), -1.0}) {
    g.numbers.push_back({labels("n=\"" + std::to_string(g.numbers.size()) + '"'), v, {}});
  }
  telltale::metric h = made("latency", "s", telltale::metric_kind::histogram, "how long");
  h.bounds = {0.5, 1};
  h.histograms.push_back({labels(R"(kind="x")"), 6, 4.5, {1, 2, 3}, {{0.75, 1'000'000'000, {4, 5}, {6}}}});
  EXPECT_EQ(render({c, g, h}, exposition::text),
            R"(# HELP shop_orders_total orders "served"\nand \\ paid
# TYPE shop_orders_total counter
shop_orders_total 7
shop_orders_total{route="/pay"} 3
# TYPE heat_celsius gauge
heat_celsius{n="0"} 0.1
heat_celsius{n="1"} 1e+300
heat_celsius{n="2"} NaN
heat_celsius{n="3"} +Inf
heat_celsius{n="4"} -1
# HELP latency_seconds how long
# TYPE latency_seconds histogram
latency_seconds_bucket{kind="x",le="0.5"} 1
latency_seconds_bucket{kind="x",le="1"} 3
latency_seconds_bucket{kind="x",le="+Inf"} 6
latency_seconds_sum{kind="x"} 4.5
latency_seconds_count{kind="x"} 6
)");
  EXPECT_EQ(render({c, h}, exposition::openmetrics),
            R"(# HELP shop_orders orders \"served\"\nand \\ paid
# TYPE shop_orders counter
shop_orders_total 7
shop_orders_total{route="/pay"} 3 # {trace_id="00000000000000010000000000000002",span_id="0000000000000003"} 1 1700000000.000000005
# HELP latency_seconds how long
# TYPE latency_seconds histogram
# UNIT latency_seconds seconds
latency_seconds_bucket{kind="x",le="0.5"} 1
latency_seconds_bucket{kind="x",le="1.0"} 3 # {trace_id="00000000000000040000000000000005",span_id="0000000000000006"} 0.75 1.000000000
latency_seconds_bucket{kind="x",le="+Inf"} 6
latency_seconds_sum{kind="x"} 4.5
latency_seconds_count{kind="x"} 6
# EOF
)");
}

TEST(PrometheusText, SaysWhatTheProcessIs) {
  const telltale::resource_attributes resource{{"service.name", std::string("prover")}, {"gpu", std::int64_t{2}}};
  EXPECT_EQ(telltale::render_prometheus({}, exposition::text, resource),
            "# TYPE target_info gauge\n# HELP target_info What this process is\n"
            "target_info{gpu=\"2\",service_name=\"prover\"} 1\n");
  EXPECT_EQ(telltale::render_prometheus({}, exposition::openmetrics, resource),
            "# TYPE target info\n# HELP target What this process is\n"
            "target_info{gpu=\"2\",service_name=\"prover\"} 1\n# EOF\n");
}

TEST(PrometheusText, ShowsAnExponentialHistogramWithAtMostTwentyBounds) {
  telltale::metric m = made("sizes", "By", telltale::metric_kind::exponential_histogram);
  telltale::exponential_point p;
  p.labels = labels("");
  p.scale = 3;
  p.zero_count = 2;
  p.count = 3 + 160;
  p.sum = 12.5;
  p.negative = {0, {1}};
  p.positive = {-80, std::vector<std::uint64_t>(160, 1)};  // from 2^-10 to 2^10, eight buckets per power of two
  m.exponentials.push_back(p);
  const std::string page = render({m}, exposition::text);
  EXPECT_EQ(count_of(page, "_bucket{"), 20u + 1u + 1u) << page;
  EXPECT_NE(page.find("sizes_bytes_bucket{le=\"0\"} 3\n"), std::string::npos) << page;
  EXPECT_NE(page.find("sizes_bytes_bucket{le=\"1\"} 83\n"), std::string::npos) << page;
  EXPECT_NE(page.find("sizes_bytes_bucket{le=\"1024\"} 163\n"), std::string::npos) << page;
  EXPECT_NE(page.find("sizes_bytes_bucket{le=\"+Inf\"} 163\n"), std::string::npos) << page;
  EXPECT_NE(page.find("sizes_bytes_count 163\n"), std::string::npos) << page;
}

TEST(PrometheusText, LeavesOutASecondMetricOfTheSameNameAndSaysSo) {
  telltale::metric a = made("a.b", "", telltale::metric_kind::gauge);
  telltale::metric b = made("a_b", "", telltale::metric_kind::gauge);
  a.numbers.push_back({labels(""), std::int64_t{1}, {}});
  b.numbers.push_back({labels(""), std::int64_t{2}, {}});
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(render({a, b}, exposition::text), "# TYPE a_b gauge\na_b 1\n");
  EXPECT_EQ(render({a, b}, exposition::text), "# TYPE a_b gauge\na_b 1\n");
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "telltale: the metric \"a_b\" is left out for Prometheus: another one is called a_b there, too. Give one of "
      "them another name.\n");
}

TEST(PrometheusLabels, AreEscapedAndAlwaysValidUtf8) {
  static constinit telltale::counter odd{"test.odd_labels", "odd ones"};
  odd.add(1, "t"_a = telltale::text{"quote \" backslash \\ line\nfeed"});
  odd.add(2, "t"_a = telltale::text{"caf\xc3\xa9 \xf0\x9f\x98\x80"});
  odd.add(4, "t"_a = telltale::text{"bad \xff\xc3 \xed\xa0\x80"});
  odd.add(8, "http.route"_a = "a", "le"_a = 1, "__name__"_a = 2, "1st"_a = 3, "\xc3\xa9"_a = 4);
  odd.add(16, "x.y"_a = 1, "x_y"_a = 2);
  const telltale::metric m = metric_named("test.odd_labels");
  EXPECT_EQ(whole(m, R"(t="quote \" backslash \\ line\nfeed")"), 1);
  EXPECT_EQ(whole(m, "t=\"caf\xc3\xa9 \xf0\x9f\x98\x80\""), 2);
  EXPECT_EQ(whole(m, "t=\"bad \xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""), 4);
  EXPECT_EQ(whole(m, R"(http_route="a",key_="4",key_1st="3",key_le="1",key_name_="2")"), 8);
  EXPECT_EQ(whole(m, R"(x_y="1;2")"), 16);
}

TEST(PrometheusNegotiation, GivesWhatTheScraperPrefers) {
  using telltale::negotiate_exposition;
  // Prometheus 2.42
  EXPECT_EQ(
      negotiate_exposition("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"
                           "q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"),
      exposition::openmetrics);
  EXPECT_EQ(negotiate_exposition("application/openmetrics-text; version=\"1.0.0\"; charset=utf-8"),
            exposition::openmetrics);
  EXPECT_EQ(negotiate_exposition("text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.4"),
            exposition::text);
  EXPECT_EQ(negotiate_exposition("application/openmetrics-text;version=0.0.1"), exposition::text);
  EXPECT_EQ(negotiate_exposition("application/openmetrics-text;q=0"), exposition::text);
  EXPECT_EQ(negotiate_exposition("*/*"), exposition::text);
  EXPECT_EQ(negotiate_exposition(""), exposition::text);
  EXPECT_EQ(negotiate_exposition(";;,=,q=;q"), exposition::text);
}

// Everything that there is, with exemplars.
void fill_with_everything() {
  static constinit telltale::counter c{"shop.sent", "a counter", "By"};
  static constinit telltale::up_down_counter u{"shop.open", "goes up and down", "{thing}"};
  static constinit telltale::gauge g{"shop.full", "a \"gauge\"\nof two lines", "1"};
  static constinit telltale::histogram h{"shop.latency", "a histogram", "s"};
  static constinit telltale::exponential_histogram e{"shop.size", "an exponential one", "By"};
  TELLTALE_SPAN("everything");
  for (int i = 0; i < 50; ++i) {
    c.add(1, "i"_a = i % 7, "text"_a = telltale::text{"\"\\\n\xff\xc3\xa9"});
    u.add(i % 3 - 1);
    g.set(i / 50.0, "i"_a = i % 5);
    h.record(i / 10.0);
    h.record(i / 20.0, "le"_a = "user's own");
    e.record(std::exp2(i - 25));
    e.record(-i);
  }
}

class Parsers : public ::testing::Test {
 protected:
  Parsers() {
    static const bool filled = [] {
      const recorded r;
      fill_with_everything();
      return true;
    }();
    EXPECT_TRUE(filled);
    const telltale::metric_snapshot s = telltale::snapshot_metrics();
    std::ofstream(dir / "text") << telltale::render_prometheus(s, exposition::text);
    std::ofstream(dir / "openmetrics") << telltale::render_prometheus(s, exposition::openmetrics);
  }
  static ended shell(const std::string& command) { return run("/bin/sh", {"-c", command}); }
  static bool has(const std::string& command) { return shell(command + " >/dev/null 2>&1").code == 0; }
  temporary_directory dir;
};

TEST_F(Parsers, PromtoolFindsNothingToComplainOf) {
  if (!has("command -v promtool")) GTEST_SKIP() << "promtool is missing: apt-get install prometheus";
  const ended e = shell("promtool check metrics <" + (dir / "text"));
  EXPECT_EQ(e.code, 0) << e << contents(dir / "text");
  EXPECT_EQ(e.out + e.err, "");
}

TEST_F(Parsers, PythonsReadsBothFormatsAndTheSameValues) {
  if (!has("/usr/bin/python3 -c 'import prometheus_client'")) {
    GTEST_SKIP() << "Python's parser is missing: apt-get install python3-prometheus-client";
  }
  std::ofstream(dir / "check.py") << R"(
import re, sys
from prometheus_client.parser import text_string_to_metric_families as text
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics

def samples(families):
    found, exemplars = {}, 0
    for family in families:
        for s in family.samples:
            labels = {k: float(v) if k == "le" else v for k, v in s.labels.items()}
            key = (s.name, tuple(sorted(labels.items())))
            assert key not in found, key
            found[key] = s.value
            if s.exemplar is not None:
                assert re.fullmatch("[0-9a-f]{32}", s.exemplar.labels["trace_id"])
                assert re.fullmatch("[0-9a-f]{16}", s.exemplar.labels["span_id"])
                exemplars += 1
    return found, exemplars

plain, none = samples(text(open(sys.argv[1], newline="\n").read()))
opened, exemplars = samples(openmetrics(open(sys.argv[2], newline="\n").read()))
assert none == 0
assert exemplars > 20, exemplars
assert plain == opened, set(plain.items()) ^ set(opened.items())
assert plain[("shop_latency_seconds_count", ())] == 50
assert plain[("shop_sent_bytes_total", (("i", "0"), ("text", '"\\\n\ufffd\u00e9')))] == 8
assert plain[("shop_size_bytes_count", ())] == 100
print(len(plain))
)";
  const ended e = shell("/usr/bin/python3 " + (dir / "check.py") + " " + (dir / "text") + " " + (dir / "openmetrics"));
  EXPECT_EQ(e.code, 0) << e << contents(dir / "openmetrics");
}

}  // namespace
