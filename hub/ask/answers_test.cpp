// One suite of questions to three stores: rows in memory, where the evaluator alone decides, and DuckDB and ClickHouse,
// which narrow down by SQL first. The answers must be the same.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "hub/ask/export.hpp"
#include "hub/ask/find.hpp"
#include "hub/ask/memory_store.hpp"
#include "hub/otlp/decode.hpp"
#include "hub/query/rows.hpp"
#include "hub/query/traceql/parse.hpp"
#include "hub/store/clickhouse/testing/peer.hpp"

namespace telltale::hub {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t begin = 1'778'273'112 * second;

// 40 traces of up to 12 spans, always the same ones.
std::vector<span_row> sample() {
  std::mt19937_64 random(7);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<span_row> rows;
  for (std::uint64_t t = 1; t <= 40; ++t) {
    const std::uint64_t n = 1 + below(12);
    for (std::uint64_t i = 1; i <= n; ++i) {
      const char* names[] = {"prove", "msm", "ntt", "it's"};
      const auto start = begin + static_cast<std::int64_t>(t) * second + static_cast<std::int64_t>(below(1000));
      span_row r = test::row(i, i == 1 ? 0 : 1 + below(i - 1), names[below(4)], start,
                             start + static_cast<std::int64_t>(below(3 * second)));
      r.trace = {t << 60 | t, t};
      r.kind = static_cast<std::uint8_t>(below(6));
      r.status = static_cast<status_code>(below(3));
      r.service = below(2) == 0 ? "prover" : "hub";
      r.resource.emplace_back("service.name", r.service);
      if (below(2) == 0) r.resource.emplace_back("x", std::string("r"));
      if (below(2) == 0) r.job_id = "j" + std::to_string(below(3));
      switch (below(6)) {
        case 0:
          r.attributes.emplace_back("x", static_cast<std::int64_t>(below(4)));
          break;
        case 1:
          r.attributes.emplace_back("x", (static_cast<double>(below(6)) - 1) * 0.5 * (below(2) == 0 ? 1 : -1));
          break;
        case 2:
          r.attributes.emplace_back("x", std::string("2"));
          break;
        case 3:
          r.attributes.emplace_back("x", below(2) == 0);
          break;
        case 4:
          r.attributes.emplace_back("odd key'\"%", std::string("a'b"));
          break;
        default:
          break;
      }
      rows.push_back(std::move(r));
    }
  }
  return rows;
}

constexpr const char* queries[] = {
    "{}",
    "{ name = \"msm\" }",
    "{ name = \"it's\" && duration > 1s }",
    "{ name != \"msm\" && duration <= 100ms }",
    "{ name =~ \"m.m\" }",
    "{ name !~ \"(p|n).*\" }",
    "{ .x = 2 }",
    "{ .x = 2.0 }",
    "{ .x = 1.5 }",
    "{ .x = 0 }",
    "{ .x = 2ns }",
    "{ .x = 100000000000000000000.0 }",
    "{ span.x = 1 }",
    "{ !(.x = 1) }",
    "{ .job_id = 2 }",
    "{ .job_id = true }",
    "{ .x != 2 }",
    "{ .x > 1.5 }",
    "{ 1 < .x }",
    "{ .x = \"2\" }",
    "{ .x != \"2\" }",
    "{ .x = \"r\" }",
    "{ span.x = \"r\" }",
    "{ resource.x = \"r\" }",
    "{ .x }",
    "{ !.x }",
    "{ .x = true }",
    "{ .x = nil }",
    "{ .x != nil && !(.x = \"r\") }",
    "{ !(.x = 2) }",
    "{ !(name = \"msm\") && .job_id = \"j1\" }",
    "{ .job_id =~ \"j[02]\" }",
    "{ .\"odd key'\\\"%\" = \"a'b\" }",
    "{ status = error && kind = server }",
    "{ status != ok || kind != client }",
    "{ resource.service.name = \"prover\" }",
    "{ rootName = \"prove\" && name = \"ntt\" }",
    "{ traceDuration > 2s }",
    "{ .x + 1 = 3 }",
    "{ name = \"prove\" } >> { name = \"msm\" }",
    "{ name = \"prove\" } > { status = error }",
    "{ name = \"msm\" } << { name = \"ntt\" }",
    "{ name = \"msm\" } ~ { name = \"ntt\" }",
    "{ name = \"msm\" } && { .x = 2 }",
    "{ name = \"msm\" && .x = 3 } || { .job_id = \"j2\" && status = error }",
    "({ name = \"msm\" } | count() > 2) && { name = \"ntt\" }",
    "{ name = \"msm\" } | count() > 2",
    "{ name = \"msm\" } | avg(duration) > 1500ms",
    "{} | by(name) | count() > 3",
    "count() > 8",
    "{ trace:id = \"10000000000000010000000000000001\" }",
    "{ name = \"nope\" }",
};

std::string answer(const store& s, const traceql::pipeline& query) {
  const auto found = search(s, query, {}, {1'000, 10'000});
  if (!found) return found.error().message;
  std::string out;
  for (const found_trace& t : found->traces) {
    out += std::to_string(t.spans.front().trace.low) + ":";
    for (const traceql::span_group& g : t.groups) {
      std::vector<std::uint64_t> ids;
      for (const std::size_t i : g.spans) ids.push_back(t.spans[i].id.value);
      std::sort(ids.begin(), ids.end());
      for (const std::uint64_t id : ids) out += " " + std::to_string(id);
      out += ";";
    }
    out += "\n";
  }
  return out;
}

class Answers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam()) == "ClickHouse") {
      peer_ = std::make_unique<testing::clickhouse_peer>();
      if (!peer_->why_not().empty()) GTEST_SKIP() << peer_->why_not();
      store_ = peer_->opened();
    } else {
      auto opened = open_store({});
      ASSERT_TRUE(opened) << opened.error().message;
      store_ = *std::move(opened);
    }
    const auto batch =
        decode(otlp::signal_kind::traces, *protobuf_of_json(otlp::signal_kind::traces, *export_spans(rows_, "otlp")));
    ASSERT_TRUE(batch);
    ASSERT_EQ((*batch)->rejected, 0u) << (*batch)->why;
    const auto kept = store_->append(*batch);
    ASSERT_TRUE(kept) << kept.error().message;
    store_->settle();
  }

  const std::vector<span_row> rows_ = sample();
  std::unique_ptr<testing::clickhouse_peer> peer_;
  std::unique_ptr<store> store_;
};

