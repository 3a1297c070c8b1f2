// Programs with an OTLP sink that end, fork, or whose clock is set: nothing is lost, nothing comes twice.
#include <chrono>

#include "requests.hpp"
#include "support/process.hpp"

using namespace telltale::testing;

namespace {

environment sending_to(const std::string& url, environment more = {}) {
  more.insert({{"TELLTALE_SINKS", "otlp:" + url},
               {"TELLTALE_OVERFLOW", "block"},
               {"TELLTALE_EXIT_TIMEOUT", "20s"},
               {"TSAN_OPTIONS", "report_thread_leaks=0"},  // a sending thread that exit no longer waits for
               {"OTEL_METRICS_EXPORTER", "none"}});
  return more;
}
std::map<std::int64_t, std::size_t> by_process(const std::vector<sent_record>& all) {
  std::map<std::int64_t, std::size_t> counts;
  for (const sent_record& r : all) ++counts[r.process];
  return counts;
}
std::string address_without_a_listener() {
  const receiver gone;
  return gone.url();
}

TEST(OtlpAtExit, EverythingIsDeliveredBeforeTheProgramIsGone) {
  // Slow enough that the end has to wait for it.
  receiver there([](const received&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return response(200);
  });
  const ended child = run(CHILD, {"exit"}, sending_to(there.url()));
  EXPECT_EQ(child.code, 0) << child;
  EXPECT_EQ(child.err, "");
  EXPECT_EQ(spans_in(there.requests()).size(), 200u);
  EXPECT_EQ(lines_in(there.requests()).size(), 200u);
}

TEST(OtlpAtExit, AReceiverThatDoesNotAnswerHoldsTheEndUpForAsLongAsAgreedOnly) {
  for (const std::string& url : {address_without_a_listener(), std::string("http://nowhere.invalid:4318")}) {
    const auto begin = std::chrono::steady_clock::now();
    environment e = sending_to(url);
    e["TELLTALE_EXIT_TIMEOUT"] = "500ms";
    const ended child = run(CHILD, {"exit"}, e);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
    EXPECT_EQ(child.code, 0) << child;
    // One line that says what and where, one of the end; not one per record.
    EXPECT_EQ(count_of(child.err, "cannot deliver to " + url + "/v1/"), 1u) << child;
    EXPECT_EQ(count_of(child.err, "exit did not wait"), 1u) << child;
    EXPECT_EQ(count_of(child.err, "\n"), 2u) << child;
  }
}

TEST(OtlpAtExit, AFullMemoryWithoutAReceiverIsSaidOnceAndStopsNothing) {
  environment e = sending_to("http://nowhere.invalid:4318?pending=64KiB");
  e["TELLTALE_EXIT_TIMEOUT"] = "300ms";
  const ended child = run(CHILD, {"flood"}, e);
  EXPECT_FALSE(child.hung);
  EXPECT_EQ(child.code, 0) << child;
  EXPECT_LE(count_of(child.err, "\n"), 2u) << child;
}

TEST(OtlpAfterFork, ParentAndChildSendEachTheirOwn) {
  receiver there;
  const ended child = run(FORK_CHILD, {"fork"}, sending_to(there.url()));
  EXPECT_EQ(child.code, 0) << child;
  EXPECT_EQ(child.err, "");
  for (const auto& all : {spans_in(there.requests()), lines_in(there.requests())}) {
    std::multiset<std::size_t> counts;
    for (const auto& [process, n] : by_process(all)) counts.insert(n);
    EXPECT_EQ(counts, (std::multiset<std::size_t>{20, 40}));
  }
}

TEST(OtlpAfterFork, AChildThatRecordsNothingSendsNothing) {
  receiver there;
  const ended child = run(FORK_CHILD, {"fork_silent"}, sending_to(there.url()));
  EXPECT_EQ(child.code, 0) << child;
  EXPECT_EQ(child.err, "");
  const auto counts = by_process(spans_in(there.requests()));
  ASSERT_EQ(counts.size(), 1u);
  EXPECT_EQ(counts.begin()->second, 40u);
}

TEST(OtlpAfterDeath, WhatWasNotDeliveredComesFromTheNextProcessUnderItsOwnNumber) {
  const temporary_directory dir;
  const std::string url = address_without_a_listener();
  const environment flight{{"TELLTALE_FLIGHT", dir.path() + "?service=child"}};
  const ended died = run(CHILD, {"abort"}, sending_to(url, flight));
  EXPECT_EQ(died.signal, SIGABRT) << died;
  receiver there(always(response(200)), static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  const ended next = run(CHILD, {"exit"}, sending_to(url, flight));
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(next.err, "");
  std::map<std::int64_t, std::vector<sent_record>> by_pid;
  for (const sent_record& s : spans_in(there.requests())) by_pid[s.process].push_back(s);
  ASSERT_EQ(by_pid.size(), 2u);
  const bool first_died = by_pid.begin()->second.size() != 200;
  const auto& of_dead = first_died ? by_pid.begin()->second : by_pid.rbegin()->second;
  const auto& of_next = first_died ? by_pid.rbegin()->second : by_pid.begin()->second;
  EXPECT_EQ(of_next.size(), 200u);
  for (const sent_record& s : of_next) EXPECT_FALSE(s.attributes.contains("telltale.recovered"));
  ASSERT_EQ(of_dead.size(), 21u);
  for (const sent_record& s : of_dead) {
    EXPECT_TRUE(s.attributes.contains("telltale.recovered"));
    EXPECT_EQ(s.attributes.contains("error.type"), s.name == "open");
  }
}

TEST(OtlpAfterDeath, ASpanOfATraceThatTheSamplerLeftOutIsNotLost) {
  const temporary_directory dir;
  const std::string url = address_without_a_listener();
  const environment how{{"TELLTALE_FLIGHT", dir.path() + "?service=child"}, {"OTEL_TRACES_SAMPLER", "always_off"}};
  EXPECT_EQ(run(CHILD, {"abort"}, sending_to(url, how)).signal, SIGABRT);
  receiver there(always(response(200)), static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  const ended next = run(CHILD, {"exit"}, sending_to(url, how));
  EXPECT_EQ(next.code, 0) << next;
  EXPECT_EQ(spans_in(there.requests()).size(), 0u);
  EXPECT_EQ(bodies_of_lines(there.requests()).count("line"), 220u);  // lines are never left out
}

TEST(OtlpClock, SetForthAndBackLosesNothingAndNoSpanEndsBeforeItBegins) {
  receiver there;
  const ended child = run(CHILD, {"set_clock"}, sending_to(there.url() + "?delay=10ms"));
  EXPECT_EQ(child.code, 0) << child;
  EXPECT_EQ(child.err, "");
  const auto spans = spans_in(there.requests());
  EXPECT_EQ(spans.size(), 61u);
  for (const sent_record& s : spans) EXPECT_LE(s.begin_ns, s.end_ns);
  EXPECT_EQ(lines_in(there.requests()).size(), 60u);
}

TEST(OtlpClock, SetForthAndBackDoesNotKeepTheSpoolFromBeingSent) {
  const temporary_directory dir;
  const std::string url = address_without_a_listener();
  const std::string sink = url + "?delay=10ms&spool=" + (dir / "spool");
  const ended before = run(CHILD, {"set_clock"}, sending_to(sink));
  EXPECT_EQ(before.code, 0) << before;
  receiver there(always(response(200)), static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
  const ended after = run(CHILD, {"exit"}, sending_to(sink));
  EXPECT_EQ(after.code, 0) << after;
  // What the next process hasn't sent by its end, the one after it sends.
  for (int i = 0; i < 20 && !std::filesystem::is_empty(dir / "spool"); ++i) run(CHILD, {"exit"}, sending_to(sink));
  EXPECT_TRUE(std::filesystem::is_empty(dir / "spool"));
  std::size_t of_first = SIZE_MAX;
  for (const auto& [process, n] : by_process(spans_in(there.requests()))) of_first = std::min(of_first, n);
  EXPECT_EQ(of_first, 61u);
}

}  // namespace
