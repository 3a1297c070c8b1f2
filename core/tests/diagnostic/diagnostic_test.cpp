// A diagnostic as a value and as a log record: its trace, its formats for machines.
#include <nlohmann/json.hpp>
#include <telltale/core/diagnostic.hpp>
#include <thread>

#include "places.hpp"
#include "recorded.hpp"

TELLTALE_MODULE("test::diagnostic");

using namespace telltale::literals;
using nlohmann::json;
using telltale::diagnostic;
using telltale::severity;
using telltale::source_file;
using telltale::trace_frame;
using telltale::testing::at;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

using frames = std::vector<trace_frame>;

diagnostic failed() {
  return {severity::error, "T1", "failed"};
}

const auto model = source_file::make("model.shape", "let x = 1\n  let y = matmul(ä, b)\n");

diagnostic mismatch() {
  return diagnostic(severity::error, "SHP-0203", "inner \"dimensions\" do\nnot agree")
      .secondary(at(model, "ä"), "128 columns")
      .primary(at(model, "b)"), "96 rows")
      .note("a note")
      .help("transpose `b`");
}

// --- the trace it arose in ------------------------------------------------------------------------------------------

TEST(TraceContext, NamesTheOpenSpansOutermostFirst) {
  recorded r;
  EXPECT_EQ(failed().trace(), frames{});
  TELLTALE_SPAN("compile", "files"_a = 3);
  TELLTALE_SPAN("typecheck", "line"_a = 7, "function"_a = telltale::text{"matmul"}, "kind"_a = "op");
  TELLTALE_SPAN("elaborate_call");
  EXPECT_EQ(failed().trace(), (frames{{"compile", ""}, {"typecheck", "matmul"}, {"elaborate_call", ""}}));
  EXPECT_NE(telltale::render_human(failed()).find(" = during: compile > typecheck \"matmul\" > elaborate_call\n"),
            std::string::npos);
}

TEST(TraceContext, NamesAScopeByItsAttributes) {
  recorded r;
  TELLTALE_SCOPE("prove_groth16", "size"_a = 1, "job_id"_a = telltale::text{"c1a0d8a5"});
  TELLTALE_SPAN("msm");
  EXPECT_EQ(failed().trace(), (frames{{"prove_groth16", "c1a0d8a5"}, {"msm", ""}}));
}

TEST(TraceContext, SkipsSpansThatAreOff) {
  recorded r(telltale::options{.trace = "info"});
  TELLTALE_SPAN("compile");
  TELLTALE_DEBUG_SPAN("detail");
  TELLTALE_SPAN("parse");
  EXPECT_EQ(failed().trace(), (frames{{"compile", ""}, {"parse", ""}}));
}

TEST(TraceContext, FollowsTheContextToAnotherThread) {
  recorded r;
  TELLTALE_SPAN("outside");
  frames there;
  std::thread(telltale::bind([&] {
    TELLTALE_SPAN("inside");
    there = failed().trace();
  })).join();
  EXPECT_EQ(there, (frames{{"outside", ""}, {"inside", ""}}));
}

TEST(TraceContext, EndsWhereASpanIsNotOpenHere) {
  recorded r;
  telltale::context remote;
  remote.trace = {1, 2};
  remote.span = {3};
  const telltale::with_context guard(remote);
  EXPECT_EQ(failed().trace(), frames{});
  TELLTALE_SPAN("here");
  EXPECT_EQ(failed().trace(), (frames{{"here", ""}}));
  EXPECT_EQ(failed().origin().trace, remote.trace);
}

TEST(TraceContext, SaysWhatAFailedSpanIsAboutNotThatItFailed) {
  recorded r;
  TELLTALE_SPAN_AS(s, info, "load");
  s.fail("truncated");
  EXPECT_EQ(failed().trace(), (frames{{"load", ""}}));
  s.set("key"_a = telltale::text{std::string(100, 'k')});
  EXPECT_EQ(failed().trace(), (frames{{"load", std::string(80, 'k') + "…"}}));
}

// --- as a log record ------------------------------------------------------------------------------------------------

TEST(Report, IsALogRecordOfItsLevelUnderTheSpanItAroseIn) {
  recorded r;
  telltale::span_id origin;
  std::optional<diagnostic> kept;
  {
    TELLTALE_SPAN_AS(s, info, "typecheck");
    origin = s.get_context().span;
    kept = mismatch();
  }
  TELLTALE_REPORT(*kept);  // later, elsewhere
  TELLTALE_REPORT(diagnostic(severity::warning, "W", "careful", telltale::topic::memory));
  TELLTALE_REPORT(diagnostic(severity::remark, "", "by the way"));
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].level, telltale::level::error);
  EXPECT_EQ(lines[0].module, "test::diagnostic");
  EXPECT_EQ(lines[0].message, "inner \"dimensions\" do\nnot agree");
  EXPECT_EQ(lines[0].span, origin);
  EXPECT_EQ(lines[0].span_name, "typecheck");
  const auto value = [&](std::size_t line, std::string_view key) {
    for (const auto& [k, v] : lines[line].attributes) {
      if (k == key) return telltale::to_string(v);
    }
    return std::string("(none)");
  };
  EXPECT_EQ(value(0, "diagnostic.code"), "SHP-0203");
  EXPECT_EQ(value(0, "code.file.path"), "model.shape");
  EXPECT_EQ(value(0, "code.line.number"), "2");
  EXPECT_EQ(value(0, "code.column.number"), "21");
  EXPECT_EQ(value(0, "diagnostic.topic"), "(none)");
  EXPECT_EQ(lines[1].level, telltale::level::warn);
  EXPECT_EQ(value(1, "diagnostic.topic"), "memory");
  EXPECT_EQ(lines[2].level, telltale::level::info);
  EXPECT_EQ(value(2, "diagnostic.code"), "(none)");
}

