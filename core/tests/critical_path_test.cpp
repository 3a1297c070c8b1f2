// The critical path, on traces computed by hand and on random ones whose sums must hold.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <telltale/core/critical_path.hpp>

namespace {

using telltale::critical_path;
using telltale::find_critical_path;
using telltale::link_kind;
using telltale::path_span;
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

struct found {
  explicit found(std::vector<trace_span> spans, std::string_view root = "job") : tree(std::move(spans)) {
    for (std::size_t i = 0; i < tree.spans().size(); ++i) {
      if (tree.spans()[i].name == root) path = find_critical_path(tree, i);
    }
  }
  // "job 0-10, load 10-40"
  std::string text() const {
    std::string out;
    for (const auto& s : path.segments) {
      out += (out.empty() ? "" : ", ") + tree.spans()[s.span].name + " " + std::to_string(s.begin_ns) + "-" +
             std::to_string(s.end_ns);
    }
    return out;
  }
  path_span of(std::string_view name) const {
    for (const path_span& p : path.spans) {
      if (tree.spans()[p.span].name == name) return p;
    }
    return {};
  }
  trace_tree tree;
  critical_path path;
};

void expect_both_sums(const found& f) {
  std::int64_t at = f.path.segments.empty() ? 0 : f.path.segments.front().begin_ns;
  std::int64_t sum = 0;
  for (const auto& s : f.path.segments) {
    EXPECT_EQ(s.begin_ns, at);
    EXPECT_LT(s.begin_ns, s.end_ns);
    at = s.end_ns;
    sum += s.end_ns - s.begin_ns;
  }
  EXPECT_EQ(sum, f.path.total_ns);
  std::int64_t phases = 0;
  for (const auto& p : f.path.phases) phases += p.self_ns;
  EXPECT_EQ(phases, f.path.total_ns);
  std::map<std::uint64_t, std::int64_t> begin_of;  // never before the parent's
  const std::int64_t whole_end = f.tree.spans()[f.path.spans.at(0).span].end_ns;
  for (const path_span& p : f.path.spans) {
    const trace_span& s = f.tree.spans()[p.span];
    const auto parent = begin_of.find(s.parent.value);
    const std::int64_t begin = std::max(s.begin_ns, parent != begin_of.end() ? parent->second : s.begin_ns);
    begin_of[s.id.value] = begin;
    EXPECT_GE(p.slack_ns, 0) << s.name;
    EXPECT_LE(p.self_ns, p.path_ns) << s.name;
    EXPECT_EQ(p.path_ns + p.slack_ns, std::max<std::int64_t>(0, std::min(s.end_ns, whole_end) - begin)) << s.name;
  }
}

TEST(CriticalPath, OfPhasesInARowIsAllOfThem) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "load", 0, 30), span(3, 1, "prove", 30, 90)});
  EXPECT_EQ(f.text(), "load 0-30, prove 30-90, job 90-100");
  EXPECT_EQ(f.of("load").slack_ns, 0);
  EXPECT_EQ(f.path.phases.at(0).name, "prove");
  EXPECT_EQ(f.path.phases.at(0).self_ns, 60);
  expect_both_sums(f);
}

TEST(CriticalPath, OfParallelWorkIsWhatEndsLast) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "short", 10, 50), span(3, 1, "long", 10, 90)});
  EXPECT_EQ(f.text(), "job 0-10, long 10-90, job 90-100");
  EXPECT_EQ(f.of("short").path_ns, 0);
  EXPECT_EQ(f.of("short").slack_ns, 40);
  EXPECT_EQ(f.of("long").slack_ns, 0);
  expect_both_sums(f);
}

TEST(CriticalPath, PassesOverASiblingThatOverlapsTheOneThatHeldIt) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "a", 0, 60), span(3, 1, "b", 40, 90)});
  // At 40, where b began, a still ran, so b did not wait for it; a's time is the job's.
  EXPECT_EQ(f.text(), "job 0-40, b 40-90, job 90-100");
  EXPECT_EQ(f.of("a").slack_ns, 60);
  expect_both_sums(f);
}

TEST(CriticalPath, GoesDownToTheLeaves) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "msm", 10, 90), span(3, 2, "window", 20, 40),
                 span(4, 2, "reduce", 50, 85)});
  EXPECT_EQ(f.text(), "job 0-10, msm 10-20, window 20-40, msm 40-50, reduce 50-85, msm 85-90, job 90-100");
  EXPECT_EQ(f.of("msm").self_ns, 25);
  EXPECT_EQ(f.of("msm").path_ns, 80);
  expect_both_sums(f);
}

