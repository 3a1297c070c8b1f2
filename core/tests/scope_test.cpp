// Scopes: attributes that everything below inherits, across threads, whatever the filters say.
#include <latch>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::scope");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

TEST(Scopes, GiveTheirAttributesToEverythingBelow) {
  recorded r;
  {
    TELLTALE_SCOPE("prove", "job_id"_a = "c1", "try"_a = 2);
    TELLTALE_SPAN("msm", "n"_a = 5);
    TELLTALE_INFO("loaded");
  }
  TELLTALE_INFO("outside");
  const auto spans = r.spans();
  EXPECT_EQ(text_of(named(spans, "msm").find("job_id")), "c1");
  EXPECT_EQ(text_of(named(spans, "msm").find("try")), "2");
  EXPECT_EQ(text_of(named(spans, "msm").find("n")), "5");
  EXPECT_EQ(text_of(named(spans, "prove").find("job_id")), "c1");
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].attributes.at(0).first, "job_id");
  EXPECT_EQ(lines[0].span, named(spans, "msm").id);
  EXPECT_TRUE(lines[1].attributes.empty());
}

// They are not in its record, and what is set later is not taken for them.
TEST(Scopes, KeepTheirOwnAttributesBesideThoseThatAreSetLater) {
  recorded r;
  {
    TELLTALE_SCOPE_AS(job, "prove", "job_id"_a = "c1", "try"_a = 2);
    job.set("rows"_a = 7, "state"_a = "half done");
    job.fail("prove_failed");
    TELLTALE_INFO("loaded");
  }
  const auto spans = r.spans();
  const auto& job = named(spans, "prove");
  EXPECT_EQ(text_of(job.find("job_id")), "c1");
  EXPECT_EQ(text_of(job.find("try")), "2");
  EXPECT_EQ(text_of(job.find("rows")), "7");
  EXPECT_EQ(text_of(job.find("state")), "half done");
  EXPECT_EQ(text_of(job.find("error.type")), "prove_failed");
  EXPECT_EQ(job.attributes.size(), 5u);
}

TEST(Scopes, NestAndTheNearerOneWins) {
  recorded r;
  {
    TELLTALE_SCOPE("outer", "job_id"_a = "outer", "node"_a = "n1");
    TELLTALE_SCOPE("inner", "job_id"_a = "inner", "task_id"_a = "t9");
    TELLTALE_SPAN("work");
  }
  const auto spans = r.spans();
  const auto& work = named(spans, "work");
  EXPECT_EQ(text_of(work.find("job_id")), "inner");
  EXPECT_EQ(text_of(work.find("node")), "n1");
  EXPECT_EQ(text_of(work.find("task_id")), "t9");
  EXPECT_EQ(text_of(named(spans, "outer").find("job_id")), "outer");
}

TEST(Scopes, TellTwoJobsApartThatRunSideBySide) {
  recorded r;
  std::latch both(2);
  const auto job = [&](const char* id) {
    TELLTALE_SCOPE("job", "job_id"_a = telltale::text{id});
    both.arrive_and_wait();
    for (int i = 0; i < 100; ++i) {
      TELLTALE_SPAN("step");
      TELLTALE_INFO("step of {who}", "who"_a = telltale::text{id});
    }
  };
  std::thread a(job, "a");
  std::thread b(job, "b");
  a.join();
  b.join();
  int of_a = 0;
  for (const auto& l : r.lines()) {
    std::string who;
    std::string id;
    for (const auto& [key, value] : l.attributes) (key == "who" ? who : id) = telltale::to_string(value);
    EXPECT_EQ(who, id);
    of_a += id == "a" ? 1 : 0;
  }
  EXPECT_EQ(of_a, 100);
  for (const auto& s : r.spans()) EXPECT_NE(s.find("job_id"), nullptr);
}

TEST(Scopes, KeepTheirAttributesWhereTheTraceFilterIsOff) {
  recorded r(telltale::options{.trace = "off"});
  {
    TELLTALE_SCOPE("quiet", "job_id"_a = "q7");
    TELLTALE_INFO("still tells the job");
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].attributes.size(), 1u);
  EXPECT_EQ(telltale::to_string(lines[0].attributes[0].second), "q7");
  EXPECT_TRUE(r.spans().empty());
}

TEST(Scopes, AreResolvedAlsoForLinesOfAContextThatOutlivedThem) {
  recorded r;
  telltale::context kept;
  {
    TELLTALE_SCOPE("short", "job_id"_a = "gone");
    kept = telltale::current_context();
  }
  telltale::flush();
  {
    telltale::with_context guard{kept};
    TELLTALE_INFO("late");
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  // Either still known, or counted: never somebody else's.
  if (lines[0].attributes.empty()) {
    EXPECT_GT(telltale::stats().stale_scopes, 0u);
  } else {
    EXPECT_EQ(telltale::to_string(lines[0].attributes[0].second), "gone");
  }
}

TEST(Scopes, AreUsedAgainWithoutEverMixingAttributes) {
  recorded r;
  for (int i = 0; i < 40'000; ++i) {  // more than there are nodes
    TELLTALE_SCOPE("round", "i"_a = i);
    TELLTALE_INFO("round {n}", "n"_a = i);
    if (i % 1000 == 0) telltale::flush();
  }
  std::size_t with_scope = 0;
  for (const auto& l : r.lines()) {
    ASSERT_FALSE(l.attributes.empty());
    if (l.attributes.size() < 2) continue;
    ++with_scope;
    EXPECT_EQ(l.attributes[0].second, l.attributes[1].second);
  }
  EXPECT_EQ(with_scope, 40'000u);
}

TEST(Scopes, WithTooMuchTextAreCutAndCounted) {
  recorded r;
  const auto before = telltale::stats().truncated;
  {
    TELLTALE_SCOPE("big", "a"_a = telltale::text{std::string(500, 'x')}, "b"_a = 1);
    TELLTALE_INFO("line");
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_LT(telltale::to_string(lines[0].attributes.at(0).second).size(), 500u);
  EXPECT_EQ(telltale::stats().truncated, before + 1);
}

}  // namespace
