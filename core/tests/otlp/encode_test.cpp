// What the encoder writes is what was recorded: read back by the protobuf library, in both encodings.
#include "otlp/encode.hpp"

#include <cmath>
#include <limits>
#include <random>

#include "recorded.hpp"
#include "reference.hpp"

TELLTALE_MODULE("out::otlp");
using namespace telltale::literals;
using namespace telltale::testing;
using telltale::text;
using telltale::otlp::chunk;
using telltale::otlp::encoding;
using telltale::otlp::signal_kind;

namespace {

// Encodes everything it gets, twice.
class encoding_sink final : public telltale::sink {
 public:
  void on_span(const telltale::span_view& s) override {
    each([&](auto& e) { e.add(s); });
  }
  void on_open_span(const telltale::span_view& s) override {
    each([&](auto& e) { e.add_open(s, telltale::otlp::event_open); });
  }
  void on_log(const telltale::log_view& l) override {
    each([&](auto& e) { e.add(l); });
  }
  void on_loss(const telltale::loss_view& l) override {
    each([&](auto& e) { e.add_loss(telltale::to_string(l.reason), l.count, l.since_ns, l.thread); });
  }

  // Both encodings of what came so far; fails unless they say the same.
  template <class Request>
  Request take(signal_kind s) {
    const telltale::otlp::named_values resource = {{"service.name", std::string("test")},
                                                   {"process.pid", std::int64_t{7}}};
    std::string written[2];
    for (const encoding e : {encoding::protobuf, encoding::json}) {
      auto& encoder = *encoders_[static_cast<std::size_t>(e)];
      const std::uint64_t records = encoder.records(s);
      const chunk c = encoder.take(s);
      EXPECT_EQ(c.records, records);
      EXPECT_EQ(encoder.records(s), 0u);
      EXPECT_EQ(encoder.bytes(s), 0u);
      const auto request = telltale::otlp::make_request(e, s, telltale::otlp::encode_resource(e, resource), {&c, 1});
      written[static_cast<std::size_t>(e)] = request.view();
    }
    const auto binary = from_protobuf<Request>(written[0]);
    const auto json = from_json<Request>(written[1]);
    google::protobuf::util::MessageDifferencer same;
    std::string difference;
    same.ReportDifferencesToString(&difference);
    google::protobuf::util::DefaultFieldComparator nan_is_nan;
    nan_is_nan.set_treat_nan_as_equal(true);
    same.set_field_comparator(&nan_is_nan);
    EXPECT_TRUE(same.Compare(binary, json)) << difference;
    return binary;
  }

