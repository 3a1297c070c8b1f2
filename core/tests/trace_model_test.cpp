// The trace as data: tree, breakdown and rendering, on traces computed by hand.
#include <gtest/gtest.h>

#include <telltale/core/breakdown.hpp>
#include <telltale/core/critical_path.hpp>

namespace {

using telltale::break_down;
using telltale::breakdown;
using telltale::trace_span;
using telltale::trace_tree;

trace_span span(std::uint64_t id, std::uint64_t parent, std::string name, std::int64_t begin, std::int64_t end) {
  trace_span s;
  s.trace = {1, 1};
  s.id = {id};
  s.parent = {parent};
  s.name = std::move(name);
  s.begin_ns = begin;
  s.end_ns = end;
  return s;
}

std::int64_t sum_of_walls(const breakdown& b) {
  std::int64_t sum = 0;
  for (const auto& p : b.phases) sum += p.wall_ns;
  return sum;
}

TEST(TraceTree, KnowsRootsAndChildrenInOrderOfBegin) {
  const trace_tree tree({span(3, 1, "late", 50, 60), span(1, 0, "root", 0, 100), span(2, 1, "early", 10, 20),
                         span(4, 99, "orphan", 5, 6)});
  ASSERT_EQ(tree.roots().size(), 2u);
  EXPECT_EQ(tree.spans()[tree.roots()[0]].name, "root");
  EXPECT_EQ(tree.spans()[tree.roots()[1]].name, "orphan");
  const auto& children = tree.children(tree.roots()[0]);
  ASSERT_EQ(children.size(), 2u);
  EXPECT_EQ(tree.spans()[children[0]].name, "early");
}

TEST(TraceTree, DoesNotLoopOnASpanThatIsItsOwnParent) {
  const trace_tree tree({span(1, 1, "self", 0, 10)});
  EXPECT_EQ(tree.roots().size(), 1u);
}

TEST(TraceTree, MakesARootOfTheFirstOfSpansThatAreTheirOwnAncestors) {
  const trace_tree tree({span(1, 3, "third", 30, 40), span(2, 1, "late", 40, 50), span(3, 2, "first", 10, 90),
                         span(4, 1, "below", 31, 32), span(5, 0, "root", 0, 100)});
  ASSERT_EQ(tree.roots().size(), 2u);
  EXPECT_EQ(tree.spans()[tree.roots()[0]].name, "root");
  EXPECT_EQ(tree.spans()[tree.roots()[1]].name, "first");
  EXPECT_EQ(tree.subtree(tree.roots()[1]).size(), 4u);
}

// Nothing recurses over the tree, and nothing looks at a span's ancestors one by one.
TEST(TraceTree, MayBeAMillionDeep) {
  constexpr std::int64_t depth = 1'000'000;
  std::vector<trace_span> spans;
  spans.reserve(depth);
  for (std::int64_t i = 0; i < depth; ++i) {
    const auto id = static_cast<std::uint64_t>(i + 1);
    spans.push_back(span(id, id - 1, i % 2 == 0 ? "even" : "odd", i, 2 * depth - i));
  }
  const trace_tree tree(std::move(spans));
  ASSERT_EQ(tree.roots().size(), 1u);
  EXPECT_EQ(tree.subtree(tree.roots()[0]).size(), static_cast<std::size_t>(depth));
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.total_ns, 2 * depth);
  EXPECT_EQ(b.wall_ns("even"), depth);  // two nanoseconds each are its own
  EXPECT_EQ(b.wall_ns("odd"), depth);
  const telltale::critical_path path = telltale::find_critical_path(tree, tree.roots()[0]);
  EXPECT_EQ(path.total_ns, 2 * depth);
  EXPECT_EQ(path.segments.size(), 2u * depth - 1);
}

