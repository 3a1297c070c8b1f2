// The OTLP sink against receivers that behave, misbehave, and come back.
#include <fcntl.h>
#include <sys/resource.h>
#include <telltale/core/telltale.h>

#include <cstdlib>
#include <fstream>

#include "recorded.hpp"
#include "requests.hpp"
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

// A port of this machine that nobody listens on (until a receiver is told to).
std::uint16_t free_port() {
  const receiver gone;
  return gone.port();
}
std::string url_of(std::uint16_t port) {
  return "http://127.0.0.1:" + std::to_string(port);
}

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
    o.overhead = 0;  // each record
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
  // What is printed meanwhile.
  template <class F>
  static std::string said_during(F f) {
    ::testing::internal::CaptureStderr();
    f();
    return ::testing::internal::GetCapturedStderr();
  }
};

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
  const std::uint16_t port = free_port();
  start("otlp:" + url_of(port) + "?delay=1ms");
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
  const std::uint16_t port = free_port();
  const std::string sink = "otlp:" + url_of(port) + "?spool=" + (dir / "spool");
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
  const std::uint16_t port = free_port();
  ::testing::internal::CaptureStderr();
  start("otlp:" + url_of(port) + "?spool=/proc/nowhere");
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

TEST_F(OtlpExport, MetricsDoNotPushAsideWhatWaitsForItsReceiver) {
  ::unsetenv("OTEL_METRICS_EXPORTER");
  const std::uint16_t port = free_port();
  start("otlp:" + url_of(port) + "?delay=1ms");
  {
    TELLTALE_SPAN("held");
  }
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(telltale::flush(std::chrono::milliseconds(100)));
  const std::uint64_t before = sink_dropped();
  receiver there(always(response(200)), port);
  EXPECT_TRUE(flush());
  EXPECT_EQ(span_names(there.requests()), (std::multiset<std::string>{"held"}));
  const auto requests = there.requests();
  EXPECT_TRUE(std::any_of(requests.begin(), requests.end(), [](const received& r) { return r.path == "/v1/metrics"; }));
  EXPECT_EQ(sink_dropped(), before);
}

TEST_F(OtlpExport, MetricsAreNotAllThatIsSentHoweverOftenTheyAreDue) {
  ::unsetenv("OTEL_METRICS_EXPORTER");
  const variables set(environment_variables{{"OTEL_METRIC_EXPORT_INTERVAL", "1"}});
  receiver there([](const received&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return response(200);
  });
  start("otlp:" + there.url() + "?delay=1ms");
  for (int i = 0; i < 3; ++i) {
    {
      TELLTALE_SPAN("one");
    }
    EXPECT_TRUE(flush());
  }
  EXPECT_EQ(span_names(there.requests()).count("one"), 3u);
}

TEST_F(OtlpExport, AnAnswerThatComesTooLateIsATryThatFailed) {
  std::atomic<int> calls{0};
  receiver there([&](const received&) {
    if (++calls == 1) std::this_thread::sleep_for(std::chrono::seconds(2));
    return response(200);
  });
  start("otlp:" + there.url() + "?timeout=200ms");
  const std::uint64_t before = sink_dropped();
  {
    TELLTALE_SPAN("slow");
  }
  const std::string said = said_during([] { EXPECT_TRUE(flush()); });
  EXPECT_EQ(count_of(said, "cannot deliver to " + there.url()), 1u) << said;
  EXPECT_GE(telltale::stats().sink_retries, 1u);
  EXPECT_EQ(sink_dropped(), before);
}

TEST_F(OtlpExport, EveryStatusThatIsNotForATryLaterIsCountedOnce) {
  for (const int status : {401, 404, 413, 500, 501}) {
    receiver there(always(response(status, std::string("\x1b[31mno\n", 8))));
    start("otlp:" + there.url());
    const std::uint64_t before = sink_dropped();
    {
      TELLTALE_SPAN("one");
    }
    const std::string said = said_during([] { EXPECT_TRUE(flush()); });
    EXPECT_EQ(there.requests().size(), 1u) << status;
    EXPECT_EQ(sink_dropped() - before, 1u) << status;
    EXPECT_EQ(count_of(said, "HTTP status " + std::to_string(status)), 1u) << said;
    EXPECT_EQ(count_of(said, "\n"), 1u) << said;
  }
}