TEST(CriticalPath, FollowsAsynchronousWorkThatOutlivesItsParent) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "submit", 2, 6), span(3, 2, "task", 4, 90)});
  EXPECT_EQ(f.text(), "job 0-2, submit 2-4, task 4-90, job 90-100");
  EXPECT_EQ(f.of("submit").path_ns, 2);
  EXPECT_EQ(f.of("submit").slack_ns, 2);
  expect_both_sums(f);
}

TEST(CriticalPath, GivesTheTimeBetweenAsynchronousTasksToWhoeverWaited) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "submit", 0, 5), span(3, 2, "first", 4, 50),
                 span(4, 2, "second", 60, 90)});
  EXPECT_EQ(f.text(), "submit 0-4, first 4-50, job 50-60, second 60-90, job 90-100");
  expect_both_sums(f);
}

TEST(CriticalPath, LeavesOutWhatOutlivesTheRoot) {
  const found f({span(1, 0, "job", 0, 100), span(2, 1, "prove", 0, 90), span(3, 2, "upload", 80, 500),
                 span(4, 1, "flush", 20, 300)});
  EXPECT_EQ(f.text(), "prove 0-90, job 90-100");
  EXPECT_EQ(f.of("flush").slack_ns, 80);
  EXPECT_EQ(f.of("upload").slack_ns, 20);
  expect_both_sums(f);
}

TEST(CriticalPath, CountsAChildFromItsParentsBegin) {
  const found f({span(1, 0, "job", 10, 100), span(2, 1, "skewed", 0, 50), span(3, 1, "gone", 2, 8)});
  EXPECT_EQ(f.text(), "skewed 10-50, job 50-100");
  EXPECT_EQ(f.of("skewed").slack_ns, 0);
  EXPECT_EQ(f.of("gone").slack_ns, 0);
  expect_both_sums(f);
}

TEST(CriticalPath, FollowsALinkThatSaysWhatWasWaitedFor) {
  std::vector<trace_span> spans{span(1, 0, "job", 0, 100), span(2, 1, "producer", 0, 60),
                                span(3, 1, "consumer", 30, 90)};
  spans[2].links.push_back({{1, 1}, {2}, link_kind::waits_for});
  const found f(std::move(spans));
  EXPECT_EQ(f.text(), "job 0-30, producer 30-60, consumer 60-90, job 90-100");
  EXPECT_EQ(f.of("consumer").path_ns, 60);
  EXPECT_EQ(f.of("consumer").slack_ns, 0);
  EXPECT_EQ(f.of("producer").slack_ns, 30);
  expect_both_sums(f);
}

TEST(CriticalPath, EndsOnLinksThatWaitForEachOther) {
  std::vector<trace_span> spans{span(1, 0, "job", 0, 100), span(2, 1, "a", 0, 90), span(3, 1, "b", 0, 90)};
  spans[1].links.push_back({{1, 1}, {3}, link_kind::waits_for});
  spans[2].links.push_back({{1, 1}, {2}, link_kind::input_of});
  spans[2].links.push_back({{1, 1}, {3}, link_kind::input_of});
  spans[2].links.push_back({{1, 1}, {1}, link_kind::waits_for});
  expect_both_sums(found(std::move(spans)));
}

TEST(CriticalPath, OfAnEmptySpanIsEmpty) {
  const found f({span(1, 0, "job", 5, 5), span(2, 1, "x", 5, 5)});
  EXPECT_TRUE(f.path.segments.empty());
  EXPECT_EQ(f.path.total_ns, 0);
}

TEST(CriticalPath, TakesAMillionLevels) {
  constexpr std::int64_t depth = 1'000'000;
  std::vector<trace_span> spans;
  spans.reserve(depth);
  for (std::int64_t i = 0; i < depth; ++i) {
    const auto id = static_cast<std::uint64_t>(i + 1);
    spans.push_back(span(id, id - 1, i == 0 ? "job" : "n", i, 2 * depth - i));
  }
  const found f(std::move(spans));
  EXPECT_EQ(f.path.segments.size(), 2u * depth - 1);
  EXPECT_EQ(f.path.spans.at(depth - 1).self_ns, depth + 1 - (depth - 1));
}

TEST(CriticalPath, SumsHoldWhateverTheTraceLooksLike) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    std::vector<trace_span> spans{span(1, 0, "job", 20, 80)};
    const int n = 2 + below(30);
    for (int i = 1; i < n; ++i) {
      const int begin = below(100);
      spans.push_back(span(static_cast<std::uint64_t>(i) + 1, static_cast<std::uint64_t>(below(i)) + 1,
                           "s" + std::to_string(below(5)), begin, begin + below(60) - 5));
      while (below(3) == 0) {
        spans.back().links.push_back({{1, 1}, {static_cast<std::uint64_t>(below(n)) + 1}, link_kind::waits_for});
      }
    }
    SCOPED_TRACE(seed);
    expect_both_sums(found(std::move(spans)));
  }
}

}  // namespace
