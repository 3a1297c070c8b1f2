// The API from the router's side: what it answers, and whether its description says the same.
#include "hub/ask/api.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "hub/ask/memory_store.hpp"
#include "hub/query/rows.hpp"

namespace telltale::hub {
namespace {

using nlohmann::json;
using test::row;

// Trace 1: job "before", 100 ns. Trace 2: job "after", 150 ns, linked to a span of trace 1.
std::vector<span_row> two_jobs() {
  std::vector<span_row> r{row(1, 0, "job", 1000, 1100),   row(2, 1, "msm", 1000, 1040),
                          row(3, 1, "ntt", 1040, 1080),   row(11, 0, "job", 2000, 2150),
                          row(12, 11, "msm", 2000, 2100), row(13, 11, "ntt", 2100, 2130)};
  for (std::size_t i = 0; i < r.size(); ++i) {
    r[i].job_id = i < 3 ? "before" : "after";
    if (i >= 3) r[i].trace = {0, 2};
    r[i].service = "prover";
  }
  r[4].links.push_back({{1, 1}, {2}, "retry-of", {}});
  r[4].status = status_code::error;
  return r;
}

class Api : public ::testing::Test {
 protected:
  Api() { add_api(router_, store_); }
  http_response ask(std::string method, std::string target, std::vector<std::pair<std::string, std::string>> query = {},
                    std::string body = {}) {
    http_request r;
    r.method = std::move(method);
    r.target = std::move(target);
    r.query = std::move(query);
    r.body = std::move(body);
    return router_.answer(r);
  }
  json get(std::string target, std::vector<std::pair<std::string, std::string>> query = {}, int status = 200) {
    const http_response a = ask("GET", "/api/v1/" + target, std::move(query));
    EXPECT_EQ(a.status, status) << a.body;
    return json::parse(a.body);
  }
  test::memory_store store_{two_jobs()};
  router router_;
};

constexpr const char* first_trace = "00000000000000010000000000000001";

TEST_F(Api, SearchesTheNewestFirst) {
  const json all = get("traces");
  ASSERT_EQ(all["traces"].size(), 2u);
  EXPECT_EQ(all["traces"][0]["trace_id"], "00000000000000000000000000000002");
  EXPECT_EQ(all["traces"][0]["duration_ns"], 150);
  EXPECT_EQ(all["traces"][0]["errors"], 1);
  EXPECT_EQ(all["traces"][1]["root_name"], "job");
  const json some = get("traces", {{"q", "{ name = \"msm\" && duration < 50ns }"}});
  ASSERT_EQ(some["traces"].size(), 1u);
  EXPECT_EQ(some["traces"][0]["job_id"], "before");
  EXPECT_EQ(some["traces"][0]["matched"], 1);
  EXPECT_EQ(some["traces"][0]["matched_spans"][0]["span_id"], "0000000000000002");
  EXPECT_EQ(get("traces", {{"limit", "1"}})["cut"], true);
}

TEST_F(Api, ShowsATrace) {
  const json t = get(std::string("traces/") + first_trace);
  EXPECT_EQ(t["spans"], 3);
  EXPECT_EQ(t["rows"][1]["name"], "msm");
  EXPECT_EQ(t["rows"][1]["parent_id"], "0000000000000001");
}

TEST_F(Api, ShowsASpanThatCameTwiceOnce) {
  auto rows = two_jobs();
  rows.insert(rows.end(), rows.begin(), rows.begin() + 3);
  test::memory_store doubled(rows);
  router r;
  add_api(r, doubled);
  http_request q;
  q.method = "GET";
  q.target = std::string("/api/v1/traces/") + first_trace;
  EXPECT_EQ(json::parse(r.answer(q).body)["spans"], 3);
  q.target = "/api/v1/traces";
  EXPECT_EQ(json::parse(r.answer(q).body)["traces"][1]["matched"], 3);
}

TEST_F(Api, BreaksDownAJob) {
  const json b = get("breakdown", {{"of", "before"}});
  EXPECT_EQ(b["total_ns"], 100);
  EXPECT_EQ(b["phases"][0]["name"], "msm");
  EXPECT_EQ(b["phases"][0]["wall_ns"], 40);
  EXPECT_DOUBLE_EQ(b["phases"][0]["share"], 0.4);
}

TEST_F(Api, FindsTheCriticalPath) {
  const json p = get("critical-path", {{"of", "after"}});
  EXPECT_EQ(p["total_ns"], 150);
  ASSERT_EQ(p["segments"].size(), 3u);
  EXPECT_EQ(p["segments"][0]["name"], "msm");
  EXPECT_EQ(p["segments"][0]["span_id"], "000000000000000c");
  EXPECT_EQ(p["phases"][0]["self_ns"], 100);
  for (const json& s : p["spans"]) EXPECT_EQ(s["slack_ns"], 0);
}

TEST_F(Api, ComparesTwoJobs) {
  const json d = get("diff", {{"a", "before"}, {"b", "after"}});
  EXPECT_EQ(d["change_ns"], 50.0);
  EXPECT_EQ(d["phases"][0]["name"], "msm");
  EXPECT_EQ(d["phases"][0]["change_ns"], 60.0);
  EXPECT_DOUBLE_EQ(d["phases"][0]["share"], 1.2);
}

TEST_F(Api, FollowsLinksBothWays) {
  const json from = get("links", {{"trace", "00000000000000000000000000000002"}});
  ASSERT_EQ(from["from_here"].size(), 1u);
  EXPECT_EQ(from["from_here"][0]["kind"], "retry-of");
  EXPECT_EQ(from["from_here"][0]["other_name"], "msm");
  const json to = get("links", {{"trace", first_trace}, {"span", "0000000000000002"}});
  EXPECT_EQ(to["from_here"].size(), 0u);
  ASSERT_EQ(to["to_here"].size(), 1u);
  EXPECT_EQ(to["to_here"][0]["other_span_id"], "000000000000000c");
}

TEST_F(Api, MakesNumbersOverTime) {
  // The memory store can't count: the traces are read.
  const json m = get("metrics", {{"q", "{ .job_id != nil && duration > 1 + 1 } | count_over_time() by (name)"},
                                 {"start", "1000"},
                                 {"end", "3000"},
                                 {"steps", "2"}});
  ASSERT_EQ(m["series"].size(), 3u);
  EXPECT_EQ(m["series"][1]["labels"]["name"], "msm");
  EXPECT_EQ(m["series"][1]["values"], json::array({1.0, 1.0}));
  EXPECT_FALSE(m.contains("unit"));
  EXPECT_EQ(get("metrics",
                {{"q", "{ duration > 1 + 1 } | max_over_time(duration)"}, {"start", "1000"}, {"end", "3000"}})["unit"],
            "ns");
}

TEST_F(Api, FindsOutliers) {
  const json o = get("outliers", {{"q", "{ name = \"msm\" }"}, {"slow", "1"}});
  EXPECT_EQ(o["slow"], 1);
  EXPECT_EQ(o["attributes"][0]["key"], "job_id");
  EXPECT_EQ(o["attributes"][0]["what"], "= after");
}

TEST_F(Api, TailsWhatTheFilterAccepts) {
  const http_response a = ask("GET", "/api/v1/tail", {{"q", "{ status = error }"}});
  EXPECT_EQ(a.type, "text/event-stream");
  const std::string first = a.stream();
  ASSERT_TRUE(first.starts_with("data: "));
  EXPECT_EQ(json::parse(first.substr(6))["span_id"], "000000000000000c");
}

TEST_F(Api, TakesAnImport) {
  const std::string line =
      R"({"ts":"2026-05-08T20:45:12.183456Z","level":"INFO","target":"prover::msm","job_id":"j","span":"msm","trace_id":"0000000000000001000000000000000f","span_id":"00000000000000a1","attributes":{"n":4},"duration_ms":2.5,"event":"complete"})";
  const http_response a = ask("POST", "/api/v1/import", {{"format", "jsonl"}}, line + "\n" + line + "\n");
  EXPECT_EQ(a.status, 200) << a.body;
  EXPECT_EQ(json::parse(a.body)["spans"], 2);
  EXPECT_EQ(json::parse(a.body)["rejected"], 0);
  EXPECT_EQ(store_.appended(), 2u);
  EXPECT_EQ(ask("POST", "/api/v1/import", {{"format", "jsonl"}}, "{\n").status, 400);
}

TEST(ApiOfAJob, ShowsWhatIsBelowItsSpansAndNamesNoJob) {
  std::vector<span_row> rows{row(1, 0, "job", 1000, 1100),    row(2, 1, "msm", 1000, 1040),
                             row(3, 2, "ntt", 1010, 1030),    row(4, 1, "other", 1040, 1080),
                             row(5, 4, "its", 1050, 1060),    row(6, 0, "before", 900, 950),
                             row(7, 8, "circle", 1000, 1010), row(8, 7, "circle", 1000, 1010)};
  rows[0].job_id = "j";
  rows[3].job_id = "another";
  test::memory_store store(rows);
  router r;
  add_api(r, store);
  const auto ids = [&](const char* job, std::vector<std::pair<std::string, std::string>> query) {
    http_request q;
    q.method = "GET";
    q.target = std::string("/api/v1/traces/") + job;
    q.query = std::move(query);
    const json answer = json::parse(r.answer(q).body);
    std::set<std::string> out;
    for (const json& one : answer["rows"]) out.insert(one["span_id"].get<std::string>().substr(15));
    return out;
  };
  EXPECT_EQ(ids("j", {}), (std::set<std::string>{"1", "2", "3"}));
  EXPECT_EQ(ids("another", {}), (std::set<std::string>{"4", "5"}));
  EXPECT_EQ(ids("j", {{"end", "1005"}}), (std::set<std::string>{"1", "2"}));
}

TEST_F(Api, SaysWhatIsWrongWithAQuestion) {
  EXPECT_EQ(get("breakdown", {}, 400)["error"], "the parameter `of` is missing");
  EXPECT_TRUE(get("breakdown", {{"of", "nope"}}, 404)["error"].get<std::string>().starts_with("there is no job nope"));
  EXPECT_TRUE(get("traces", {{"q", "{ name }"}}, 400)["error"].get<std::string>().ends_with("^"));
  EXPECT_EQ(get("traces", {{"limit", "many"}}, 400)["error"],
            "the parameter `limit` is \"many\", and must be a number from 1 to 1000");
  EXPECT_EQ(get("links", {{"trace", "12"}}, 400)["error"],
            "\"12\" is no id of a trace, which has 32 hexadecimal digits");
  EXPECT_EQ(get("links", {{"trace", first_trace}, {"span", "xyz"}}, 400)["error"],
            "\"xyz\" is no id of a span, which has 16 hexadecimal digits");
  EXPECT_EQ(get("logs", {{"of", "{ name = \"msm\" }"}}, 400)["error"],
            "log lines are asked for by trace, job or span: `traces` finds the traces that a query matches");
  EXPECT_EQ(get("metrics", {{"q", "{}"}}, 400).size(), 1u);
  EXPECT_EQ(get("export", {{"of", "before"}, {"format", "doc"}}, 400).size(), 1u);
  EXPECT_EQ(get("logs", {{"level", "loud"}}, 400).size(), 1u);
}

TEST(ApiDescription, NamesEveryRouteAndNoOther) {
  const json document = json::parse(openapi_document);
  std::set<std::string> described;
  for (const auto& [path, methods] : document["paths"].items()) {
    for (const auto& [method, operation] : methods.items()) {
      described.insert(method + " " + path);
      EXPECT_TRUE(operation.contains("summary")) << path;
      for (const json& p : operation.value("parameters", json::array())) {
        if (p["in"] != "path") continue;
        EXPECT_NE(path.find("{" + p["name"].get<std::string>() + "}"), std::string::npos);
      }
    }
  }
  std::set<std::string> routes;
  for (auto [method, pattern] : api_routes()) {
    std::transform(method.begin(), method.end(), method.begin(), [](char c) { return static_cast<char>(c | 0x20); });
    routes.insert(method + " " + pattern);
  }
  EXPECT_EQ(described, routes);
}

}  // namespace
}  // namespace telltale::hub