TEST_F(OtlpExport, WhatAReceiverSaysIsOneLineHoweverItChangesAndHarmlessOnATerminal) {
  std::atomic<char> n{'a'};
  receiver there([&](const received& r) {
    const std::string said = std::string("\x1b[2Jno ") + n++;
    const std::string body = std::string("\x0a\x0a\x08\x01\x12\x06", 6) + said.substr(0, 6);
    return response(200, r.path == "/v1/traces" ? body : "");
  });
  start("otlp:" + there.url());
  const std::string said = said_during([] {
    for (int i = 0; i < 5; ++i) {
      TELLTALE_SPAN("one");
      telltale::flush(std::chrono::seconds(60));
    }
  });
  EXPECT_EQ(count_of(said, "\n"), 1u) << said;
  EXPECT_EQ(said.find('\x1b'), std::string::npos) << said;
}

TEST_F(OtlpExport, AFullDiskIsSaidOnceAndMemoryHoldsWhatTheSpoolCannot) {
  const temporary_directory dir;
  const std::uint16_t port = free_port();
  // Files may grow to 100 bytes: what a write sees of a disk that is full.
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit former{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &former), 0);
  start("otlp:" + url_of(port) + "?delay=1ms&spool=" + (dir / "spool"));
  const std::uint64_t before = sink_dropped();
  const std::uint64_t errors_before = telltale::stats().sink_errors;
  const int real = ::dup(2);
  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  ::dup2(out[1], 2);
  const rlimit full{100, former.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  for (int i = 0; i < 3; ++i) {
    TELLTALE_SPAN("held");
    telltale::flush(std::chrono::milliseconds(100));
  }
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &former), 0);
  receiver there(always(response(200)), port);
  EXPECT_TRUE(flush());
  ::dup2(real, 2);
  ::close(real);
  ::close(out[1]);
  char said[4096];
  const ssize_t size = ::read(out[0], said, sizeof said);
  ::close(out[0]);
  ASSERT_GT(size, 0);
  const std::string_view text(said, static_cast<std::size_t>(size));
  EXPECT_EQ(count_of(text, "of the spool: File too large"), 1u) << text;
  EXPECT_EQ(count_of(text, "\n"), 2u) << text;  // and that the receiver doesn't answer
  EXPECT_EQ(span_names(there.requests()).count("held"), 3u);
  EXPECT_EQ(sink_dropped(), before);
  EXPECT_GT(telltale::stats().sink_errors, errors_before);
  for (const auto& file : std::filesystem::directory_iterator(dir / "spool")) ADD_FAILURE() << file.path();
}

