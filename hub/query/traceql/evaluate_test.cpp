// What queries answer, on one small trace whose answers are known.
#include "evaluate.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "../rows.hpp"
#include "parse.hpp"

namespace telltale::hub::traceql {
namespace {

//  1 request 0-1000            service front, resource region "eu"
//  ├─ 2 load 0-100             .bytes 4096, phase "read"
//  ├─ 3 prove 100-900          .n 8, job_id "j1", kind server
//  │  ├─ 4 msm 100-500         .n 4, .ok true, error
//  │  └─ 5 msm 500-800         .n 6, .rate 1.5
//  └─ 6 write 900-1000
std::vector<span_row> sample() {
  using test::row;
  std::vector<span_row> r{row(1, 0, "request", 0, 1000), row(2, 1, "load", 0, 100),  row(3, 1, "prove", 100, 900),
                          row(4, 3, "msm", 100, 500),    row(5, 3, "msm", 500, 800), row(6, 1, "write", 900, 1000)};
  r[0].service = "front";
  for (span_row& one : r) one.resource.emplace_back("region", std::string("eu"));
  r[1].attributes.emplace_back("bytes", std::uint64_t{4096});
  r[1].phase = "read";
  r[2].attributes.emplace_back("n", std::int64_t{8});
  r[2].job_id = "j1";
  r[2].kind = 2;
  r[3].attributes.emplace_back("n", std::int64_t{4});
  r[3].attributes.emplace_back("ok", true);
  r[3].status = status_code::error;
  r[4].attributes.emplace_back("n", std::int64_t{6});
  r[4].attributes.emplace_back("rate", 1.5);
  return r;
}

// "4 5" for one group of two spans, "4 | 5" for two groups.
std::string answer(std::string_view text, const std::vector<span_row>& rows = sample()) {
  parsed p = parse(text);
  if (!p) return p.error().message;
  const trace_index trace(rows);
  std::string out;
  bool first = true;
  for (const span_group& g : evaluator(*std::move(p)).run(trace)) {
    if (!first) out += " |";
    first = false;
    for (const std::size_t i : g.spans) out += (out.empty() ? "" : " ") + std::to_string(rows[i].id.value);
  }
  return out;
}

TEST(TraceqlEvaluator, FiltersByFieldsAndAttributes) {
  EXPECT_EQ(answer("{}"), "1 2 3 4 5 6");
  EXPECT_EQ(answer("{ name = \"msm\" }"), "4 5");
  EXPECT_EQ(answer("{ name != \"msm\" && duration >= 800ns }"), "1 3");
  EXPECT_EQ(answer("{ .n > 5 }"), "3 5");
  EXPECT_EQ(answer("{ .n != 8 }"), "4 5");
  EXPECT_EQ(answer("{ !(.n = 8) }"), "1 2 4 5 6");
  EXPECT_EQ(answer("{ .bytes / 1024 = 4 }"), "2");
  EXPECT_EQ(answer("{ .ok }"), "4");
  EXPECT_EQ(answer("{ .rate < 2 }"), "5");
  EXPECT_EQ(answer("{ status = error || kind = server }"), "3 4");
  EXPECT_EQ(answer("{ .job_id = \"j1\" || span.phase =~ \"re.d\" }"), "2 3");
  EXPECT_EQ(answer("{ name =~ \"s\" }"), "");
  EXPECT_EQ(answer("{ name !~ \".*s.*\" }"), "2 3 6");
}

TEST(TraceqlEvaluator, LooksIntoTheScopeThatIsNamed) {
  EXPECT_EQ(answer("{ .region = \"eu\" && name = \"load\" }"), "2");
  EXPECT_EQ(answer("{ span.region = \"eu\" }"), "");
  EXPECT_EQ(answer("{ resource.region != \"us\" && .n = 4 }"), "4");
  EXPECT_EQ(answer("{ resource.n = 4 }"), "");
}

TEST(TraceqlEvaluator, AnswersFalseWhereAnAttributeIsMissingOrOfAnotherType) {
  EXPECT_EQ(answer("{ .nope != 1 }"), "");
  EXPECT_EQ(answer("{ .n = \"4\" }"), "");
  EXPECT_EQ(answer("{ .n != \"4\" }"), "");
  EXPECT_EQ(answer("{ .n = nil }"), "1 2 6");
  EXPECT_EQ(answer("{ .n != nil }"), "3 4 5");
  EXPECT_EQ(answer("{ .n / 0 = 1 }"), "");
}

TEST(TraceqlEvaluator, KnowsTheTrace) {
  EXPECT_EQ(answer("{ rootName = \"request\" && rootServiceName = \"front\" && traceDuration = 1us && .n = 4 }"), "4");
  EXPECT_EQ(answer("{ trace:id = \"00000000000000010000000000000001\" && span:id = \"0000000000000005\" }"), "5");
  EXPECT_EQ(answer("{ span:parentID = \"0000000000000003\" }"), "4 5");
}

TEST(TraceqlEvaluator, FollowsStructure) {
  EXPECT_EQ(answer("{ name = \"request\" } >> { name = \"msm\" }"), "4 5");
  EXPECT_EQ(answer("{ name = \"request\" } > { name = \"msm\" }"), "");
  EXPECT_EQ(answer("{ name = \"prove\" } > { .n = 6 }"), "5");
  EXPECT_EQ(answer("{ name = \"msm\" } << {}"), "1 3");
  EXPECT_EQ(answer("{ name = \"msm\" } < {}"), "3");
  EXPECT_EQ(answer("{ .n = 4 } ~ {}"), "5");
  EXPECT_EQ(answer("{ name = \"msm\" } ~ { name = \"msm\" }"), "4 5");
  EXPECT_EQ(answer("{ name = \"load\" } ~ { name = \"load\" }"), "");
  EXPECT_EQ(answer("{ name = \"request\" } >> { name = \"prove\" } >> { .n = 6 }"), "5");
  EXPECT_EQ(answer("{ name = \"msm\" } && { name = \"load\" }"), "2 4 5");
  EXPECT_EQ(answer("{ name = \"msm\" } && { name = \"nope\" }"), "");
  EXPECT_EQ(answer("{ name = \"msm\" } || { name = \"nope\" }"), "4 5");
}

TEST(TraceqlEvaluator, EndsOnSpansThatAreTheirOwnAncestors) {
  using test::row;
  const std::vector<span_row> circle{row(1, 3, "a", 0, 9), row(2, 1, "b", 0, 9), row(3, 2, "c", 0, 9)};
  EXPECT_EQ(answer("{ name = \"a\" } >> { name = \"c\" }", circle), "3");
  EXPECT_EQ(answer("{ name = \"a\" } << {}", circle), "1 2 3");
  EXPECT_EQ(answer("{ name = \"x\" } >> {}", circle), "");
  // As deep as no stack of calls is.
  std::vector<span_row> deep;
  for (std::uint64_t i = 1; i <= 200'000; ++i)
    deep.push_back(row(i, i - 1, i == 1 ? "top" : i == 200'000 ? "low" : "n", 0, 9));
  EXPECT_EQ(answer("{ name = \"top\" } >> { name = \"low\" }", deep), "200000");
  EXPECT_EQ(answer("{ name = \"low\" } << { name = \"top\" }", deep), "1");
}

TEST(TraceqlEvaluator, RunsPipelines) {
  EXPECT_EQ(answer("{ name = \"msm\" } | count() > 1"), "4 5");
  EXPECT_EQ(answer("{ name = \"msm\" } | count() > 2"), "");
  EXPECT_EQ(answer("{ name = \"msm\" } | avg(duration) = 350ns"), "4 5");
  EXPECT_EQ(answer("{ name = \"msm\" } | max(.n) - min(.n) = 2 | sum(.n) >= 10"), "4 5");
  EXPECT_EQ(answer("{} | by(name)"), "1 | 2 | 3 | 4 5 | 6");
  EXPECT_EQ(answer("{} | by(name) | count() > 1"), "4 5");
  EXPECT_EQ(answer("{} | by(name) | count() = 1 | coalesce()"), "1 2 3 6");
  EXPECT_EQ(answer("{ .n > 0 } | { .n < 7 } | { .n > 4 }"), "5");
  EXPECT_EQ(answer("{} | max(.nope) > 0"), "");
  EXPECT_EQ(answer("({ name = \"msm\" } | count() > 5) || { name = \"load\" }"), "2");
  EXPECT_EQ(answer("{ .n > 0 } | select(.n)"), "3 4 5");
}

std::vector<series> metrics_of(std::string_view text, const steps& over) {
  parsed p = parse(text);
  evaluator e(*std::move(p));
  EXPECT_TRUE(e.makes_metrics());
  const auto rows = sample();
  e.add(trace_index(rows), over);
  return e.metrics_so_far(over);
}

TEST(TraceqlEvaluator, MakesMetricsOverTime) {
  const steps over{0, 500, 2};
  auto rate = metrics_of("{ name = \"msm\" } | rate()", over);
  ASSERT_EQ(rate.size(), 1u);
  EXPECT_EQ(rate[0].values, (std::vector<double>{2e6, 2e6}));
  auto counts = metrics_of("{} | count_over_time() by (name)", over);
  ASSERT_EQ(counts.size(), 5u);
  EXPECT_EQ(counts[0].labels, (std::vector<std::pair<std::string, std::string>>{{"name", "load"}}));
  EXPECT_EQ(counts[1].labels[0].second, "msm");
  EXPECT_EQ(counts[1].values, (std::vector<double>{1, 1}));
  auto q = metrics_of("{ .n > 0 } | quantile_over_time(duration, 0, 0.5, 1)", {0, 1000, 1});
  ASSERT_EQ(q.size(), 3u);
  EXPECT_EQ(q[0].values[0], 300);
  EXPECT_EQ(q[1].values[0], 400);
  EXPECT_EQ(q[2].values[0], 800);
  EXPECT_EQ(q[2].labels.back(), (std::pair<std::string, std::string>{"p", "1"}));
  auto least = metrics_of("{ .n > 0 } | min_over_time(.n)", over);
  EXPECT_EQ(least[0].values[0], 4);
  EXPECT_EQ(least[0].values[1], 6);
  EXPECT_TRUE(std::isnan(metrics_of("{ .n = 4 } | avg_over_time(.n)", over)[0].values[1]));
}

}  // namespace
}  // namespace telltale::hub::traceql