 private:
  template <class F>
  void each(F f) {
    for (auto& e : encoders_) f(*e);
  }
  std::unique_ptr<telltale::otlp::encoder> encoders_[2] = {telltale::otlp::make_encoder(encoding::protobuf),
                                                           telltale::otlp::make_encoder(encoding::json)};
};

class OtlpEncoding : public ::testing::Test {
 protected:
  void SetUp() override {
    telltale::options o;
    o.sinks = "none";
    o.trace = o.log = "trace";
    o.overflow = telltale::overflow_policy::block;
    o.overhead = 0;  // each record
    ASSERT_TRUE(telltale::start(o));
    telltale::flush();
    telltale::add_sink(sink);
    telltale::add_sink(kept);
  }
  void TearDown() override {
    telltale::remove_sink(sink);
    telltale::remove_sink(kept);
  }
  reference::TracesRequest traces() {
    EXPECT_TRUE(telltale::flush(std::chrono::seconds(20)));
    return sink->take<reference::TracesRequest>(signal_kind::traces);
  }
  reference::LogsRequest logs() {
    EXPECT_TRUE(telltale::flush(std::chrono::seconds(20)));
    return sink->take<reference::LogsRequest>(signal_kind::logs);
  }
  std::shared_ptr<encoding_sink> sink = std::make_shared<encoding_sink>();
  std::shared_ptr<telltale::recording> kept = std::make_shared<telltale::recording>();
};

std::string bytes_of(telltale::trace_id t) {
  std::string out;
  for (const std::uint64_t half : {t.high, t.low}) {
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(half >> shift);
  }
  return out;
}
std::string bytes_of(telltale::span_id s) {
  return bytes_of(telltale::trace_id{0, s.value}).substr(8);
}

TEST_F(OtlpEncoding, ASpanHasItsIdsTimesKindStatusAttributesEventsAndLinks) {
  telltale::context first;
  {
    TELLTALE_SPAN_AS(a, info, "load");
    first = a.get_context();
  }
  {
    TELLTALE_SPAN_AS(s, warn, "msm", "points"_a = 128, "device"_a = "cuda:0", "on"_a = true, "share"_a = 0.5);
    s.kind(telltale::span_kind::client);
    s.link(first, telltale::link_kind::retry_of);
    TELLTALE_EVENT(s, "retried", "attempt"_a = 2);
    s.fail("out_of_memory");
    TELLTALE_SPAN("window");
  }
  const auto request = traces();
  const auto spans = kept->take();
  ASSERT_EQ(request.resource_spans_size(), 1);
  EXPECT_EQ(attributes_of(request.resource_spans(0).resource().attributes()),
            (std::map<std::string, std::string>{{"service.name", "test"}, {"process.pid", "7"}}));
  ASSERT_EQ(request.resource_spans(0).scope_spans_size(), 1);
  const auto& scope = request.resource_spans(0).scope_spans(0);
  EXPECT_EQ(scope.scope().name(), "out::otlp");
  ASSERT_EQ(scope.spans_size(), 3);
  const reference::Span& load = scope.spans(0);
  const reference::Span& window = scope.spans(1);
  const reference::Span& msm = scope.spans(2);
  const telltale::trace_span& was = named(spans, "msm");

  EXPECT_EQ(msm.name(), "msm");
  EXPECT_EQ(msm.trace_id(), bytes_of(was.trace));
  EXPECT_EQ(msm.span_id(), bytes_of(was.id));
  EXPECT_EQ(msm.parent_span_id(), "");
  EXPECT_EQ(window.parent_span_id(), msm.span_id());
  EXPECT_EQ(msm.start_time_unix_nano(), static_cast<std::uint64_t>(was.begin_ns));
  EXPECT_EQ(msm.end_time_unix_nano(), static_cast<std::uint64_t>(was.end_ns));
  EXPECT_EQ(msm.flags(), 1u);
  EXPECT_EQ(msm.kind(), reference::Span::CLIENT);
  EXPECT_EQ(window.kind(), reference::Span::INTERNAL);
  EXPECT_EQ(msm.status().code(), reference::Span::Status::ERROR);
  EXPECT_FALSE(window.has_status());

  auto attributes = attributes_of(msm.attributes());
  EXPECT_EQ(attributes["points"], "128");
  EXPECT_EQ(attributes["device"], "cuda:0");
  EXPECT_EQ(attributes["on"], "true");
  EXPECT_EQ(attributes["share"], "double 0.500000");
  EXPECT_EQ(attributes["error.type"], "out_of_memory");
  EXPECT_EQ(attributes["telltale.level"], "warn");
  EXPECT_TRUE(attributes["code.file.path"].ends_with("encode_test.cpp")) << attributes["code.file.path"];
  EXPECT_NE(attributes["code.line.number"], "0");
  EXPECT_NE(attributes["thread.id"], "");

  ASSERT_EQ(msm.events_size(), 1);
  EXPECT_EQ(msm.events(0).name(), "retried");
  EXPECT_EQ(attributes_of(msm.events(0).attributes())["attempt"], "2");
  EXPECT_GE(msm.events(0).time_unix_nano(), msm.start_time_unix_nano());
  EXPECT_LE(msm.events(0).time_unix_nano(), msm.end_time_unix_nano());
  ASSERT_EQ(msm.links_size(), 1);
  EXPECT_EQ(msm.links(0).trace_id(), load.trace_id());
  EXPECT_EQ(msm.links(0).span_id(), load.span_id());
  EXPECT_EQ(attributes_of(msm.links(0).attributes())["telltale.link.kind"], "retry-of");
}

TEST_F(OtlpEncoding, ALineHasItsMessageSeverityAndPlace) {
  {
    TELLTALE_SPAN("msm");
    TELLTALE_WARN("loaded {points} points", "points"_a = 128u);
  }
  TELLTALE_TRACE("alone");
  const auto request = logs();
  const auto spans = kept->take();
  const auto lines = kept->take_lines();
  ASSERT_EQ(request.resource_logs_size(), 1);
  const auto& records = request.resource_logs(0).scope_logs(0).log_records();
  ASSERT_EQ(records.size(), 2);
  EXPECT_EQ(records[0].body().string_value(), "loaded 128 points");
  EXPECT_EQ(records[0].severity_number(), 13);
  EXPECT_EQ(records[0].severity_text(), "WARN");
  EXPECT_EQ(records[0].time_unix_nano(), static_cast<std::uint64_t>(lines.at(0).time_ns));
  EXPECT_EQ(records[0].observed_time_unix_nano(), records[0].time_unix_nano());
  EXPECT_EQ(records[0].trace_id(), bytes_of(named(spans, "msm").trace));
  EXPECT_EQ(records[0].span_id(), bytes_of(named(spans, "msm").id));
  EXPECT_EQ(attributes_of(records[0].attributes())["points"], "128");
  EXPECT_EQ(records[1].severity_number(), 1);
  EXPECT_EQ(records[1].trace_id(), "");
  EXPECT_EQ(records[1].span_id(), "");
}

TEST_F(OtlpEncoding, InheritedAttributesAreOnEverySpanAndLineAndTheNearerScopeWins) {
  {
    TELLTALE_SCOPE("job", "job_id"_a = "j1", "shard"_a = 1);
    {
      TELLTALE_SCOPE("task", "shard"_a = 2);
      TELLTALE_SPAN("own", "job_id"_a = "mine");
      TELLTALE_INFO("line");
    }
    TELLTALE_SPAN("outer");
  }
  std::map<std::string, std::map<std::string, std::string>> by_name;
  const auto request = traces();
  for (const auto& s : request.resource_spans(0).scope_spans(0).spans()) {
    by_name[s.name()] = attributes_of(s.attributes());
  }
  EXPECT_EQ(by_name["own"]["job_id"], "mine");
  EXPECT_EQ(by_name["own"]["shard"], "2");
  EXPECT_EQ(by_name["task"]["job_id"], "j1");
  EXPECT_EQ(by_name["task"]["shard"], "2");
  EXPECT_EQ(by_name["outer"]["shard"], "1");
  EXPECT_EQ(by_name["outer"]["job_id"], "j1");
  const auto lines = logs();
  auto line = attributes_of(lines.resource_logs(0).scope_logs(0).log_records(0).attributes());
  EXPECT_EQ(line["job_id"], "j1");
  EXPECT_EQ(line["shard"], "2");
}

TEST_F(OtlpEncoding, AnAttributeOfTheProgramsWinsOverOneOfOurs) {
  {
    TELLTALE_SPAN("odd", "thread.id"_a = "mine", "telltale.level"_a = 4);
    TELLTALE_SCOPE("odd scope", "code.file.path"_a = "theirs");
    TELLTALE_SPAN("below");
  }
  const auto request = traces();  // attributes_of() fails where a key stands twice
  auto by_name = std::map<std::string, std::map<std::string, std::string>>{};
  for (const auto& s : request.resource_spans(0).scope_spans(0).spans()) {
    by_name[s.name()] = attributes_of(s.attributes());
  }
  EXPECT_EQ(by_name["odd"]["thread.id"], "mine");
  EXPECT_EQ(by_name["odd"]["telltale.level"], "4");
  EXPECT_TRUE(by_name["odd"]["code.file.path"].ends_with("encode_test.cpp"));
  EXPECT_EQ(by_name["below"]["code.file.path"], "theirs");
  EXPECT_EQ(by_name["below"]["telltale.level"], "info");
}

TEST_F(OtlpEncoding, NumbersAndTextAtTheirEdgesSurvive) {
  const std::string broken = "bad \xff\xfe end\xc3";
  const std::string good = "grüße, 世界 \U0001F600";
  const std::string large(9000, 'x');
  {
    TELLTALE_SPAN("edges", "max"_a = std::numeric_limits<std::uint64_t>::max(), "big"_a = std::uint64_t{1} << 63,
                  "fits"_a = (std::uint64_t{1} << 63) - 1, "min"_a = std::numeric_limits<std::int64_t>::min(),
                  "inf"_a = -std::numeric_limits<double>::infinity(), "nan"_a = std::nan(""), "broken"_a = text{broken},
                  "good"_a = text{good}, "empty"_a = text{""}, "large"_a = text{large});
  }
  const auto request = traces();
  auto a = attributes_of(request.resource_spans(0).scope_spans(0).spans(0).attributes());
  EXPECT_EQ(a["max"], "18446744073709551615");
  EXPECT_EQ(a["big"], "9223372036854775808");
  EXPECT_EQ(a["fits"], "9223372036854775807");
  EXPECT_EQ(a["min"], "-9223372036854775808");
  EXPECT_EQ(a["inf"], "double -inf");
  EXPECT_EQ(a["nan"], "double nan");
  EXPECT_EQ(a["broken"], "bad \xef\xbf\xbd\xef\xbf\xbd end\xef\xbf\xbd");
  EXPECT_EQ(a["good"], good);
  EXPECT_EQ(a["empty"], "");
  EXPECT_EQ(a["large"], std::string(8192, 'x'));
  EXPECT_EQ(a["large.cut"], "true");
}

TEST_F(OtlpEncoding, AnOpenSpanIsAnEventAndALossIsTold) {
  encoding_sink direct;
  telltale::site_info site;
  site.name = "stuck";
  site.module = "prover";
  site.line = 4;
  const telltale::thread_info thread{3, 99, "worker"};
  const telltale::span_view open{
      site, nullptr, thread, {1, 2}, {3}, {4}, 1000, 5000, false, false, telltale::span_kind::internal, {}, {}, {}};
  direct.on_open_span(open);
  direct.on_loss({telltale::drop_reason::ring_full, 12, &thread, 4000});
  const auto request = direct.take<reference::LogsRequest>(signal_kind::logs);
  ASSERT_EQ(request.resource_logs(0).scope_logs_size(), 2);
  const auto& event = request.resource_logs(0).scope_logs(0).log_records(0);
  EXPECT_EQ(event.event_name(), "telltale.span.open");
  EXPECT_EQ(event.time_unix_nano(), 5000u);
  EXPECT_EQ(event.trace_id(), bytes_of(telltale::trace_id{1, 2}));
  EXPECT_EQ(event.span_id(), bytes_of(telltale::span_id{3}));
  auto a = attributes_of(event.attributes());
  EXPECT_EQ(a["telltale.span.name"], "stuck");
  EXPECT_EQ(a["telltale.span.start_time_unix_nano"], "1000");
  EXPECT_EQ(a["telltale.span.parent_id"], "0000000000000004");
  EXPECT_EQ(a["thread.name"], "worker");
  EXPECT_EQ(request.resource_logs(0).scope_logs(1).scope().name(), "telltale");
  const auto& loss = request.resource_logs(0).scope_logs(1).log_records(0);
  EXPECT_EQ(loss.event_name(), "telltale.loss");
  EXPECT_EQ(loss.severity_text(), "WARN");
  EXPECT_EQ(attributes_of(loss.attributes())["reason"], "ring_full");
  EXPECT_EQ(attributes_of(loss.attributes())["count"], "12");
}

// Any records, of any shape: the library reads what we wrote, and finds every field as it was.
TEST_F(OtlpEncoding, RandomRecordsComeBackAsTheyWere) {
  std::mt19937_64 random(20260508);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<telltale::site_info> sites(8);
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    sites[i].id = i;
    sites[i].name = std::string(below(200), static_cast<char>('a' + i));
    sites[i].module = i % 2 == 0 ? "even" : "odd";
    sites[i].level = static_cast<telltale::level>(1 + below(5));
    sites[i].file = "f.cpp";
  }
  const telltale::thread_info thread{1, 2, "t"};
  for (int round = 0; round < 300; ++round) {
    encoding_sink direct;
    std::vector<std::string> keep(64);
    std::map<std::string, std::string> expected[20];
    const std::size_t count = 1 + below(20);
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<telltale::attribute_view> attributes(below(12));
      for (std::size_t i = 0; i < attributes.size(); ++i) {
        auto& a = attributes[i];
        a.key_number = static_cast<std::uint32_t>(i);
        keep[i] = "key" + std::to_string(i);
        a.key = keep[i];
        a.type = static_cast<telltale::attribute_type>(below(5));
        a.bits = random() >> below(64);
        if (a.type == telltale::attribute_type::boolean) a.bits &= 1;
        keep[32 + i] = std::string(below(round % 10 == 0 ? 20000 : 300), 'v');
        a.text = keep[32 + i];
        std::string value;
        if (a.type == telltale::attribute_type::float64) {
          value = "double " + std::to_string(std::bit_cast<double>(a.bits));
        } else {
          telltale::append_value(value, a);
        }
        expected[n][keep[i]] = value;
      }
      const auto& site = sites[below(sites.size())];
      expected[n]["name"] = site.name;
      const telltale::span_view s{site,
                                  nullptr,
                                  thread,
                                  {random(), random()},
                                  {n + 1},
                                  {below(3)},
                                  static_cast<std::int64_t>(n),
                                  static_cast<std::int64_t>(n + below(1u << 30)),
                                  below(2) == 0,
                                  false,
                                  static_cast<telltale::span_kind>(below(5)),
                                  attributes,
                                  {},
                                  {}};
      direct.on_span(s);
    }
    const auto request = direct.take<reference::TracesRequest>(signal_kind::traces);
    std::size_t found = 0;
    for (const auto& scope : request.resource_spans(0).scope_spans()) {
      for (const auto& s : scope.spans()) {
        ++found;
        const std::size_t n = s.start_time_unix_nano();
        ASSERT_LT(n, count);
        EXPECT_EQ(s.name(), expected[n]["name"]);
        auto a = attributes_of(s.attributes());
        for (const auto& [key, value] : expected[n]) {
          if (key == "name") continue;
          EXPECT_EQ(a[key], value) << key;
        }
        // Ours: level, file, line, thread's id and name; no file more, no attribute lost.
        EXPECT_EQ(a.size(), expected[n].size() - 1 + 5);
      }
    }
    EXPECT_EQ(found, count);
  }
}

