// A span that fires too often is counted exactly and timed by sample, until it fires less.
#include <sys/wait.h>
#include <telltale/core/telltale.h>
#include <unistd.h>

#include <cmath>
#include <set>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::governor");

using namespace telltale::literals;
using namespace std::chrono_literals;
using telltale::testing::named;
using telltale::testing::recorded;

namespace {

constexpr double budget = 0.001;

std::uint64_t number(const telltale::trace_span& s, std::string_view key) {
  const auto* v = s.find(key);
  return v != nullptr ? std::get<std::uint64_t>(*v) : 0;
}
std::uint64_t number_of(const std::vector<telltale::trace_span>& spans, std::string_view name) {
  std::uint64_t n = 0;
  for (const auto& s : spans) n += s.name == name ? 1u : 0u;
  return n;
}
std::uint64_t calls_of(const std::vector<telltale::trace_span>& spans, std::string_view name) {
  std::uint64_t n = 0;
  for (const auto& s : spans) n += s.name == name ? s.calls : 0;
  return n;
}
std::uint64_t counted_since(const telltale::statistics& before) {
  return telltale::stats().counted - before.counted;
}
std::uint64_t lost_since(const telltale::statistics& before) {
  return telltale::stats().dropped_total() - before.dropped_total();
}

// Calls `hot` until some of its calls have been counted; how often it did.
template <class F>
std::uint64_t call_until_counted(F hot) {
  const auto before = telltale::stats();
  std::uint64_t calls = 0;
  while (counted_since(before) == 0) {
    for (int i = 0; i < 2000; ++i) hot();
    calls += 2000;
  }
  return calls;
}

TEST(Governor, CountsExactlyTimesASampleAndLeavesTheRestWhole) {
  recorded r({}, budget);
  const auto before = telltale::stats();
  std::uint64_t calls = 0;
  std::uint64_t ordinary = 0;
  telltale::context phase;
  {
    TELLTALE_SCOPE("job", "job_id"_a = telltale::text{"j1"});
    TELLTALE_SPAN_AS(outer, info, "phase");
    phase = outer.get_context();
    const auto hot = [&] { TELLTALE_SPAN("hot", "i"_a = 1); };
    calls += call_until_counted(hot);
    for (int round = 0; round < 40; ++round) {
      TELLTALE_SPAN("ordinary", "round"_a = round);
      ++ordinary;
      for (int i = 0; i < 10'000; ++i) hot();
      calls += 10'000;
    }
  }
  const auto spans = r.spans();
  EXPECT_EQ(calls_of(spans, "hot") + lost_since(before), calls);
  EXPECT_EQ(number_of(spans, "ordinary"), ordinary);
  EXPECT_EQ(number_of(spans, "phase"), 1u);

  std::uint64_t counted = 0;
  std::uint64_t timed = 0;
  for (const auto& s : spans) {
    if (s.name != "hot" || s.find("aggregate.calls") == nullptr) continue;
    EXPECT_EQ(s.trace, phase.trace);
    EXPECT_EQ(telltale::testing::text_of(s.find("job_id")), "j1");
    EXPECT_EQ(telltale::testing::text_of(s.find("aggregate.reason")), "over_budget");
    counted += number(s, "aggregate.calls");
    timed += number(s, "aggregate.timed");
    if (number(s, "aggregate.timed") > 1) {
      EXPECT_GT(std::get<double>(*s.find("aggregate.mean_ns")), 0);
      EXPECT_GE(std::get<double>(*s.find("aggregate.error_ns")), 0);
      EXPECT_LE(std::get<double>(*s.find("aggregate.min_ns")), std::get<double>(*s.find("aggregate.max_ns")));
    }
  }
  EXPECT_EQ(counted, counted_since(before));
  EXPECT_GE(counted, 400'000u);
  EXPECT_GT(timed, 0u);
  EXPECT_LT(timed, counted / 2);

  std::uint64_t said = 0;
  for (const auto& l : r.lines()) said += l.message.starts_with("span hot is only counted from here on") ? 1u : 0u;
  EXPECT_EQ(said, 1u);
}

TEST(Governor, ASpanBelowACountedOneStandsBelowItsParent) {
  recorded r({}, budget);
  TELLTALE_SPAN_AS(outer, info, "outer");
  const auto id = outer.get_context().span;
  const auto hot = [&](bool with_child) {
    TELLTALE_SPAN_AS(s, info, "hot parent");
    if (with_child) {
      TELLTALE_SPAN("child");
    }
  };
  call_until_counted([&] { hot(false); });
  for (int i = 0; i < 1000; ++i) hot(true);
  std::uint64_t children = 0;
  for (const auto& s : r.spans()) {
    if (s.name != "child") continue;
    ++children;
    EXPECT_EQ(s.parent, id);
  }
  EXPECT_EQ(children, 1000u);
}

TEST(Governor, EverythingThatASpanCanDoIsHarmlessOnACountedOne) {
  recorded r({}, budget);
  TELLTALE_SPAN_AS(other, info, "other");
  const auto target = other.get_context();
  const auto hot = [&](int depth, const auto& self) -> void {
    TELLTALE_SPAN_AS(s, info, "recursive", "text"_a = telltale::text{"a few words"});
    EXPECT_EQ(s.get_context(), telltale::current_context());
    s.set("late"_a = 1, "later"_a = telltale::text{"some more words"});
    s.link(target);
    s.kind(telltale::span_kind::client);
    s.fail("no_reason");
    TELLTALE_EVENT(s, "happened", "n"_a = 1);
    if (depth != 0) self(depth - 1, self);
  };
  const auto before = telltale::stats();
  const std::uint64_t rounds = call_until_counted([&] { hot(2, hot); });
  for (int i = 0; i < 5000; ++i) hot(2, hot);
  const auto spans = r.spans();
  if (lost_since(before) == 0) {
    EXPECT_EQ(calls_of(spans, "recursive"), 3 * (rounds + 5000));
  }
  EXPECT_EQ(telltale::current_context().span, target.span);
  EXPECT_EQ(telltale::stats().open_spans, 1u);
}

TEST(Governor, AddsUpOverThreadsThatEnd) {
  recorded r({}, budget);
  const auto before = telltale::stats();
  const auto hot = [] { TELLTALE_SPAN("threaded"); };
  std::uint64_t calls = call_until_counted(hot);
  constexpr int each = 50'000;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::thread> all;
    for (int t = 0; t < 8; ++t) {
      all.emplace_back([&] {
        for (int i = 0; i < each; ++i) hot();
      });
    }
    for (auto& t : all) t.join();
    calls += 8 * each;
  }
  EXPECT_EQ(calls_of(r.spans(), "threaded") + lost_since(before), calls);
}

TEST(Governor, ScopesAndLinesAreNeverCounted) {
  recorded r({}, budget);
  const auto before = telltale::stats();
  std::uint64_t rounds = 0;
  const auto end = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < end) {
    TELLTALE_SCOPE("busy scope", "i"_a = rounds);
    TELLTALE_INFO("busy line");
    ++rounds;
  }
  EXPECT_TRUE(telltale::flush());
  EXPECT_EQ(counted_since(before), 0u);
  const auto after = telltale::stats();
  EXPECT_EQ(after.written - before.written + lost_since(before), 2 * rounds);
}

TEST(Governor, LetsGoWhenTheRateFalls) {
  recorded r({}, budget);
  const auto hot = [] { TELLTALE_SPAN("bursty"); };
  call_until_counted(hot);
  (void)r.spans();
  // Slowly, until one is recorded by itself.
  std::uint64_t calls = 0;
  for (bool whole = false; !whole; ++calls) {
    hot();
    std::this_thread::sleep_for(5ms);
    if (calls % 20 != 0) continue;
    for (const auto& s : r.spans()) whole = whole || (s.name == "bursty" && s.find("aggregate.calls") == nullptr);
  }
  EXPECT_GT(calls, 100u) << "not before there was room for a second";
  std::uint64_t said = 0;
  for (const auto& l : r.lines()) said += l.message == "span bursty is recorded in full again" ? 1u : 0u;
  EXPECT_EQ(said, 1u);
}

TEST(Governor, WhatAFilterSwitchesOffIsNotCountedEither) {
  recorded r({}, budget);
  const auto hot = [] { TELLTALE_SPAN("filtered"); };
  call_until_counted(hot);
  (void)r.spans();
  ASSERT_TRUE(telltale::set_trace_filter("off"));
  const auto before = telltale::stats();
  for (int i = 0; i < 10'000; ++i) hot();
  EXPECT_TRUE(telltale::flush());
  EXPECT_EQ(counted_since(before), 0u);
  ASSERT_TRUE(telltale::set_trace_filter("info"));
  const std::uint64_t calls = call_until_counted(hot);
  EXPECT_GT(calls, 0u);
}

TEST(Governor, CountsSpansOfTheCInterface) {
  recorded r({}, budget);
  const auto before = telltale::stats();
  telltale_site_description d{};
  const auto text = [](std::string_view s) { return telltale_str{s.data(), s.size()}; };
  d.name = text("from c");
  d.module = text("test");
  d.file = text("here");
  d.level = TELLTALE_LEVEL_INFO;
  d.kind = TELLTALE_SPAN_SITE;
  telltale_site* site = telltale_site_new(&d);
  const auto hot = [&] {
    const telltale_span s = telltale_span_begin(site, nullptr, 0, nullptr);
    const telltale_context former = telltale_span_enter(s);
    telltale_span_set(s, nullptr, 0);
    telltale_context_set(&former);
    telltale_span_end(s);
    telltale_span_end(s);  // ended already: nothing
  };
  std::uint64_t calls = call_until_counted(hot);
  for (int i = 0; i < 100'000; ++i) hot();
  calls += 100'000;
  EXPECT_EQ(calls_of(r.spans(), "from c") + lost_since(before), calls);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their allocators do not survive it
TEST(Governor, AForkedChildRecordsInFullWhatItsParentCounted) {
  recorded r({}, budget);
  const auto hot = [] { TELLTALE_SPAN("before the fork"); };
  call_until_counted(hot);
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 10; ++i) hot();
    telltale::flush();
    const auto s = telltale::stats();
    ::_exit(s.written == 10 && s.counted == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

TEST(Governor, SwitchedOffItCountsNothing) {
  recorded r({}, 0);
  const auto before = telltale::stats();
  const auto end = std::chrono::steady_clock::now() + 300ms;
  while (std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) {
      TELLTALE_SPAN("unbounded");
    }
  }
  EXPECT_TRUE(telltale::flush());
  EXPECT_EQ(counted_since(before), 0u);
}

TEST(Governor, RefusesABudgetThatIsNoShare) {
  telltale::options o;
  o.overhead = 1.5;
  const auto started = telltale::start(o);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "TELLTALE_OVERHEAD: the share is a number from 0 to 1");
}

}  // namespace
