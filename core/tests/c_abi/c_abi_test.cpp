// What a C program recorded through telltale.h, read back from its JSON lines.
#include "support/json_lines.hpp"
#include "support/process.hpp"

using namespace telltale::testing;

namespace {

// One run of the program for all tests of this process.
struct recorded_program {
  ended end;
  std::vector<json> lines;

  recorded_program() {
    const temporary_directory dir;
    end = run(PROGRAM, {}, {{"TELLTALE_SINKS", "json:" + (dir / "out.jsonl")}});
    lines = read_lines(dir / "out.jsonl");
  }
};
const recorded_program& program() {
  static const recorded_program p;
  return p;
}

// The end of the span of that name, which stands there once.
json ended_span(std::string_view name) {
  for (const json& l : program().lines) {
    if (l.value("event", "") == "complete" && l.value("span", "") == name) return l;
  }
  ADD_FAILURE() << "no span " << name;
  return json::object();
}

TEST(CInterface, EveryCallReturnsWhatTheHeaderSays) {
  EXPECT_EQ(program().end.code, 0) << program().end;
  EXPECT_EQ(program().end.err, "");
}

TEST(CInterface, EverySpanEndsOnceAndWhatIsOffIsNotThere) {
  std::set<std::string> ids;
  for (const json& l : program().lines) {
    if (l.value("event", "") == "complete") {
      EXPECT_TRUE(ids.insert(l.at("span_id").get<std::string>()).second) << l;
    }
    EXPECT_EQ(l.at("target"), "c::program");
  }
  for (const char* name : {"job", "decode", "handed over", "under a given parent"}) {
    EXPECT_EQ(count_span(program().lines, name), 1) << name;
  }
  EXPECT_EQ(count_span(program().lines, "block"), 2);
  EXPECT_EQ(ids.size(), 6u);
  EXPECT_EQ(program().lines.size(), 8u);
}

TEST(CInterface, ParentsAreWhatWasCurrentOrGiven) {
  const json job = ended_span("job");
  const json decode = ended_span("decode");
  EXPECT_FALSE(job.contains("parent_id"));
  EXPECT_EQ(decode.at("parent_id"), job.at("span_id"));
  EXPECT_EQ(ended_span("block").at("parent_id"), decode.at("span_id"));
  EXPECT_EQ(ended_span("handed over").at("parent_id"), decode.at("span_id"));
  EXPECT_EQ(ended_span("under a given parent").at("parent_id"), job.at("span_id"));
  for (const json& l : program().lines) EXPECT_EQ(l.at("trace_id"), job.at("trace_id")) << l;
}

TEST(CInterface, AttributesKeepValueAndType) {
  const json a = ended_span("decode").at("attributes");
  EXPECT_EQ(a.at("flag"), json(true));
  EXPECT_EQ(a.at("no"), json(false));
  EXPECT_TRUE(a.at("low").is_number_integer());
  EXPECT_EQ(a.at("low").get<std::int64_t>(), INT64_MIN);
  EXPECT_TRUE(a.at("high").is_number_unsigned());
  EXPECT_EQ(a.at("high").get<std::uint64_t>(), UINT64_MAX);
  EXPECT_EQ(a.at("codec"), json("h\"26\xc3\xb6"));
  EXPECT_TRUE(a.at("ratio").is_number_float());
  EXPECT_EQ(a.at("ratio"), json(0.25)) << "the later value wins";
  EXPECT_EQ(a.at("rows"), json(7));
}

TEST(CInterface, AScopesAttributesAreInheritedByAllBelowIt) {
  for (const json& l : program().lines) {
    EXPECT_EQ(l.value("job_id", ""), "j-17") << l;
    EXPECT_EQ(l.value("attempt", 0), 3) << l;
  }
}

TEST(CInterface, StatusKindLinkAndEventAreOnTheSpan) {
  const json decode = ended_span("decode");
  const json job = ended_span("job");
  EXPECT_EQ(decode.value("status", ""), "error");
  EXPECT_NE(decode.at("attributes").dump().find("truncated"), std::string::npos) << decode;
  EXPECT_EQ(decode.value("kind", ""), "consumer");
  EXPECT_FALSE(job.contains("status") || job.contains("kind") || job.contains("links"));
  ASSERT_EQ(decode.at("links").size(), 1u);
  EXPECT_EQ(decode.at("links")[0],
            json({{"kind", "retry-of"}, {"trace_id", job.at("trace_id")}, {"span_id", job.at("span_id")}}));
  ASSERT_EQ(decode.at("events").size(), 1u);
  EXPECT_EQ(decode.at("events")[0].at("name"), "retried");
  EXPECT_EQ(decode.at("events")[0].at("attributes"), json({{"again", 2}}));
}

TEST(CInterface, AMessageIsFilledInAndBelongsToTheCurrentSpan) {
  const json line = line_with(program().lines, "message", "decoded 48 frames of a.mkv");
  ASSERT_TRUE(line.is_object());
  EXPECT_EQ(line.at("level"), "DEBUG");
  EXPECT_EQ(line.at("span"), "block");
  EXPECT_EQ(line.at("attributes"), json({{"frames", 48}, {"file", "a.mkv"}, {"unnamed", true}}));
}

TEST(CInterface, ASpanEndsOnAnotherThread) {
  const json line = line_with(program().lines, "message", "on the worker");
  ASSERT_TRUE(line.is_object());
  EXPECT_EQ(line.at("thread"), "c worker");
  EXPECT_EQ(line.at("span_id"), ended_span("handed over").at("span_id"));
  EXPECT_EQ(ended_span("decode").at("thread"), "c main");
}

TEST(CInterface, AnEndThatComesLateDoesNotTouchTheSpanInItsPlace) {
  std::size_t marked = 0;
  for (const json& l : program().lines) {
    if (l.value("span", "") == "block" && l.contains("event") && l.contains("attributes")) {
      EXPECT_EQ(l.at("attributes"), json({{"second", true}}));
      ++marked;
    }
  }
  EXPECT_EQ(marked, 1u);
}

}  // namespace