TEST(Breakdown, OfPhasesInARowIsTheirDurations) {
  const trace_tree tree({span(1, 0, "job", 0, 100), span(2, 1, "load", 0, 30), span(3, 1, "prove", 30, 90)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.total_ns, 100);
  EXPECT_EQ(b.wall_ns("load"), 30);
  EXPECT_EQ(b.wall_ns("prove"), 60);
  EXPECT_EQ(b.wall_ns("job"), 10);
  EXPECT_EQ(b.phases[0].name, "prove");
  EXPECT_EQ(sum_of_walls(b), 100);
}

TEST(Breakdown, SplitsWhatRunsInParallelEquallyAndKeepsBusyTimeWhole) {
  // a: 0-60, b: 0-30, c: 30-90 (overlaps a)
  const trace_tree tree(
      {span(1, 0, "job", 0, 100), span(2, 1, "a", 0, 60), span(3, 1, "b", 0, 30), span(4, 1, "c", 30, 90)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.wall_ns("a"), 15 + 15);
  EXPECT_EQ(b.wall_ns("b"), 15);
  EXPECT_EQ(b.wall_ns("c"), 15 + 30);
  EXPECT_EQ(b.wall_ns("job"), 10);
  EXPECT_EQ(b.find("a")->busy_ns, 60);
  EXPECT_EQ(b.find("c")->busy_ns, 60);
  EXPECT_EQ(b.find("job")->busy_ns, 10);
  EXPECT_EQ(sum_of_walls(b), 100);
}

TEST(Breakdown, GivesAParentOnlyWhatNoChildCovers) {
  const trace_tree tree({span(1, 0, "job", 0, 100), span(2, 1, "msm", 10, 90), span(3, 2, "window", 20, 40),
                         span(4, 2, "window", 40, 70)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.wall_ns("window"), 50);
  EXPECT_EQ(b.wall_ns("msm"), 30);
  EXPECT_EQ(b.wall_ns("job"), 20);
  EXPECT_EQ(b.find("window")->count, 2u);
  EXPECT_EQ(b.find("msm")->total_ns, 80);
  EXPECT_EQ(b.find("msm")->busy_ns, 30);
}

TEST(Breakdown, ClipsWhatOutlivesTheRoot) {
  const trace_tree tree({span(1, 0, "job", 10, 20), span(2, 1, "async", 15, 500), span(3, 1, "before", 0, 12)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.wall_ns("async"), 5);
  EXPECT_EQ(b.wall_ns("before"), 2);
  EXPECT_EQ(b.wall_ns("job"), 3);
  EXPECT_EQ(sum_of_walls(b), 10);
}

TEST(Breakdown, AChildThatOutlivesItsParentStillCounts) {
  const trace_tree tree({span(1, 0, "job", 0, 100), span(2, 1, "parent", 0, 20), span(3, 2, "child", 10, 60)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.wall_ns("parent"), 10);
  EXPECT_EQ(sum_of_walls(b), 100);
  EXPECT_GE(b.wall_ns("child"), 25);
}

TEST(Breakdown, OfAnEmptyOrZeroLengthTraceIsNoTrouble) {
  const trace_tree tree({span(1, 0, "job", 5, 5), span(2, 1, "x", 5, 5)});
  const breakdown b = break_down(tree, tree.roots()[0]);
  EXPECT_EQ(b.total_ns, 0);
  EXPECT_EQ(sum_of_walls(b), 0);
}

TEST(Rendering, OfATreeShowsShareAndSumsEqualSiblings) {
  std::vector<trace_span> spans{span(1, 0, "job", 0, 2'000'000)};
  spans[0].attributes.emplace_back("job_id", std::string("c1"));
  for (std::uint64_t i = 0; i < 10; ++i) {
    spans.push_back(
        span(10 + i, 1, "step", static_cast<std::int64_t>(i) * 100'000, static_cast<std::int64_t>(i + 1) * 100'000));
  }
  spans.push_back(span(50, 1, "last", 1'500'000, 2'000'000));
  spans.back().failed = true;
  const trace_tree tree(std::move(spans));
  EXPECT_EQ(telltale::render_tree(tree, tree.roots()[0]),
            "job  job_id=c1    2.000 ms  100.0 %\n"
            "├─ step  ×10      1.000 ms   50.0 %\n"
            "└─ last           500.0 µs   25.0 %  failed\n");
}

TEST(Rendering, OfDurationsHasThreeToFourDigits) {
  EXPECT_EQ(telltale::render_duration(0), "0 ns");
  EXPECT_EQ(telltale::render_duration(999), "999 ns");
  EXPECT_EQ(telltale::render_duration(17'200), "17.20 µs");
  EXPECT_EQ(telltale::render_duration(812'345'000), "812.3 ms");
  EXPECT_EQ(telltale::render_duration(1'204'000'000), "1.204 s");
}

}  // namespace
