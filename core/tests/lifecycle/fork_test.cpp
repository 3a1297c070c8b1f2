// fork: the child starts clean, the parent loses nothing, and neither hangs.
#include "support/json_lines.hpp"
#include "support/process.hpp"

using namespace telltale::testing;

namespace {

const std::string child = std::string(PROGRAMS) + "core_fork_child";

class Fork : public ::testing::Test {
 protected:
  ended run_scenario(const std::string& scenario) {
    return run(child, {scenario},
               {{"TELLTALE_SINKS", "json:" + file + "?overflow=block"}, {"TELLTALE_OVERFLOW", "block"}});
  }
  temporary_directory dir;
  std::string file = dir / "out.jsonl";
};

TEST_F(Fork, EachSideWritesItsOwnRecordsOnceWhenTheChildExits) {
  for (int i = 0; i < 10; ++i) {
    const ended e = run_scenario("forks_exit");
    EXPECT_FALSE(e.hung);
    EXPECT_EQ(e.code, 0) << e;
    const auto lines = read_lines(file);
    EXPECT_EQ(count_message(lines, "of the parent"), 11);
    EXPECT_EQ(count_message(lines, "of the child"), 5);
    EXPECT_EQ(lines.size(), 16u);
    std::filesystem::remove(file);
  }
}

TEST_F(Fork, AChildThatFlushesMayEndWithoutExit) {
  const ended e = run_scenario("forks_flush");
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_message(lines, "of the parent"), 11);
  EXPECT_EQ(count_message(lines, "of the child"), 5);
}

TEST_F(Fork, SpansThatWereOpenStayTheParents) {
  const ended e = run_scenario("forks_under_spans");
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_span(lines, "job"), 1);
  EXPECT_EQ(count_span(lines, "open at fork"), 1);
  EXPECT_EQ(count_span(lines, "after"), 2);
  // What the child does below it belongs to the same trace and inherits the same scope.
  const json own = line_with(lines, "span", "child's own");
  const json open = line_with(lines, "span", "open at fork");
  ASSERT_FALSE(own.is_null());
  EXPECT_EQ(own.at("parent_id"), open.at("span_id"));
  EXPECT_EQ(own.at("trace_id"), open.at("trace_id"));
  EXPECT_EQ(own.at("job_id"), "j7");
  std::set<std::string> ids;
  for (const json& l : lines) ids.insert(l.at("span_id").get<std::string>());
  EXPECT_EQ(ids.size(), lines.size()) << "the child draws ids of its own";
}

TEST_F(Fork, AChildMayForkAgain) {
  const ended e = run_scenario("forks_again");
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_message(lines, "of the parent"), 1);
  EXPECT_EQ(count_message(lines, "of the child"), 2);
  EXPECT_EQ(count_message(lines, "of the grandchild"), 1);
  EXPECT_EQ(lines.size(), 4u);
}

TEST_F(Fork, WhileOtherThreadsRecordAndHoldLocksNoChildHangs) {
  const ended e = run_scenario("forks_amid_threads");
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_message(lines, "of a child"), 20);
  EXPECT_EQ(count_span(lines, "work"), 0) << "exit() does not end spans";
  for (const json& l : lines) {
    if (l.value("message", "") == "of a child") {
      EXPECT_TRUE(l.contains("number")) << l;
    }
  }
}

TEST_F(Fork, AProgramThatIsExecutedStartsFromNothing) {
  const ended e = run_scenario("forks_and_execs");
  EXPECT_EQ(e.code, 0) << e;
  const auto lines = read_lines(file);
  EXPECT_EQ(count_message(lines, "of the parent"), 1);
  EXPECT_EQ(count_message(lines, "line"), 1000);
  EXPECT_EQ(lines.size(), 1002u);
}

TEST_F(Fork, AChildCountsFromNoughtWhateverOtherThreadsCounted) {
  const ended e =
      run(child, {"forks_amid_metrics"}, {{"TELLTALE_SINKS", "none"}}, {.limit = std::chrono::seconds(120)});
  EXPECT_FALSE(e.hung);
  EXPECT_EQ(e.code, 0) << e;
}

}  // namespace