TEST_F(OtlpExport, ASpoolThatNobodyMayWriteToIsSaidOnceAndMemoryHolds) {
  const temporary_directory dir;
  std::filesystem::create_directory(dir / "spool");
  std::filesystem::permissions(dir / "spool", std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  // Nobody forbids root anything but here.
  const std::string folder = ::geteuid() != 0 ? dir / "spool" : "/proc/self/task";
  const std::uint16_t port = free_port();
  start("otlp:" + url_of(port) + "?delay=1ms&spool=" + folder);
  const std::string said = said_during([&] {
    for (int i = 0; i < 3; ++i) {
      TELLTALE_SPAN("held");
      telltale::flush(std::chrono::milliseconds(100));
    }
    receiver there(always(response(200)), port);
    EXPECT_TRUE(flush());
    EXPECT_EQ(span_names(there.requests()).count("held"), 3u);
  });
  EXPECT_EQ(count_of(said, folder), 2u) << said;  // that it can't be written, and where things should have gone
  EXPECT_EQ(count_of(said, "\n"), 2u) << said;
}

TEST_F(OtlpExport, AMegabyteOfTextAndTenThousandAttributesAreCutCountedAndTaken) {
  receiver there;
  start("otlp:" + there.url());
  std::uint64_t truncated = telltale::stats().truncated;
  const std::uint64_t dropped = sink_dropped() + telltale::stats().dropped_total();
  const std::string said = said_during([&] {
    {
      TELLTALE_SPAN("large", "text"_a = telltale::text{std::string(1 << 20, 'x')});
    }
    EXPECT_GT(telltale::stats().truncated, truncated);
    truncated = telltale::stats().truncated;
    telltale_site_description d{TELLTALE_SPAN_SITE,     TELLTALE_LEVEL_INFO,      TELLTALE_STR("many"),
                                TELLTALE_STR("limits"), TELLTALE_STR("here.cpp"), 1};
    const telltale_span s = telltale_span_begin(telltale_site_new(&d), nullptr, 0, nullptr);
    for (int i = 0; i < 10'000; ++i) {
      const std::string key = "key." + std::to_string(i);
      telltale_attribute a{{key.data(), key.size()}, TELLTALE_INT64, {}};
      a.value.int64 = i;
      telltale_span_set(s, &a, 1);
    }
    telltale_span_end(s);
    EXPECT_TRUE(flush());
  });
  EXPECT_EQ(said, "");
  for (const sent_record& s : spans_in(there.requests())) {
    if (s.name == "large") {
      EXPECT_EQ(s.attributes.at("text"), std::string(telltale::max_string_bytes, 'x'));
      EXPECT_EQ(s.attributes.at("text.cut"), "true");
    } else {
      ASSERT_EQ(s.name, "many");
      std::size_t kept = 0;
      for (const auto& [key, value] : s.attributes) {
        if (!key.starts_with("key.")) continue;
        ++kept;
        EXPECT_EQ(value, key.substr(4));
      }
      EXPECT_GE(kept, telltale::max_attributes);
      EXPECT_LT(kept, 2 * telltale::max_attributes);
      EXPECT_EQ(s.attributes.at("telltale.incomplete"), "true");
      EXPECT_EQ(telltale::stats().truncated - truncated, 10'000 - kept);
    }
  }
  EXPECT_EQ(spans_in(there.requests()).size(), 2u);
  EXPECT_EQ(sink_dropped() + telltale::stats().dropped_total(), dropped);
}

TEST_F(OtlpExport, ASpanThatStaysOpenIsTold) {
  receiver there;
  start("otlp:" + there.url() + "?delay=1ms");
  {
    TELLTALE_SCOPE("job", "job_id"_a = 7);
    TELLTALE_SPAN("long", "n"_a = 5);
    EXPECT_TRUE(there.wait_for(1));
  }
  EXPECT_TRUE(flush());
  std::map<std::string, sent_record> told;
  for (const sent_record& l : lines_in(there.requests())) told[l.attributes.at("telltale.span.name")] = l;
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told["long"].event, "telltale.span.open");
  EXPECT_EQ(told["long"].attributes.at("n"), "5");
  EXPECT_EQ(told["long"].attributes.at("job_id"), "7");
  std::map<std::string, sent_record> ended;
  for (const sent_record& s : spans_in(there.requests())) ended[s.name] = s;
  EXPECT_EQ(told["long"].attributes.at("telltale.span.start_time_unix_nano"), std::to_string(ended["long"].begin_ns));
  EXPECT_GE(told["long"].begin_ns - ended["long"].begin_ns, 1'000'000'000u);
  EXPECT_LE(told["long"].begin_ns, ended["long"].end_ns);
}

// What a sink is handed, by hand.
struct one_span {
  telltale::site_info site;
  telltale::thread_info thread{1, 4711, "worker"};
  one_span() {
    site.id = 1;
    site.name = "span";
    site.module = "by::hand";
  }
  telltale::span_view view() const {
    return {site, nullptr, thread, {1, 2}, {3}, {}, 1'000, 2'000, false, false, telltale::span_kind::internal,
            {},   {},      {}};
  }
};

TEST_F(OtlpExport, AHeartbeatIsAnEventOfItsOwn) {
  receiver there;
  const auto made = telltale::make_sinks("otlp:" + there.url());
  ASSERT_TRUE(made) << made.error().message;
  telltale::sink& sink = *made->front();
  const one_span s;
  sink.on_open_span(s.view());
  sink.on_heartbeat(s.view());
  EXPECT_TRUE(sink.flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  std::multiset<std::string> events;
  for (const sent_record& l : lines_in(there.requests())) events.insert(l.event);
  EXPECT_EQ(events, (std::multiset<std::string>{"telltale.span.heartbeat", "telltale.span.open"}));
}

TEST_F(OtlpExport, WhatAProcessLeftThatDiedIsSentAsThatProcesss) {
  receiver there;
  const auto made = telltale::make_sinks("otlp:" + there.url());
  ASSERT_TRUE(made) << made.error().message;
  telltale::sink& sink = *made->front();
  one_span own;
  sink.on_span(own.view());
  sink.on_other_process(12345);
  one_span of_dead;
  of_dead.site.name = "another with the same number";
  sink.on_lost_span(of_dead.view());
  sink.on_other_process(::getpid());
  sink.on_span(own.view());
  EXPECT_TRUE(sink.flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  std::multiset<std::pair<std::int64_t, std::string>> sent;
  for (const sent_record& s : spans_in(there.requests())) sent.insert({s.process, s.name});
  EXPECT_EQ(sent, (std::multiset<std::pair<std::int64_t, std::string>>{
                      {12345, "another with the same number"}, {::getpid(), "span"}, {::getpid(), "span"}}));
}

TEST_F(OtlpExport, TellsWhatIsOutInTheOrderInWhichItCame) {
  std::atomic<bool> traces_go{false};
  receiver there([&](const received& r) {
    while (r.path == "/v1/traces" && !traces_go) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return response(200);
  });
  const auto made = telltale::make_sinks("otlp:" + there.url());
  ASSERT_TRUE(made) << made.error().message;
  telltale::sink& sink = *made->front();
  EXPECT_EQ(sink.delivered().taken, 0u);
  const one_span s;
  sink.on_span(s.view());
  sink.on_batch_end();
  sink.on_open_span(s.view());
  sink.on_batch_end();
  EXPECT_FALSE(sink.flush(std::chrono::steady_clock::now() + std::chrono::milliseconds(200)));
  EXPECT_EQ(sink.delivered().taken, 2u);
  EXPECT_EQ(sink.delivered().out, 0u);
  traces_go = true;
  EXPECT_TRUE(sink.flush(std::chrono::steady_clock::now() + std::chrono::seconds(60)));
  EXPECT_EQ(sink.delivered().taken, 2u);
  EXPECT_EQ(sink.delivered().out, 2u);
}

TEST_F(OtlpExport, TracingEnabledAddsASinkToTheFirstEndpointThatIsNamed) {
  const auto start_with = [](const environment_variables& set) {
    const variables now(set);
    const auto o = telltale::options::from_environment();
    ASSERT_TRUE(o) << o.error().message;
    const auto started = telltale::start(*o);
    ASSERT_TRUE(started) << started.error().message;
    {
      TELLTALE_SPAN("one");
    }
    EXPECT_TRUE(flush());
  };
  receiver ours;
  receiver standard;
  receiver of_traces;
  const auto counts = [&] {
    return std::vector<std::size_t>{ours.requests().size(), standard.requests().size(), of_traces.requests().size()};
  };
  environment_variables all{{"TELLTALE_SINKS", "none"},
                            {"TRACING_ENABLED", "true"},
                            {"OTLP_ENDPOINT", ours.url()},
                            {"OTEL_EXPORTER_OTLP_ENDPOINT", standard.url()},
                            {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", of_traces.url()}};
  start_with(all);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 0, 0}));
  all.erase("OTLP_ENDPOINT");
  start_with(all);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 0, 1}));
  all.erase("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
  start_with(all);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 1, 1}));
  all.erase("OTEL_EXPORTER_OTLP_ENDPOINT");
  all["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = of_traces.url();
  start_with(all);
  EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 1, 2}));
  all["OTLP_ENDPOINT"] = ours.url();
  for (const char* off : {"false", ""}) {
    all["TRACING_ENABLED"] = off;
    start_with(all);
    EXPECT_EQ(counts(), (std::vector<std::size_t>{1, 1, 2})) << off;
  }

  const variables nobody({{"TELLTALE_SINKS", "none"}, {"TRACING_ENABLED", "true"}});
  const auto o = telltale::options::from_environment();
  ASSERT_TRUE(o);
  EXPECT_NE(o->sinks.find("otlp:http://localhost:4317"), std::string::npos) << o->sinks;
  const variables malformed(environment_variables{{"TRACING_ENABLED", "yes"}});
  const auto bad = telltale::options::from_environment();
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("TRACING_ENABLED: \"yes\""), std::string::npos) << bad.error().message;
  const variables no_url(environment_variables{{"TRACING_ENABLED", "true"}, {"OTLP_ENDPOINT", "collector:4317"}});
  const auto started = telltale::start(*telltale::options::from_environment());
  ASSERT_FALSE(started);
  EXPECT_NE(started.error().message.find("collector:4317"), std::string::npos) << started.error().message;
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
      {{{"OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere/ca.pem"}}, "OTEL_EXPORTER_OTLP_CERTIFICATE"},
      {{{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY", "/nowhere/key.pem"}}, "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY"},
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
