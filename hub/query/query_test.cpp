// Trees from rows, differences and outliers, computed by hand.
#include <gtest/gtest.h>

#include <telltale/core/critical_path.hpp>

#include "compare.hpp"
#include "rows.hpp"
#include "view.hpp"

namespace telltale::hub {
namespace {

using test::row;

breakdown broken_down(std::vector<span_row> rows) {
  const span_view_tree v = view_of(std::move(rows));
  return break_down(v.tree, v.root);
}

TEST(View, JoinsRootsWhoseParentsAreMissing) {
  const auto v = view_of({row(2, 1, "a", 10, 20), row(3, 1, "b", 40, 60), row(4, 3, "c", 45, 50)});
  EXPECT_EQ(v.joined_roots, 2u);
  EXPECT_EQ(v.missing_parents, 2u);
  const breakdown b = break_down(v.tree, v.root);
  EXPECT_EQ(b.total_ns, 50);
  EXPECT_EQ(b.wall_ns("(together)"), 20);  // nothing was recorded from 20 to 40
  EXPECT_EQ(b.wall_ns("b"), 15);
}

TEST(View, CountsASpanThatCameTwiceOnce) {
  auto open = row(2, 1, "a", 0, 5);
  open.state = span_state::open;
  const auto v = view_of({row(1, 0, "job", 0, 100), open, row(2, 1, "a", 0, 50), row(2, 1, "a", 0, 70)});
  EXPECT_EQ(v.rows.size(), 2u);
  EXPECT_EQ(break_down(v.tree, v.root).wall_ns("a"), 50);
}

TEST(View, HangsADetailTraceBelowTheSpanItTells) {
  auto detail = row(1, 0, "task", 12, 18);  // the same span id in another trace
  detail.trace = {2, 2};
  detail.links.push_back({{1, 1}, {2}, "detail-of", {}});
  const auto v = view_of({row(1, 0, "job", 0, 100), row(2, 1, "run", 10, 20), detail});
  EXPECT_EQ(v.joined_roots, 0u);
  const breakdown b = break_down(v.tree, v.root);
  EXPECT_EQ(b.wall_ns("task"), 6);
  EXPECT_EQ(b.wall_ns("run"), 4);
}

TEST(View, MovesAServerWhoseClockIsWrongIntoItsCaller) {
  auto call = row(2, 1, "call", 10, 50);
  call.node = "n1";
  call.kind = 3;
  auto serve = row(3, 2, "serve", 1000, 1020);
  serve.node = "n2";
  serve.kind = 2;
  auto below = row(4, 3, "step", 1005, 1015);
  below.node = "n2";
  const auto v = view_of({row(1, 0, "job", 0, 100), call, serve, below});
  EXPECT_EQ(v.moved, 2u);
  EXPECT_EQ(v.tree.spans()[2].begin_ns, 20);
  EXPECT_EQ(v.tree.spans()[3].begin_ns, 25);
  EXPECT_EQ(find_critical_path(v.tree, v.root).spans.at(3).self_ns, 10);
  // Asynchronous work may outlive whoever started it: it stays where it is.
  auto consume = row(3, 2, "consume", 1000, 1020);
  consume.node = "n2";
  consume.kind = 5;
  EXPECT_EQ(view_of({row(1, 0, "job", 0, 100), call, consume}).moved, 0u);
}

TEST(View, MakesARootOfTheFirstOfSpansThatAreTheirOwnAncestors) {
  const auto v =
      view_of({row(1, 0, "job", 0, 100), row(2, 4, "a", 30, 40), row(3, 2, "b", 20, 35), row(4, 3, "c", 25, 28)});
  EXPECT_EQ(v.joined_roots, 2u);
  EXPECT_EQ(v.missing_parents, 0u);
  const breakdown b = break_down(v.tree, v.root);
  EXPECT_EQ(b.total_ns, 100);
  std::int64_t walls = 0;
  for (const phase_time& p : b.phases) walls += p.wall_ns;
  EXPECT_EQ(walls, 100);
}

// As deep as no stack of calls is.
TEST(View, MayBeVeryDeep) {
  constexpr std::int64_t depth = 200'000;
  std::vector<span_row> rows;
  for (std::int64_t i = 0; i < depth; ++i) {
    const auto id = static_cast<std::uint64_t>(i + 1);
    rows.push_back(row(id, id - 1, "n", i, 2 * depth - i));
    rows.back().node = i % 2 == 0 ? "n1" : "n2";
    rows.back().kind = i % 2 == 0 ? 3 : 2;  // calls and servers, so that clocks are looked at
  }
  const auto v = view_of(std::move(rows));
  EXPECT_EQ(v.joined_roots, 0u);
  EXPECT_EQ(v.moved, 0u);
  EXPECT_EQ(break_down(v.tree, v.root).total_ns, 2 * depth);
}

TEST(Difference, SaysWhichPhaseMadeItSlower) {
  const auto before = broken_down({row(1, 0, "job", 0, 100), row(2, 1, "msm", 0, 40), row(3, 1, "ntt", 40, 80)});
  const auto after = broken_down(
      {row(1, 0, "job", 0, 150), row(2, 1, "msm", 0, 100), row(3, 1, "ntt", 100, 130), row(4, 1, "wait", 130, 150)});
  const difference d = compare({before}, {after});
  EXPECT_EQ(d.total_a_ns, 100);
  EXPECT_EQ(d.total_b_ns, 150);
  ASSERT_EQ(d.phases.size(), 4u);
  EXPECT_EQ(d.phases[0].name, "msm");
  EXPECT_EQ(d.phases[0].change_ns, 60);
  EXPECT_DOUBLE_EQ(d.phases[0].share, 1.2);
  EXPECT_EQ(d.phases[1].name, "wait");
  EXPECT_EQ(d.phases[2].name, "job");
  EXPECT_EQ(d.phases[2].change_ns, -20);
  EXPECT_EQ(d.phases[3].name, "ntt");
  EXPECT_DOUBLE_EQ(d.phases[3].share, -0.2);
}

TEST(Difference, ComparesSetsByTheirMeans) {
  const auto fast = broken_down({row(1, 0, "job", 0, 100), row(2, 1, "msm", 0, 40)});
  const auto slow = broken_down({row(1, 0, "job", 0, 300), row(2, 1, "msm", 0, 240)});
  const difference d = compare({fast, slow}, {slow, slow, slow});
  EXPECT_DOUBLE_EQ(d.total_a_ns, 200);
  EXPECT_DOUBLE_EQ(d.total_b_ns, 300);
  EXPECT_EQ(d.phases[0].name, "msm");
  EXPECT_DOUBLE_EQ(d.phases[0].change_ns, 100);
  EXPECT_DOUBLE_EQ(d.phases[0].share, 1);
  const difference thirds = compare({fast}, {slow, slow, slow});
  EXPECT_EQ(thirds.phases[0].count_b, 1.0) << "exactly";
  EXPECT_TRUE(compare({}, {}).phases.empty());
}

TEST(Outliers, FindWhatTheSlowOnesShare) {
  std::vector<span_row> spans;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const bool slow = i >= 90;
    spans.push_back(row(i + 1, 0, "msm", 0, slow ? 1000 + static_cast<std::int64_t>(i) : 100));
    spans.back().node = slow || i % 9 == 0 ? "n7" : "n1";
    spans.back().attributes.emplace_back("n", static_cast<std::int64_t>(i));
    spans.back().attributes.emplace_back("curve", std::string("bn254"));
  }
  const outliers o = find_outliers(spans, 0.91);
  EXPECT_EQ(o.slow, 10u);
  EXPECT_EQ(o.rest, 90u);
  EXPECT_EQ(o.threshold_ns, 1090);
  ASSERT_EQ(o.attributes.size(), 2u);  // what all share says nothing
  EXPECT_EQ(o.attributes[0].key, "node");
  EXPECT_EQ(o.attributes[0].what, "= n7");
  EXPECT_EQ(o.attributes[0].slow_with, 10u);
  EXPECT_EQ(o.attributes[0].rest_with, 10u);
  EXPECT_EQ(o.attributes[1].key, "n");
  EXPECT_EQ(o.attributes[1].what, "≥ 50");
  EXPECT_EQ(o.attributes[1].rest_with, 40u);
}

TEST(Outliers, OfSpansThatAreAllAlikeAreNone) {
  EXPECT_TRUE(find_outliers({}).attributes.empty());
  EXPECT_TRUE(find_outliers({row(1, 0, "a", 0, 5), row(2, 0, "a", 0, 5)}).attributes.empty());
}

}  // namespace
}  // namespace telltale::hub
