// The OTLP sink against receivers that behave, misbehave, and come back.
#include <cstdlib>

#include "receiver.hpp"
#include "recorded.hpp"
#include "reference.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("out::export");
using namespace telltale::literals;
using namespace telltale::testing;

namespace {

class variables {
 public:
  explicit variables(std::map<std::string, std::string> all) : all_(std::move(all)) {
    for (const auto& [name, value] : all_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~variables() {
    for (const auto& [name, value] : all_) ::unsetenv(name.c_str());
  }
  variables(const variables&) = delete;
  variables& operator=(const variables&) = delete;

 private:
  std::map<std::string, std::string> all_;
};
using environment_variables = std::map<std::string, std::string>;

class OtlpExport : public ::testing::Test {
 protected:
  void SetUp() override { ::setenv("OTEL_METRICS_EXPORTER", "none", 1); }
  void TearDown() override {
    stop();
    ::unsetenv("OTEL_METRICS_EXPORTER");
  }
  static void start(const std::string& sinks) {
    telltale::options o;
    o.sinks = sinks;
    o.overflow = telltale::overflow_policy::block;
    const auto started = telltale::start(o);
    ASSERT_TRUE(started) << started.error().message;
  }
  static void stop() {
    telltale::options o;
    o.sinks = "none";
    EXPECT_TRUE(telltale::start(o));
  }
  static bool flush() { return telltale::flush(std::chrono::seconds(60)); }
  static std::uint64_t sink_dropped() { return telltale::stats().sink_dropped; }
};

// Names of spans in requests over HTTP with protobuf.
std::multiset<std::string> span_names(const std::vector<received>& requests) {
  std::multiset<std::string> names;
  for (const received& r : requests) {
    if (r.path != "/v1/traces") continue;
    const auto message = from_protobuf<reference::TracesRequest>(r.body);
    for (const auto& resource : message.resource_spans()) {
      for (const auto& scope : resource.scope_spans()) {
        for (const auto& s : scope.spans()) names.insert(s.name());
      }
    }
  }
  return names;
}
std::multiset<std::string> bodies_of_lines(const std::vector<received>& requests) {
  std::multiset<std::string> lines;
  for (const received& r : requests) {
    if (r.path != "/v1/logs") continue;
    const auto message = from_protobuf<reference::LogsRequest>(r.body);
    for (const auto& scope : message.resource_logs(0).scope_logs()) {
      for (const auto& l : scope.log_records()) lines.insert(l.body().string_value());
    }
  }
  return lines;
}

TEST_F(OtlpExport, SpansAndLinesGoToTheirPathsWithTheirHeaders) {
  receiver there;
  const variables set(environment_variables{{"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b,x-tenant=7"}});
  start("otlp:" + there.url() + "/base/?compression=gzip");
  {
    TELLTALE_SPAN("one");
    TELLTALE_INFO("two");
  }
  ASSERT_TRUE(flush());
  const auto requests = there.requests();
  ASSERT_EQ(requests.size(), 2u);
  for (const received& r : requests) {
    EXPECT_TRUE(r.path == "/base/v1/traces" || r.path == "/base/v1/logs") << r.path;
    EXPECT_EQ(r.headers.at("content-type"), "application/x-protobuf");
    EXPECT_EQ(r.headers.at("content-encoding"), "gzip");
    EXPECT_EQ(r.headers.at("api-key"), "a b");
    EXPECT_EQ(r.headers.at("x-tenant"), "7");
  }
  EXPECT_EQ(sink_dropped(), 0u);
}

TEST_F(OtlpExport, JsonIsSentWhereItIsAskedFor) {
  receiver there;
  start("otlp:" + there.url() + "?protocol=http/json");
  {
    TELLTALE_SPAN("one");
  }
  ASSERT_TRUE(flush());
  ASSERT_EQ(there.requests().size(), 1u);
  EXPECT_EQ(there.requests()[0].headers.at("content-type"), "application/json");
  const auto message = from_json<reference::TracesRequest>(there.requests()[0].body);
  EXPECT_EQ(message.resource_spans(0).scope_spans(0).spans(0).name(), "one");
}

TEST_F(OtlpExport, ASignalCanHaveAnEndpointOfItsOwnOrBeOff) {
  receiver traces;
  receiver logs;
  {
    const variables set(environment_variables{{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", traces.url() + "/here"},
                                              {"OTEL_EXPORTER_OTLP_ENDPOINT", logs.url()}});
    start("otlp:");
  }
  {
    TELLTALE_SPAN("one");
    TELLTALE_INFO("two");
  }
  ASSERT_TRUE(flush());
  ASSERT_EQ(traces.requests().size(), 1u);
  EXPECT_EQ(traces.requests()[0].path, "/here");
  EXPECT_EQ(bodies_of_lines(logs.requests()), (std::multiset<std::string>{"two"}));
  const variables off(environment_variables{{"OTEL_LOGS_EXPORTER", "none"}});
  start("otlp:" + logs.url());
  TELLTALE_INFO("three");
  ASSERT_TRUE(flush());
  EXPECT_EQ(logs.requests().size(), 1u);
}

TEST_F(OtlpExport, WhatIsRefusedIsCountedSaidOnceAndNotTriedAgain) {
  receiver there(always(response(400, "no")));
  start("otlp:" + there.url());
  const std::uint64_t before = sink_dropped();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    TELLTALE_SPAN("one");
    telltale::flush(std::chrono::seconds(60));
  }
  {
    TELLTALE_SPAN("last");
  }
  EXPECT_TRUE(flush());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_of(said, "HTTP status 400"), 1u) << said;
  EXPECT_EQ(span_names(there.requests()).count("last"), 1u);
  // The four spans, and the loss records that told of the first ones, were all refused.
  EXPECT_GE(sink_dropped() - before, 4u);
}

TEST_F(OtlpExport, APartialSuccessIsCountedAndTold) {
  reference::TracesRequest none;
  const std::string partial("\x0a\x0a\x08\x02\x12\x06too ol", 12);  // rejected 2, "too ol"
  receiver there([&](const received& r) { return response(200, r.path == "/v1/traces" ? partial : ""); });
  start("otlp:" + there.url());
  const std::uint64_t before = sink_dropped();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    TELLTALE_SPAN("one");
  }
  EXPECT_TRUE(flush());
  EXPECT_TRUE(flush());  // the loss is told with the next batch
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(sink_dropped() - before, 2u);
  EXPECT_NE(said.find("did not take 2 of 3 records: too ol"), std::string::npos) << said;
  EXPECT_EQ(bodies_of_lines(there.requests()),
            (std::multiset<std::string>{"2 records were dropped here: not_delivered"}));
}

TEST_F(OtlpExport, WhatCannotBeTakenNowIsTriedAgainAfterTheReceiversDelay) {
  std::atomic<int> calls{0};
  receiver there(
      [&](const received&) { return ++calls <= 2 ? response(503, "", "Retry-After: 1\r\n") : response(200); });
  start("otlp:" + there.url());
  const auto begin = std::chrono::steady_clock::now();
  {
    TELLTALE_SPAN("one");
  }
  EXPECT_TRUE(flush());
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(calls, 3);
  EXPECT_GE(took, std::chrono::seconds(2));
  EXPECT_EQ(span_names(there.requests()).size(), 3u);  // the same span, each time
  EXPECT_GE(telltale::stats().sink_retries, 2u);
}

TEST_F(OtlpExport, GarbageAndClosedConnectionsAreTriedAgain) {
  std::atomic<int> calls{0};
  receiver there([&](const received&) -> std::string {
    switch (++calls) {
      case 1:
        return "";
      case 2:
        return "\x16\x03 this is no HTTP\r\n\r\n";
      default:
        return response(200, std::string(200'000, '\xff'));  // no message at all, and a lot of it
    }
  });
  start("otlp:" + there.url());
  const std::uint64_t before = sink_dropped();
  {
    TELLTALE_SPAN("one");
  }
  EXPECT_TRUE(flush());
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(sink_dropped(), before);
}

TEST_F(OtlpExport, AReceiverThatIsAwayForAWhileGetsEverything) {
  std::uint16_t port = 0;
  {
    receiver first;
    port = first.port();
  }
  start("otlp:http://127.0.0.1:" + std::to_string(port) + "?delay=1ms");
  std::multiset<std::string> expected;
  for (int i = 0; i < 50; ++i) {
    TELLTALE_SPAN("one");
    expected.insert("one");
  }
  EXPECT_FALSE(telltale::flush(std::chrono::milliseconds(300)));
  receiver second(always(response(200)), port);
  {
    TELLTALE_SPAN("two");
  }
  expected.insert("two");
  EXPECT_TRUE(flush());
  EXPECT_EQ(span_names(second.requests()), expected);
}

TEST_F(OtlpExport, AnEndpointThatHangsStopsNeitherTheProgramNorAnotherSink) {
  std::atomic<bool> go{false};
  receiver there([&](const received&) {
    while (!go) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return response(200);
  });
  const temporary_directory dir;
  const variables spans_only(environment_variables{{"OTEL_LOGS_EXPORTER", "none"}});  // a line can be lost too
  start("otlp:" + there.url() + "?pending=64KiB; json:" + (dir / "out.jsonl"));
  const std::uint64_t before = sink_dropped();
  constexpr int spans = 3000;
  for (int i = 0; i < spans; ++i) {
    TELLTALE_SPAN("one");
  }
  telltale::flush(std::chrono::milliseconds(1500));
  EXPECT_EQ(count_of(contents(dir / "out.jsonl"), "\"complete\""), static_cast<std::size_t>(spans));
  const std::uint64_t dropped = sink_dropped() - before;
  EXPECT_GT(dropped, 0u);  // 64 KiB don't hold them all
  go = true;
  EXPECT_TRUE(flush());
  // Conservation: what is not there was counted.
  EXPECT_EQ(span_names(there.requests()).size() + (sink_dropped() - before), static_cast<std::size_t>(spans));
}

TEST_F(OtlpExport, TheSpoolKeepsWhatCannotBeDeliveredForTheNextProcess) {
  const temporary_directory dir;
  std::uint16_t port = 0;
  {
    receiver first;
    port = first.port();
  }
  const std::string sink = "otlp:http://127.0.0.1:" + std::to_string(port) + "?spool=" + (dir / "spool");
  start(sink);
  for (int i = 0; i < 20; ++i) {
    TELLTALE_SPAN("kept");
  }
  EXPECT_TRUE(flush());  // on disk: nobody needs to wait
  EXPECT_GT(telltale::stats().sink_spooled_bytes, 0u);
  stop();

  receiver second(always(response(200)), port);
  start(sink);
  {
    TELLTALE_SPAN("new");
  }
  EXPECT_TRUE(flush());
  for (int i = 0; i < 600 && span_names(second.requests()).size() < 21; ++i) ::usleep(50'000);
  EXPECT_EQ(span_names(second.requests()).count("kept"), 20u);
  EXPECT_EQ(span_names(second.requests()).count("new"), 1u);
  stop();
  EXPECT_TRUE(std::filesystem::is_empty(dir / "spool"));
}

TEST_F(OtlpExport, ASpoolThatCannotBeWrittenIsSaidOnceAndMemoryHolds) {
  const variables silent({});
  std::uint16_t port = 0;
  {
    receiver first;
    port = first.port();
  }
  ::testing::internal::CaptureStderr();
  start("otlp:http://127.0.0.1:" + std::to_string(port) + "?spool=/proc/nowhere");
  {
    TELLTALE_SPAN("held");
  }
  EXPECT_FALSE(telltale::flush(std::chrono::milliseconds(300)));
  receiver second(always(response(200)), port);
  EXPECT_TRUE(flush());
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_of(said, "/proc/nowhere\" of the spool"), 1u) << said;
  EXPECT_EQ(span_names(second.requests()), (std::multiset<std::string>{"held"}));
}

TEST_F(OtlpExport, WhatCannotBeReadIsAnErrorThatNamesIt) {
  const std::vector<std::pair<environment_variables, std::string>> cases = {
      {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"}}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
      {{{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://"}}, "OTEL_EXPORTER_OTLP_ENDPOINT"},
      {{{"OTEL_EXPORTER_OTLP_PROTOCOL", "http"}}, "OTEL_EXPORTER_OTLP_PROTOCOL"},
      {{{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"}}, "OTEL_EXPORTER_OTLP_COMPRESSION"},
      {{{"OTEL_EXPORTER_OTLP_LOGS_TIMEOUT", "10s"}}, "OTEL_EXPORTER_OTLP_LOGS_TIMEOUT"},
      {{{"OTEL_EXPORTER_OTLP_TIMEOUT", "0"}}, "OTEL_EXPORTER_OTLP_TIMEOUT"},
      {{{"OTEL_EXPORTER_OTLP_HEADERS", "novalue"}}, "OTEL_EXPORTER_OTLP_HEADERS"},
      {{{"OTEL_EXPORTER_OTLP_HEADERS", "a=b%0d%0aEvil: 1"}}, "OTEL_EXPORTER_OTLP_HEADERS"},
      {{{"OTEL_TRACES_EXPORTER", "jaeger"}}, "OTEL_TRACES_EXPORTER"},
      {{{"OTEL_SDK_DISABLED", "yes"}}, "OTEL_SDK_DISABLED"},
      {{{"OTEL_BSP_SCHEDULE_DELAY", "-5"}}, "OTEL_BSP_SCHEDULE_DELAY"},
      {{{"OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", "many"}}, "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE"},
      {{{"OTEL_RESOURCE_ATTRIBUTES", "x"}}, "OTEL_RESOURCE_ATTRIBUTES"},
  };
  for (const auto& [set, named] : cases) {
    const variables now(set);
    telltale::options o;
    o.sinks = "otlp:";
    const auto started = telltale::start(o);
    ASSERT_FALSE(started) << named;
    EXPECT_NE(started.error().message.find(named), std::string::npos) << started.error().message;
  }
  for (const char* bad : {"otlp:nowhere", "otlp:?protocol=soap", "otlp:?nonsense=1", "otlp:?timeout=0s"}) {
    telltale::options o;
    o.sinks = bad;
    EXPECT_FALSE(telltale::start(o)) << bad;
  }
  const variables off(environment_variables{{"OTEL_SDK_DISABLED", "true"}});
  telltale::options o;
  o.sinks = "otlp:";
  EXPECT_TRUE(telltale::start(o));
}

}  // namespace
