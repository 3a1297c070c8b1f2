// Texts from answers, whole.
#include "show.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "waterfall.hpp"

namespace telltale::cli {
namespace {

constexpr const char* trace_body = R"({"trace_id":"00000000000000010000000000000001","root_name":"job","job_id":"j1",
  "start_ns":1778273112000000000,"duration_ns":100000000,"spans":4,"errors":1,"open":0,"rows":[
  {"trace_id":"t","span_id":"1","name":"job","start_ns":1778273112000000000,"duration_ns":100000000,"status":"unset"},
  {"trace_id":"t","span_id":"2","parent_id":"1","name":"load","start_ns":1778273112000000000,"duration_ns":25000000},
  {"trace_id":"t","span_id":"3","parent_id":"1","name":"prove","start_ns":1778273112025000000,"duration_ns":75000000,
   "attributes":{"n":8}},
  {"trace_id":"t","span_id":"4","parent_id":"3","name":"m\u001bsm","start_ns":1778273112050000000,
   "duration_ns":50000000,"status":"error","state":"lost"}]})";

TEST(Show, DrawsAWaterfall) {
  style s;
  s.width = 60;
  EXPECT_EQ(show_trace(trace_body, s),
            "job  trace 00000000000000010000000000000001  job j1  100.0 ms, 4 spans, 1 failed\n"
            "2026-05-08 20:45:12.000 UTC\n"
            "\n"
            "job              +0 ns    100.0 ms  ████████████████████████\n"
            "├─ load          +0 ns    25.00 ms  ██████\n"
            "└─ prove     +25.00 ms    75.00 ms        ██████████████████\n"
            "   └─ m?sm   +50.00 ms    50.00 ms              ████████████ lost failed\n");
}

TEST(Show, ListsWhatRuns) {
  EXPECT_EQ(show_open(R"({"spans":[]})", {}), "no span is open (one is told of when it has run for a second)\n");
  EXPECT_EQ(show_open(R"({"spans":[{"trace_id":"00000000000000010000000000000001","span_id":"1","name":"prove",
    "service":"prover","node":"n1","state":"open","start_ns":1778273112000000000,"duration_ns":12000000000,
    "job_id":"j1"}]})",
                      {}),
            "trace                             job  span   service  node  started (UTC)            took so far\n"
            "00000000000000010000000000000001  j1   prove  prover   n1    2026-05-08 20:45:12.000      12.00 s\n");
}

TEST(Show, SaysHowManySpansItLeavesOut) {
  style s;
  s.max_lines = 2;
  const std::string text = show_trace(trace_body, s);
  EXPECT_NE(text.find("… 2 more spans: --all"), std::string::npos);
  EXPECT_EQ(text.find("prove"), std::string::npos);
}

TEST(Show, UsesColourOnlyWhereAsked) {
  style s;
  EXPECT_EQ(show_trace(trace_body, s).find('\x1b'), std::string::npos);
  s.colour = true;
  EXPECT_NE(show_trace(trace_body, s).find("\x1b[31m"), std::string::npos);
}

TEST(Show, AlignsABreakdown) {
  EXPECT_EQ(show_breakdown(R"({"name":"job","total_ns":100000000,"phases":[
      {"name":"msm","count":1200,"total_ns":80000000,"busy_ns":70000000,"wall_ns":60000000,"share":0.6},
      {"name":"job","count":1,"total_ns":100000000,"busy_ns":40000000,"wall_ns":40000000,"share":0.4}],
      "notes":{"joined_roots":2,"missing_parents":1,"moved":0},"cut":false})",
                           {}),
            "job  100.0 ms\n"
            "\n"
            "phase  count      wall   share      busy     total\n"
            "msm    1,200  60.00 ms  60.0 %  70.00 ms  80.00 ms  ████████████\n"
            "job        1  40.00 ms  40.0 %  40.00 ms  100.0 ms  ████████\n"
            "note: 2 roots stand below \"(together)\"; of 1 span the parent is missing\n");
}

TEST(Show, LetsBarsAndThenNamesGiveWayInABreakdown) {
  const std::string body = R"({"name":"job","total_ns":100,"phases":[{"name":")" + std::string(60, 'a') +
                           R"(","count":1,"total_ns":100,"busy_ns":100,"wall_ns":100,"share":1.0}]})";
  for (const std::size_t width : {160u, 120u, 100u, 80u, 40u}) {
    style s;
    s.width = width;
    const std::string text = show_breakdown(body, s);
    EXPECT_EQ(text.find("█") != std::string::npos, width == 160) << width;
    for (std::size_t at = 0, end = 0; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      EXPECT_LE(columns(text.substr(at, end - at)), std::max<std::size_t>(width, 80));
    }
  }
}

TEST(Show, GivesNumbersOverTimeTheirUnit) {
  const std::string series = R"("series":[{"labels":{".device":"gpu0"},"values":[2000000,null,4000000]}],"cut":false})";
  EXPECT_EQ(show_metrics(R"({"unit":"ns",)" + series, {}),
            "series           least      most      last  over time\n"
            ".device=gpu0  2.000 ms  4.000 ms  4.000 ms  ▅ █\n");
  EXPECT_EQ(show_metrics("{" + series, {}),
            "series          least     most     last  over time\n"
            ".device=gpu0  2000000  4000000  4000000  ▅ █\n");
}