INSTANTIATE_TEST_SUITE_P(Of, Answers, ::testing::Values("DuckDB", "ClickHouse"),
                         [](const auto& p) { return std::string(p.param); });

TEST_P(Answers, AreTheSameInEveryStore) {
  const test::memory_store memory(rows_);
  for (const char* text : queries) {
    const traceql::parsed query = traceql::parse(text);
    ASSERT_TRUE(query) << query.error().message;
    EXPECT_EQ(answer(*store_, *query), answer(memory, *query)) << text;
  }
}

TEST_P(Answers, OfMetricsAreThoseOfTheEvaluator) {
  const traceql::steps over{begin, 10 * second, 5};
  for (const char* text : {"{ name = \"msm\" } | rate()", "{} | count_over_time() by (name, .job_id)",
                           "{ status = error } | quantile_over_time(duration, 0.5, .99) by (kind)",
                           "{} | max_over_time(duration) by (status)", "{ .x > 1 } | avg_over_time(.x) by (name)",
                           "{} | sum_over_time(duration)", "{ .job_id = \"j1\" } | min_over_time(duration)"}) {
    const traceql::parsed query = traceql::parse(text);
    ASSERT_TRUE(query) << query.error().message;
    const auto there = measure(*store_, *query, over);
    ASSERT_TRUE(there) << text << ": " << there.error().message;
    traceql::evaluator here(*query);
    std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<span_row>> traces;
    for (const span_row& r : rows_) traces[{r.trace.high, r.trace.low}].push_back(r);
    for (const auto& [_, spans] : traces) here.add(traceql::trace_index(spans), over);
    const auto expected = here.metrics_so_far(over);
    ASSERT_EQ(there->series.size(), expected.size()) << text;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(there->series[i].labels, expected[i].labels) << text;
      for (std::size_t k = 0; k < over.count; ++k) {
        const double a = there->series[i].values[k];
        const double b = expected[i].values[k];
        EXPECT_TRUE((std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-9 * std::abs(b)) << text << a << " " << b;
      }
    }
  }
}

TEST_P(Answers, CountNamesExactly) {
  const traceql::parsed filter = traceql::parse("{ .job_id = \"j1\" }");
  const auto top = find_top(*store_, &*filter, {}, 100);
  ASSERT_TRUE(top) << top.error().message;
  std::uint64_t all = 0;
  for (const top_row& t : *top) {
    std::vector<double> durations;
    std::uint64_t errors = 0;
    for (const span_row& r : rows_) {
      if (r.job_id != "j1" || r.name != t.name || r.kind != t.kind) continue;
      durations.push_back(static_cast<double>(r.duration_ns));
      errors += r.status == status_code::error ? 1 : 0;
    }
    std::sort(durations.begin(), durations.end());
    ASSERT_EQ(t.count, durations.size());
    EXPECT_EQ(t.errors, errors);
    EXPECT_EQ(t.max_ns, durations.back());
    if (durations.size() % 2 == 1) {
      EXPECT_EQ(t.p50_ns, durations[durations.size() / 2]);
    }
    all += t.count;
  }
  EXPECT_EQ(all, static_cast<std::uint64_t>(
                     std::count_if(rows_.begin(), rows_.end(), [](const span_row& r) { return r.job_id == "j1"; })));
  const traceql::parsed inexact = traceql::parse("{ .x > 1 }");
  EXPECT_FALSE(find_top(*store_, &*inexact, {}, 100));
}

TEST_P(Answers, FindJobsAndTraces) {
  const auto job = find_subject(*store_, "j2", {});
  ASSERT_TRUE(job) << job.error().message;
  std::set<std::pair<std::uint64_t, std::uint64_t>> of_job;  // those that name it, and those below that name none
  for (std::size_t before = SIZE_MAX; before != of_job.size();) {
    before = of_job.size();
    for (const span_row& r : rows_) {
      const bool below = r.job_id.empty() && of_job.contains({r.trace.low, r.parent.value});
      if (r.job_id == "j2" || below) of_job.insert({r.trace.low, r.id.value});
    }
  }
  EXPECT_EQ(job->traces[0].size(), of_job.size());
  const auto trace = find_subject(*store_, "20000000000000020000000000000002", {});
  ASSERT_TRUE(trace) << trace.error().message;
  EXPECT_FALSE(find_subject(*store_, "no such job", {}));
}

}  // namespace
}  // namespace telltale::hub