TEST(OtlpMetrics, EveryKindComesBackAsItWas) {
  const auto labels = std::make_shared<telltale::label_set>();
  labels->labels = {{"device", std::string("gpu0")}, {"n", std::int64_t{3}}};
  telltale::metric_snapshot s;
  s.start_ns = 100;
  s.time_ns = 200;
  telltale::metric counter{"jobs", "jobs done", "{job}", telltale::metric_kind::counter, {}, {}, {}, {}};
  counter.numbers.push_back({labels, std::int64_t{-5}, {{1.5, 150, {7, 8}, {9}}}});
  counter.numbers.push_back({labels, 2.5, {}});
  telltale::metric shrinking = counter;
  shrinking.kind = telltale::metric_kind::up_down_counter;
  telltale::metric gauge = counter;
  gauge.kind = telltale::metric_kind::gauge;
  telltale::metric histogram{"time", "", "s", telltale::metric_kind::histogram, {0.1, 1.0}, {}, {}, {}};
  histogram.histograms.push_back({labels, 6, 3.25, {1, 2, 3}, {{0.5, 160, {1, 2}, {3}}}});
  telltale::metric exponential{"size", "", "By", telltale::metric_kind::exponential_histogram, {}, {}, {}, {}};
  exponential.exponentials.push_back({labels, 400, -8.0, -3, 1, {-5, {1, 0, 300}}, {2, {98}}, {}});
  s.metrics = {counter, shrinking, gauge, histogram, exponential};

  reference::MetricsRequest read[2];
  for (const encoding e : {encoding::protobuf, encoding::json}) {
    const chunk c = telltale::otlp::encode_metrics(e, s);
    EXPECT_EQ(c.records, 8u);
    const auto request =
        telltale::otlp::make_request(e, signal_kind::metrics, telltale::otlp::encode_resource(e, {}), {&c, 1});
    read[static_cast<std::size_t>(e)] = e == encoding::json ? from_json<reference::MetricsRequest>(request.view())
                                                            : from_protobuf<reference::MetricsRequest>(request.view());
  }
  std::string difference;
  google::protobuf::util::MessageDifferencer same;
  same.ReportDifferencesToString(&difference);
  EXPECT_TRUE(same.Compare(read[0], read[1])) << difference;
  const auto& metrics = read[0].resource_metrics(0).scope_metrics(0).metrics();
  ASSERT_EQ(metrics.size(), 5);
  EXPECT_EQ(metrics[0].name(), "jobs");
  EXPECT_EQ(metrics[0].description(), "jobs done");
  EXPECT_EQ(metrics[0].unit(), "{job}");
  ASSERT_TRUE(metrics[0].has_sum());
  EXPECT_TRUE(metrics[0].sum().is_monotonic());
  EXPECT_EQ(metrics[0].sum().aggregation_temporality(), 2);
  const auto& point = metrics[0].sum().data_points(0);
  EXPECT_EQ(point.as_int(), -5);
  EXPECT_EQ(point.start_time_unix_nano(), 100u);
  EXPECT_EQ(point.time_unix_nano(), 200u);
  EXPECT_EQ(attributes_of(point.attributes()), (std::map<std::string, std::string>{{"device", "gpu0"}, {"n", "3"}}));
  ASSERT_EQ(point.exemplars_size(), 1);
  EXPECT_EQ(point.exemplars(0).as_double(), 1.5);
  EXPECT_EQ(point.exemplars(0).time_unix_nano(), 150u);
  EXPECT_EQ(point.exemplars(0).trace_id(), bytes_of(telltale::trace_id{7, 8}));
  EXPECT_EQ(point.exemplars(0).span_id(), bytes_of(telltale::span_id{9}));
  EXPECT_EQ(metrics[0].sum().data_points(1).as_double(), 2.5);
  EXPECT_FALSE(metrics[1].sum().is_monotonic());
  EXPECT_TRUE(metrics[2].has_gauge());
  const auto& buckets = metrics[3].histogram().data_points(0);
  EXPECT_EQ(buckets.count(), 6u);
  EXPECT_EQ(buckets.sum(), 3.25);
  EXPECT_EQ(std::vector<std::uint64_t>(buckets.bucket_counts().begin(), buckets.bucket_counts().end()),
            (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(std::vector<double>(buckets.explicit_bounds().begin(), buckets.explicit_bounds().end()),
            (std::vector<double>{0.1, 1.0}));
  const auto& powers = metrics[4].exponential_histogram().data_points(0);
  EXPECT_EQ(powers.scale(), -3);
  EXPECT_EQ(powers.zero_count(), 1u);
  EXPECT_EQ(powers.positive().offset(), -5);
  ASSERT_EQ(powers.positive().bucket_counts_size(), 3);
  EXPECT_EQ(powers.positive().bucket_counts(2), 300u);
  EXPECT_EQ(powers.negative().bucket_counts(0), 98u);
}

}  // namespace