TEST(Show, TellsADifference) {
  EXPECT_EQ(show_diff(R"({"a":{"traces":1,"total_ns":100000000},"b":{"traces":3,"total_ns":150000000},
      "change_ns":50000000,"phases":[
      {"name":"msm","count_a":1,"count_b":1.5,"a_ns":40000000,"b_ns":100000000,"change_ns":60000000,"share":1.2},
      {"name":"ntt","count_a":1,"count_b":1,"a_ns":40000000,"b_ns":30000000,"change_ns":-10000000,"share":-0.2}]})",
                      {}),
            "100.0 ms → 150.0 ms (mean of 3): +50.00 ms, +50.0 %\n"
            "\n"
            "phase    before     after     change  of the change     count\n"
            "msm    40.00 ms  100.0 ms  +60.00 ms        120.0 %  1 → 1.50\n"
            "ntt    40.00 ms  30.00 ms  -10.00 ms        -20.0 %         1\n");
}

TEST(Show, WalksACriticalPath) {
  EXPECT_EQ(show_critical_path(R"({"name":"job","total_ns":100,"segments":[
      {"name":"load","begin_ns":5,"end_ns":30},{"name":"prove","begin_ns":30,"end_ns":105}],
      "phases":[{"name":"prove","count":1,"self_ns":75,"share":0.75},{"name":"load","count":1,"self_ns":25,"share":0.25}],
      "spans":[{"name":"spare","self_ns":0,"path_ns":0,"slack_ns":40}]})",
                               {}),
            "job  100 ns\n"
            "\n"
            "on the path  spans   time   share\n"
            "prove            1  75 ns  75.0 %\n"
            "load             1  25 ns  25.0 %\n"
            "\n"
            "    at    for   share  span\n"
            " +0 ns  25 ns  25.0 %  load   ██████████\n"
            "+25 ns  75 ns  75.0 %  prove            ██████████████████████████████\n"
            "\n"
            "most slack  slack  on the path\n"
            "spare       40 ns         0 ns\n");
}

TEST(Show, PrintsTablesAndEmptyAnswers) {
  EXPECT_EQ(show_table(R"({"columns":["name","n"],"rows":[["msm",12],[null,3]],"cut":true})", {}),
            "name   n\n"
            "msm   12\n"
            "NULL   3\n"
            "note: there was more than the limit; what is shown is a part\n");
  EXPECT_EQ(show_traces(R"({"traces":[],"looked_at":1200,"cut":false})", {}),
            "nothing matches (1,200 traces looked at)\n");
  EXPECT_EQ(show_traces(R"({"traces":[],"looked_at":0,"cut":false})", {}),
            "there is no such trace: nothing came yet, or nothing that matches\n");
  EXPECT_EQ(show_import(R"({"spans":1,"log_lines":2,"lines":3,"skipped":0,"rejected":0})", {}),
            "imported 1 span and 2 log lines\n");
  EXPECT_EQ(
      show_import(R"({"spans":3,"lines":9,"skipped":6,"rejected":1,"why":"span \"a\" has no start"})", {}),
      "imported 2 spans; left out 6 lines that are no finished span; refused 1 record: span \"a\" has no start\n");
  EXPECT_EQ(show_links(R"({"from_here":[],"to_here":[]})", {}), "no links, in either direction\n");
  EXPECT_EQ(show_logs(R"({"logs":[]})", {}), "there are no such lines\n");
  EXPECT_EQ(error_of(R"({"error":"there is no job x"})"), "there is no job x");
  EXPECT_EQ(error_of("<html>"), "<html>");
}

TEST(Waterfall, FoldsAndUnfolds) {
  waterfall w(trace_body);
  ASSERT_EQ(w.spans().size(), 4u);
  EXPECT_EQ(w.spans()[0].below, 3u);
  EXPECT_EQ(w.spans()[2].below, 1u);
  EXPECT_EQ(w.spans()[3].depth, 2u);
  EXPECT_NE(w.spans()[2].detail.find("n = 8"), std::string::npos);
  EXPECT_EQ(w.title(), "job  100.0 ms  4 spans, 1 failed  00000000000000010000000000000001");
  w.fold(2, true);
  EXPECT_EQ(w.visible(), (std::vector<std::size_t>{0, 1, 2}));
  w.fold(1, true);  // nothing below it
  EXPECT_FALSE(w.spans()[1].folded);
  w.fold(0, true);
  EXPECT_EQ(w.visible(), (std::vector<std::size_t>{0}));
  w.fold_all(false);
  EXPECT_EQ(w.visible().size(), 4u);
  w.fold_all(true);
  EXPECT_EQ(w.visible(), (std::vector<std::size_t>{0, 1, 2}));
}

TEST(Waterfall, TakesDeepTracesAndCircles) {
  std::string body = R"({"root_name":"r","start_ns":0,"duration_ns":9,"rows":[)";
  constexpr int depth = 20'000;
  for (int i = 1; i <= depth; ++i) {
    body += std::string(i == 1 ? "" : ",") + R"({"span_id":")" + std::to_string(i) + R"(","parent_id":")" +
            std::to_string(i - 1) + R"(","name":"n","start_ns":0,"duration_ns":9})";
  }
  body += R"(,{"span_id":"a","parent_id":"b","name":"a"},{"span_id":"b","parent_id":"a","name":"b"}]})";
  const waterfall w(body);
  EXPECT_EQ(w.spans().size(), depth + 2u);
  EXPECT_EQ(w.spans()[0].below, depth - 1u);
  EXPECT_FALSE(show_trace(body, {}).empty());
}

}  // namespace
}  // namespace telltale::cli
