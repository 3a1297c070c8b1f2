// What stays when ordinary traces are thinned, counted by hand.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "hub/ask/find.hpp"
#include "hub/query/traceql/parse.hpp"
#include "hub/store/store.hpp"
#include "hub/store/testing.hpp"

namespace telltale::hub {
namespace {

using testing::batch_of;
using testing::span_spec;
using testing::temporary_directory;

// Ids that differ in the bits by which files know their traces, as random ones do.
constexpr std::uint64_t id_of(std::uint64_t trace) {
  return trace << 32;
}

class Sampling : public ::testing::Test {
 protected:
  void open(double keep, std::uint64_t rows, std::uint64_t counted_exactly = 1'000'000) {
    store_options o;
    o.directory = directory_.path();
    o.rows_per_file = rows;
    o.sampling.keep = keep;
    o.spans_counted = counted_exactly;
    store_.reset();
    auto s = open_store(o);
    ASSERT_TRUE(s) << s.error().message;
    store_ = std::move(*s);
  }
  // Appends, and waits until all of it is in files.
  void seal(const std::vector<span_spec>& spans) {
    const std::uint64_t before = store_->stats().files + store_->stats().thinned;
    ASSERT_TRUE(store_->append(batch_of(spans)));
    for (int i = 0; i < 1000 && store_->stats().files + store_->stats().thinned == before; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_NE(store_->stats().files + store_->stats().thinned, before);
  }
  std::size_t spans_of(std::uint64_t trace) { return store_->trace({1, id_of(trace)}).value().size(); }
  std::int64_t number(const std::string& sql) {
    return std::get<std::int64_t>(store_->query(sql).value().rows.at(0).at(0));
  }

  temporary_directory directory_;
  std::unique_ptr<store> store_;
};

// 100 traces of a root (1000 ns) and a child (100 ns to 199 ns): ordinary, unless a test changes one.
std::vector<span_spec> ordinary(std::uint64_t first_trace = 1, std::uint64_t count = 100) {
  std::vector<span_spec> out;
  for (std::uint64_t t = first_trace; t < first_trace + count; ++t) {
    const auto k = static_cast<std::int64_t>(t - first_trace);
    out.push_back({.trace = id_of(t), .id = 2 * t, .name = "job", .start_ns = 1'000'000 + k});
    out.push_back({.trace = id_of(t),
                   .id = 2 * t + 1,
                   .parent = 2 * t,
                   .name = "msm",
                   .start_ns = 1'000'000 + k,
                   .duration_ns = 100 + k});
  }
  return out;
}

TEST_F(Sampling, IsOffUnlessAskedFor) {
  open(1, 200);
  seal(ordinary());
  EXPECT_EQ(store_->stats().spans, 200u);
  EXPECT_EQ(store_->stats().thinned, 0u);
}

TEST_F(Sampling, KeepsWhatMattersWholeAndCountsTheRest) {
  open(0, 200);
  auto spans = ordinary();
  spans[2 * 9 + 1].more = R"(,"status":{"code":2})";  // trace 10: a child failed
  spans[2 * 19 + 1].duration_ns = 1'000;              // 20: slow; p95 of msm is 195 ns
  spans[2 * 29].more = R"(,"attributes":[{"key":"http.request.resend_count","value":{"intValue":"1"}}])";
  spans[2 * 39].more = R"(,"attributes":[{"key":"sampling.priority","value":{"intValue":"1"}}])";
  spans[2 * 49].more = R"(,"attributes":[{"key":"sampling.priority","value":{"intValue":"0"}}])";  // says nothing
  spans[2 * 59 + 1].name = "rare";
  // 70 retries 80; 90 links to 70; 95 and 96 only to each other.
  const auto link = [](std::uint64_t trace, const std::string& kind) {
    return R"(,"links":[{"traceId":")" + to_hex(trace_id{1, id_of(trace)}) + R"(","spanId":")" +
           to_hex(span_id{2 * trace}) + R"(","attributes":[{"key":"telltale.link.kind","value":{"stringValue":")" +
           kind + R"("}}]}])";
  };
  spans[2 * 69].more = link(80, "retry-of");
  spans[2 * 89].more = link(70, "related");
  spans[2 * 94].more = link(96, "related");
  seal(spans);
  for (const std::uint64_t kept : {10u, 20u, 30u, 40u, 60u, 70u, 80u, 90u}) EXPECT_EQ(spans_of(kept), 2u) << kept;
  for (const std::uint64_t gone : {1u, 50u, 95u, 96u, 100u}) EXPECT_EQ(spans_of(gone), 0u) << gone;
  EXPECT_EQ(store_->stats().spans, 16u);
  EXPECT_EQ(store_->stats().thinned, 184u);
  EXPECT_EQ(store_->stats().links, 2u);
  EXPECT_EQ(number("SELECT count(*) FROM spans"), 16);
  EXPECT_EQ(number("SELECT count(*) FROM links"), 2);

  // Counts and percentiles are those of all 200. msm: 100 … 199 without 119 (1000 instead) and 159 ("rare").
  const auto top = find_top(*store_, nullptr, {}, 10).value();
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].name, "job");
  EXPECT_EQ(top[0].count, 100u);
  EXPECT_EQ(top[1].name, "msm");
  EXPECT_EQ(top[1].count, 99u);
  EXPECT_EQ(top[1].errors, 1u);
  EXPECT_EQ(top[1].max_ns, 1000.0);
  EXPECT_EQ(top[1].total_ns, 14'950.0 - 119 - 159 + 1'000);
  EXPECT_EQ(top[1].p50_ns, 150.0);  // the 50th of 99: 100 … 150 without 119 are 50
  const auto failed = traceql::parse("{ status = error }");
  EXPECT_EQ(find_top(*store_, &*failed, {}, 10).value().at(0).count, 1u);
  const auto rate = traceql::parse(R"({ name = "msm" } | count_over_time())");
  const auto counted = measure(*store_, *rate, {1'000'000, 50, 2}).value();
  ASSERT_EQ(counted.series.size(), 1u);
  EXPECT_EQ(counted.series[0].values, (std::vector<double>{50, 49}));  // the 60th is the rare one
}