TEST(Report, FollowsTheLogFilterOfItsModule) {
  recorded r(telltale::options{.log = "info,test::diagnostic=error"});
  TELLTALE_REPORT(diagnostic(severity::warning, "W", "unheard"));
  TELLTALE_REPORT(diagnostic(severity::error, "E", "heard"));
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].message, "heard");
}

// --- formats --------------------------------------------------------------------------------------------------------

TEST(Gnu, IsALinePerThingToSay) {
  recorded r;
  TELLTALE_SPAN("compile");
  EXPECT_EQ(telltale::render_gnu(mismatch()),
            "model.shape:2:21: error: inner \"dimensions\" do not agree; 96 rows [SHP-0203]\n"
            "model.shape:2:18: note: 128 columns\n"
            "model.shape:2:21: note: a note\n"
            "model.shape:2:21: note: help: transpose `b`\n"
            "model.shape:2:21: note: during compile\n");
  EXPECT_EQ(telltale::render_gnu(diagnostic(severity::warning, "", "no place")).substr(0, 18), "warning: no place\n");
}

TEST(Json, ReadsBackWithEverythingInIt) {
  recorded r;
  TELLTALE_SPAN_AS(s, info, "typecheck", "function"_a = "matmul");
  const std::string text = telltale::render_json(mismatch());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json j = json::parse(text);
  EXPECT_EQ(j["severity"], "error");
  EXPECT_EQ(j["code"], "SHP-0203");
  EXPECT_EQ(j["topic"], "input");
  EXPECT_EQ(j["message"], "inner \"dimensions\" do\nnot agree");
  EXPECT_EQ(j["labels"].size(), 2u);
  EXPECT_EQ(j["labels"][0], json::parse(R"({"primary":false,"text":"128 columns","file":"model.shape",
    "begin":{"offset":27,"line":2,"column":18},"end":{"offset":29,"line":2,"column":19}})"));
  EXPECT_EQ(j["notes"], json::parse(R"(["a note"])"));
  EXPECT_EQ(j["help"], json::parse(R"(["transpose `b`"])"));
  EXPECT_EQ(j["trace"], json::parse(R"([{"name":"typecheck","detail":"matmul"}])"));
  EXPECT_EQ(j["trace_id"].get<std::string>().size(), 32u);
  EXPECT_EQ(j["span_id"].get<std::string>().size(), 16u);
}

TEST(Sarif, HoldsAllResultsWithTheirRulesAndFiles) {
  recorded r;
  const auto other = source_file::make("/abs/a b:ü.shape", "x\n");
  const diagnostic all[] = {mismatch(), diagnostic(severity::remark, "PRF-1", "slow").primary({other, 0, 99}),
                            mismatch()};
  const json j = json::parse(telltale::render_sarif(all, {"shapec", "1.0"}));
  EXPECT_EQ(j["version"], "2.1.0");
  const json& run = j["runs"][0];
  EXPECT_EQ(run["tool"]["driver"]["name"], "shapec");
  EXPECT_EQ(run["tool"]["driver"]["rules"], json::parse(R"([{"id":"SHP-0203"},{"id":"PRF-1"}])"));
  EXPECT_EQ(run["columnKind"], "unicodeCodePoints");
  ASSERT_EQ(run["artifacts"].size(), 2u);
  EXPECT_EQ(run["artifacts"][1]["location"]["uri"], "file:///abs/a%20b%3A%C3%BC.shape");
  ASSERT_EQ(run["results"].size(), 3u);
  const json& first = run["results"][0];
  EXPECT_EQ(first["level"], "error");
  EXPECT_EQ(first["ruleIndex"], 0);
  EXPECT_EQ(first["message"]["text"], "inner \"dimensions\" do\nnot agree\nnote: a note\nhelp: transpose `b`");
  EXPECT_EQ(first["locations"][0]["physicalLocation"]["region"],
            json::parse(R"({"startLine":2,"startColumn":21,"endLine":2,"endColumn":23})"));
  EXPECT_EQ(first["relatedLocations"][0]["message"]["text"], "128 columns");
  EXPECT_EQ(run["results"][1]["level"], "note");
  EXPECT_EQ(run["results"][1]["ruleIndex"], 1);
  EXPECT_EQ(run["results"][1]["locations"][0]["physicalLocation"]["artifactLocation"]["index"], 1);
  EXPECT_EQ(run["results"][2]["ruleIndex"], 0);
}

}  // namespace
