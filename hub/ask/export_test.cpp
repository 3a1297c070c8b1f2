// What other programs get to read, looked at as they would.
#include "hub/ask/export.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/otlp/decode.hpp"
#include "hub/query/rows.hpp"

namespace telltale::hub {
namespace {

using nlohmann::json;
using test::row;

constexpr std::int64_t day = 1'778'273'112'000'000'000;  // 2026-05-08T20:45:12Z

std::vector<span_row> sample() {
  std::vector<span_row> r{row(1, 0, "job", day, day + 5'000'000), row(2, 1, "msm", day + 1'000'000, day + 3'000'000),
                          row(3, 1, "overlap", day + 2'000'000, day + 4'000'500)};
  for (span_row& one : r) {
    one.service = "prover";
    one.scope = "prover::msm";
    one.job_id = "j1";
    one.resource.emplace_back("service.name", std::string("prover"));
  }
  r[1].kind = 2;
  r[1].status = status_code::error;
  r[1].attributes.emplace_back("n", std::int64_t{-4});
  r[1].attributes.emplace_back("size", std::uint64_t{18'446'744'073'709'551'615u});
  r[1].attributes.emplace_back("ratio", 0.5);
  r[1].attributes.emplace_back("ok", true);
  r[1].attributes.emplace_back("text", std::string("a\"b\n"));
  r[1].events.push_back({day + 1'500'000, "retried", {{"attempt", std::int64_t{2}}}});
  r[1].links.push_back({{9, 9}, {7}, "retry-of", {}});
  return r;
}

std::string exported(std::string_view format) {
  const auto rows = sample();
  auto out = export_spans(rows, format);
  EXPECT_TRUE(out) << (out ? "" : out.error().message);
  return out ? *out : "";
}

TEST(Export, ToOtlpIsTakenByTheReceiver) {
  auto request = protobuf_of_json(otlp::signal_kind::traces, exported("otlp"));
  ASSERT_TRUE(request) << request.error().message;
  const auto batch = decode(otlp::signal_kind::traces, *request);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ((*batch)->rejected, 0u) << (*batch)->why;
  ASSERT_EQ((*batch)->spans.size(), 3u);
  const span_record& msm = (*batch)->spans[1];
  EXPECT_EQ(msm.name, "msm");
  EXPECT_EQ(msm.start_ns, day + 1'000'000);
  EXPECT_EQ(msm.duration_ns, 2'000'000);
  EXPECT_EQ(msm.job_id, "j1");
  EXPECT_EQ(msm.status, 2);
  EXPECT_EQ(msm.link_count, 1u);
  EXPECT_EQ((*batch)->links[0].kind, "retry-of");
  EXPECT_EQ((*batch)->resources[0].service, "prover");
}

TEST(Export, ToJsonLinesIsTakenBackWhole) {
  const std::string lines = exported("jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  auto in = read_import(lines, "jsonl");
  ASSERT_TRUE(in) << in.error().message;
  EXPECT_EQ(in->spans, 3u);
  ASSERT_EQ(in->traces.size(), 1u);
  const auto batch = decode(otlp::signal_kind::traces, *protobuf_of_json(otlp::signal_kind::traces, in->traces[0]));
  ASSERT_TRUE(batch);
  ASSERT_EQ((*batch)->spans.size(), 3u);
  const auto msm = std::find_if((*batch)->spans.begin(), (*batch)->spans.end(),
                                [](const span_record& s) { return s.name == "msm"; });
  EXPECT_EQ(msm->start_ns, day + 1'000'000);
  EXPECT_EQ(msm->duration_ns, 2'000'000);
  EXPECT_EQ(msm->kind, 2);
  EXPECT_EQ(msm->status, 2);
  EXPECT_EQ(msm->job_id, "j1");
  EXPECT_NE(msm->attributes.find("\"n\":-4"), std::string_view::npos) << msm->attributes;
}

TEST(Export, ToJaegerHasReferencesTagsAndProcesses) {
  const json j = json::parse(exported("jaeger"));
  ASSERT_EQ(j["data"].size(), 1u);
  const json& trace = j["data"][0];
  EXPECT_EQ(trace["processes"]["p1"]["serviceName"], "prover");
  const json& msm = trace["spans"][1];
  EXPECT_EQ(msm["startTime"], (day + 1'000'000) / 1000);
  EXPECT_EQ(msm["duration"], 2000);
  EXPECT_EQ(msm["references"][0]["refType"], "CHILD_OF");
  EXPECT_EQ(msm["references"][0]["spanID"], "0000000000000001");
  EXPECT_EQ(msm["references"][1]["refType"], "FOLLOWS_FROM");
  EXPECT_EQ(msm["logs"][0]["fields"][0]["value"], "retried");
  EXPECT_TRUE(std::any_of(msm["tags"].begin(), msm["tags"].end(),
                          [](const json& t) { return t["key"] == "error" && t["value"] == true; }));
}

TEST(Export, ToSpeedscopeNestsOnEachLane) {
  const json j = json::parse(exported("speedscope"));
  ASSERT_EQ(j["profiles"].size(), 2u);  // `overlap` crosses `msm`
  for (const json& profile : j["profiles"]) {
    std::vector<int> open;
    std::int64_t last = 0;
    for (const json& e : profile["events"]) {
      EXPECT_GE(e["at"].get<std::int64_t>(), last);
      last = e["at"];
      if (e["type"] == "O") {
        open.push_back(e["frame"]);
      } else {
        ASSERT_FALSE(open.empty());
        EXPECT_EQ(open.back(), e["frame"]);
        open.pop_back();
      }
    }
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(profile["endValue"], 5'000'000);
  }
}

TEST(Export, ToTimelinesGoesThroughCoresSinks) {
  const json chrome = json::parse(exported("chrome"));
  const auto slices = std::count_if(chrome.begin(), chrome.end(), [](const json& e) { return e["ph"] == "X"; });
  EXPECT_EQ(slices, 3);
  const std::string perfetto = exported("perfetto");
  EXPECT_EQ(perfetto.front(), '\x0a');  // a packet of a trace
  EXPECT_NE(perfetto.find("retried"), std::string::npos);
}

TEST(Import, SaysWhichLineIsWrong) {
  const auto broken = read_import("{}\n{]\n", "jsonl");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().message, "line 2 is no JSON. Is the file whole, and is the format right?");
  const auto no_ids = read_import(R"({"event":"complete","ts":"2026-05-08T20:45:12Z","duration_ms":1})", "jsonl");
  ASSERT_FALSE(no_ids);
  EXPECT_TRUE(no_ids.error().message.starts_with("line 1: trace_id and span_id are needed"));
  EXPECT_FALSE(read_import("{\"a\":1}", "otlp"));
  EXPECT_FALSE(read_import("", "csv"));
}

}  // namespace
}  // namespace telltale::hub