TEST_F(Sampling, ComesBackAfterARestart) {
  open(0, 200);
  seal(ordinary());
  EXPECT_EQ(store_->stats().thinned, 200u);
  open(1, 1'000);
  EXPECT_EQ(store_->stats().thinned, 200u);
  EXPECT_EQ(find_top(*store_, nullptr, {}, 10).value().at(0).count, 100u);
}

// Beyond as many spans, top reads histograms.
TEST_F(Sampling, IsCountedInHistogramsAsWell) {
  open(0, 200, 10);
  auto spans = ordinary();
  spans[1].more = R"(,"status":{"code":2})";
  seal(spans);
  EXPECT_EQ(store_->stats().spans, 2u);
  const auto top = find_top(*store_, nullptr, {}, 10).value();
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].count, 100u);
  EXPECT_EQ(top[1].count, 100u);
  EXPECT_EQ(top[1].errors, 1u);
  EXPECT_EQ(top[1].total_ns, 14'950.0);
}

TEST_F(Sampling, KeepsTheStatedShareOfWholeTraces) {
  open(0.25, 2'000);
  seal(ordinary(1, 1'000));
  const std::uint64_t kept = store_->stats().spans;
  EXPECT_EQ(kept + store_->stats().thinned, 2'000u);
  EXPECT_EQ(kept % 2, 0u);  // a trace goes or stays
  EXPECT_GT(kept, 400u);    // 500 expected, its deviation is 27
  EXPECT_LT(kept, 600u);
  EXPECT_EQ(number("SELECT count(*) FROM (SELECT trace_lo FROM spans GROUP BY trace_lo HAVING count(*) <> 2)"), 0);
}

TEST_F(Sampling, LeavesWhatIsTooYoungToJudge) {
  open(0, 202);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  auto spans = ordinary();
  spans.push_back({.trace = id_of(500),
                   .id = 1,
                   .name = "job",
                   .start_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - 2'000});
  spans.push_back({.trace = id_of(500), .id = 2, .parent = 1, .name = "msm"});
  seal(spans);
  EXPECT_EQ(spans_of(500), 2u);
  EXPECT_EQ(store_->stats().spans, 2u);
}

TEST_F(Sampling, KeepsLaterPartsOfAKeptTrace) {
  open(0, 200);
  auto spans = ordinary();
  spans[1].more = R"(,"status":{"code":2})";
  seal(spans);
  auto later = ordinary(1'000);
  later[1] = {.trace = id_of(1), .id = 77, .parent = 2, .name = "msm", .duration_ns = 100};
  seal(later);
  EXPECT_EQ(spans_of(1), 3u);
  EXPECT_EQ(store_->stats().spans, 3u);
}

}  // namespace
}  // namespace telltale::hub
