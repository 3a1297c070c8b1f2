// JSON lines: valid for every input, and what comes out is what went in.
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <thread>

#include "recorded.hpp"
#include "support/json_lines.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("out::json");
using namespace telltale::literals;
using namespace telltale::testing;
using telltale::text;

namespace {

// Records go into a file for the length of a test.
class JsonLines : public ::testing::Test {
 protected:
  void SetUp() override {
    telltale::options o;
    o.trace = "trace";
    o.log = "trace";
    o.sinks = "json:" + file + "?overflow=block";
    o.overflow = telltale::overflow_policy::block;
    o.overhead = 0;  // each record
    const auto started = telltale::start(o);
    ASSERT_TRUE(started) << started.error().message;
  }
  void TearDown() override {
    telltale::options o;
    o.sinks = "none";
    EXPECT_TRUE(telltale::start(o));
  }
  std::vector<json> lines() {
    EXPECT_TRUE(telltale::flush(std::chrono::seconds(20)));
    return read_lines(file);
  }
  temporary_directory dir;
  std::string file = dir / "out.jsonl";
};

TEST_F(JsonLines, ALineHasTheFieldsOfTheSpecification) {
  {
    TELLTALE_SCOPE("prove", "job_id"_a = "c1");
    TELLTALE_SPAN("msm", "points"_a = 128, "device"_a = "cuda:0");
    TELLTALE_WARN("loaded {points} points", "points"_a = 128u);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 3u);
  const json& log = all[0];
  const json& msm = all[1];
  const json& prove = all[2];
  EXPECT_EQ(log.at("level"), "WARN");
  EXPECT_EQ(log.at("target"), "out::json");
  EXPECT_EQ(log.at("span"), "msm");
  EXPECT_EQ(log.at("message"), "loaded 128 points");
  EXPECT_EQ(log.at("job_id"), "c1");
  EXPECT_EQ(log.at("attributes"), json({{"points", 128}}));
  EXPECT_EQ(log.at("span_id"), msm.at("span_id"));
  EXPECT_FALSE(log.contains("event"));
  EXPECT_EQ(msm.at("event"), "complete");
  EXPECT_EQ(msm.at("level"), "INFO");
  EXPECT_EQ(msm.at("job_id"), "c1");
  EXPECT_EQ(msm.at("attributes"), json({{"points", 128}, {"device", "cuda:0"}}));
  EXPECT_EQ(msm.at("parent_id"), prove.at("span_id"));
  EXPECT_EQ(msm.at("trace_id"), prove.at("trace_id"));
  EXPECT_EQ(msm.at("trace_id").get<std::string>().size(), 32u);
  EXPECT_EQ(msm.at("span_id").get<std::string>().size(), 16u);
  EXPECT_GE(msm.at("duration_ms").get<double>(), 0.0);
  EXPECT_LE(msm.at("duration_ms").get<double>(), prove.at("duration_ms").get<double>());
  EXPECT_FALSE(prove.contains("parent_id"));
  const std::string ts = log.at("ts");
  ASSERT_EQ(ts.size(), 27u) << "microseconds";
  EXPECT_EQ(ts[10], 'T');
  EXPECT_EQ(ts.back(), 'Z');
}

TEST_F(JsonLines, NumbersComeBackExactly) {
  TELLTALE_INFO("numbers", "lowest"_a = std::numeric_limits<std::int64_t>::min(),
                "highest"_a = std::numeric_limits<std::uint64_t>::max(), "yes"_a = true, "no"_a = false,
                "tiny"_a = std::numeric_limits<double>::denorm_min(), "huge"_a = std::numeric_limits<double>::max(),
                "third"_a = 1.0 / 3, "minus zero"_a = -0.0, "nan"_a = std::numeric_limits<double>::quiet_NaN(),
                "inf"_a = std::numeric_limits<double>::infinity(), "less"_a = -std::numeric_limits<double>::infinity(),
                "float"_a = 1.5f);
  const json a = lines().at(0).at("attributes");
  EXPECT_EQ(a.at("lowest").get<std::int64_t>(), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(a.at("highest").get<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(a.at("yes"), true);
  EXPECT_EQ(a.at("no"), false);
  EXPECT_EQ(a.at("tiny").get<double>(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(a.at("huge").get<double>(), std::numeric_limits<double>::max());
  EXPECT_EQ(a.at("third").get<double>(), 1.0 / 3);
  EXPECT_EQ(a.at("nan"), "NaN");
  EXPECT_EQ(a.at("inf"), "Infinity");
  EXPECT_EQ(a.at("less"), "-Infinity");
  EXPECT_EQ(a.at("float"), 1.5);
}

TEST_F(JsonLines, ABadStringAmongThousandLosesNothingAndIsMarked) {
  for (int i = 0; i < 1000; ++i) {
    TELLTALE_INFO("value {v}", "v"_a = text{i == 500 ? "a\xc3(b" : "good"});
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 1000u);
  EXPECT_EQ(all[500].at("attributes").at("v"), "a\xef\xbf\xbd(b");
  EXPECT_EQ(all[500].at("message"), "value a\xef\xbf\xbd(b");
  EXPECT_EQ(all[499].at("attributes").at("v"), "good");
}

TEST_F(JsonLines, InvalidBytesBecomeReplacementCharactersAndTheRestStays) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},                  // a lone surrogate
      {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                                  // cut in the middle
      {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},                                  // overlong
      {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},  // above U+10FFFF
      {std::string("a\0b", 3), std::string("a\0b", 3)},
      {"\x1b[31m\r\n\t\"\\\x7f", "\x1b[31m\r\n\t\"\\\x7f"},
      {"\xe2\x80\xa8\xf0\x9f\x8e\x90", "\xe2\x80\xa8\xf0\x9f\x8e\x90"},  // U+2028 and a wind chime
  };
  for (const auto& [in, out] : cases) TELLTALE_INFO("bytes", "v"_a = text{in});
  const auto all = lines();
  ASSERT_EQ(all.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) EXPECT_EQ(all[i].at("attributes").at("v"), cases[i].second) << i;
}

TEST_F(JsonLines, RandomValuesOfEveryTypeComeBack) {
  std::mt19937_64 random(20260508);
  struct expected {
    bool b;
    std::int64_t i;
    std::uint64_t u;
    double d;
    std::string s;
  };
  std::vector<expected> sent;
  constexpr int count = 2000;
  for (int n = 0; n < count; ++n) {
    std::string s;
    for (std::uint64_t k = random() % 40; k > 0; --k) s += static_cast<char>(random() % 256);
    const expected e{(random() & 1) != 0, static_cast<std::int64_t>(random() >> (random() % 64)), random(),
                     std::bit_cast<double>(random()), s};
    TELLTALE_INFO("r{b}{s}", "b"_a = e.b, "i"_a = e.i, "u"_a = e.u, "d"_a = e.d, "s"_a = text{e.s});
    sent.push_back(e);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), static_cast<std::size_t>(count));
  for (std::size_t n = 0; n < sent.size(); ++n) {
    const json& a = all[n].at("attributes");
    EXPECT_EQ(a.at("b"), sent[n].b);
    EXPECT_EQ(a.at("i").get<std::int64_t>(), sent[n].i);
    EXPECT_EQ(a.at("u").get<std::uint64_t>(), sent[n].u);
    if (std::isfinite(sent[n].d)) {
      EXPECT_EQ(a.at("d").get<double>(), sent[n].d);
    } else {
      EXPECT_TRUE(a.at("d").is_string());
    }
    const bool ascii = std::all_of(sent[n].s.begin(), sent[n].s.end(), [](char c) { return c >= 0; });
    if (ascii) {
      EXPECT_EQ(a.at("s"), sent[n].s);
    }
    EXPECT_EQ(all[n].at("message").get<std::string>(),
              "r" + std::string(sent[n].b ? "true" : "false") + a.at("s").get<std::string>());
  }
}

TEST_F(JsonLines, BracesInDataAreData) {
  TELLTALE_INFO("{a} and {{literal}}", "a"_a = "{b}%s{}", "b"_a = 1);
  EXPECT_EQ(lines().at(0).at("message"), "{b}%s{} and {literal}");
}

TEST_F(JsonLines, TheNearerScopeWinsAndFieldsOfOursAreNotRepeated) {
  {
    TELLTALE_SCOPE("outer", "job_id"_a = "far", "task_id"_a = 1, "ts"_a = "mine", "incomplete"_a = "yes");
    TELLTALE_SCOPE("inner", "job_id"_a = "near", "level"_a = 9);
    TELLTALE_INFO("line", "level"_a = "own");
    TELLTALE_INFO("plain");
  }
  const auto all = lines();
  const json& line = all.at(0);
  EXPECT_EQ(line.at("job_id"), "near");
  EXPECT_EQ(line.at("task_id"), 1);
  EXPECT_EQ(line.at("level"), "INFO");
  EXPECT_EQ(line.at("attributes").at("level"), "own") << "its own is nearer than an inherited one";
  EXPECT_EQ(line.at("attributes").at("ts"), "mine");
  EXPECT_EQ(line.at("attributes").at("incomplete"), "yes");
  EXPECT_EQ(all.at(1).at("attributes").at("level"), 9);
}

TEST_F(JsonLines, FailuresKindsLinksAndEventsAreThere) {
  telltale::context first;
  {
    TELLTALE_SPAN_AS(s, info, "first");
    first = s.get_context();
  }
  {
    TELLTALE_SPAN_AS(s, error, "second", "n"_a = 1);
    s.link(first, telltale::link_kind::retry_of);
    TELLTALE_EVENT(s, "tried \"again\"", "attempt"_a = 2);
    s.kind(telltale::span_kind::client);
    s.fail("no_luck");
    s.set("n"_a = 3, "late"_a = text{"\n"});
  }
  const auto all = lines();
  const json& s = all.at(1);
  EXPECT_EQ(s.at("status"), "error");
  EXPECT_EQ(s.at("kind"), "client");
  EXPECT_EQ(s.at("level"), "ERROR");
  EXPECT_EQ(s.at("attributes"), json({{"n", 3}, {"error.type", "no_luck"}, {"late", "\n"}}));
  ASSERT_EQ(s.at("links").size(), 1u);
  EXPECT_EQ(s.at("links")[0].at("kind"), "retry-of");
  EXPECT_EQ(s.at("links")[0].at("span_id"), all.at(0).at("span_id"));
  EXPECT_EQ(s.at("links")[0].at("trace_id"), all.at(0).at("trace_id"));
  ASSERT_EQ(s.at("events").size(), 1u);
  EXPECT_EQ(s.at("events")[0].at("name"), "tried \"again\"");
  EXPECT_EQ(s.at("events")[0].at("attributes"), json({{"attempt", 2}}));
  EXPECT_FALSE(all.at(0).contains("status"));
}

TEST_F(JsonLines, CutStringsAreMarkedWhereverTheyStand) {
  const std::string long_one(telltale::max_string_bytes + 100, 'x');
  {
    TELLTALE_SCOPE("scope", "inherited"_a = text{std::string_view{long_one}.substr(0, 1000)});
    TELLTALE_SPAN_AS(s, info, "span", "own"_a = text{long_one});
    TELLTALE_EVENT(s, "event", "told"_a = text{long_one});
    TELLTALE_INFO("line", "said"_a = text{long_one}, "said.cut"_a = 7, "short"_a = "s");
  }
  const auto all = lines();
  const json& line = all.at(0).at("attributes");
  EXPECT_EQ(line.at("said").get<std::string>().size(), telltale::max_string_bytes);
  EXPECT_EQ(line.at("said.cut"), 7) << "an attribute of that name comes first";
  EXPECT_FALSE(line.contains("short.cut"));
  EXPECT_EQ(all.at(1).at("attributes").at("own.cut"), true);
  EXPECT_EQ(all.at(1).at("events")[0].at("attributes").at("told.cut"), true);
  EXPECT_EQ(all.at(0).at("inherited.cut"), true);
  EXPECT_LT(all.at(0).at("inherited").get<std::string>().size(), 1000u);
}

TEST_F(JsonLines, ASpanThatIsOpenForASecondIsAnnounced) {
  {
    TELLTALE_SPAN("patient", "n"_a = 5);
    std::this_thread::sleep_for(std::chrono::milliseconds(1700));
    const auto all = lines();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].at("event"), "open");
    EXPECT_EQ(all[0].at("span"), "patient");
    EXPECT_EQ(all[0].at("attributes").at("n"), 5);
    EXPECT_GE(all[0].at("duration_ms").get<double>(), 1000.0);
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].at("event"), "complete");
  EXPECT_EQ(all[1].at("span_id"), all[0].at("span_id"));
}

}  // namespace
