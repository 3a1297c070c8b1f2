// Text for people: the format of the specification, and nothing that a terminal would obey.
#include <regex>

#include "recorded.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("runtime");
using namespace telltale::literals;
using namespace telltale::testing;
using telltale::text;

namespace {

class Text : public ::testing::Test {
 protected:
  void begin(const std::string& more = "") {
    telltale::options o;
    o.trace = "trace";
    o.log = "trace";
    o.sinks = "text:" + file + "?overflow=block" + more;
    o.overhead = 0;  // each record
    const auto started = telltale::start(o);
    ASSERT_TRUE(started) << started.error().message;
  }
  void TearDown() override {
    telltale::options o;
    o.sinks = "none";
    EXPECT_TRUE(telltale::start(o));
  }
  // Lines without their time, which is checked to be one.
  std::vector<std::string> lines() {
    EXPECT_TRUE(telltale::flush(std::chrono::seconds(20)));
    std::vector<std::string> out;
    std::istringstream all(contents(file));
    static const std::regex time(R"(^(.*?)\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z )");
    for (std::string line; std::getline(all, line);) {
      EXPECT_TRUE(std::regex_search(line, time)) << line;
      out.push_back(std::regex_replace(line, time, "$1["));
    }
    return out;
  }
  temporary_directory dir;
  std::string file = dir / "out.log";
};

TEST_F(Text, IsAsTheSpecificationShowsIt) {
  begin();
  const std::string device = "cuda:0";
  TELLTALE_INFO("starting matmul {m}x{n}x{k} on {device}", "m"_a = 128, "n"_a = 256, "k"_a = 64,
                "device"_a = text{device});
  TELLTALE_ERROR("wrong", "why"_a = "bad \"luck\"", "n"_a = 1.5, "yes"_a = true);
  TELLTALE_DEBUG("d");
  {
    TELLTALE_SCOPE("prove_groth16", "job_id"_a = "c1a0d8a5");
    TELLTALE_INFO("loaded parameters");
    TELLTALE_SCOPE("phase", "number"_a = 2);
    TELLTALE_WARN("slow");
  }
  const auto all = lines();
  ASSERT_EQ(all.size(), 7u);
  EXPECT_EQ(all[0], "[INFO  runtime] starting matmul 128x256x64 on cuda:0");
  EXPECT_EQ(all[1], R"([ERROR runtime] wrong why="bad \"luck\"" n=1.5 yes=true)");
  EXPECT_EQ(all[2], "[DEBUG runtime] d");
  EXPECT_EQ(all[3], R"([INFO  runtime] prove_groth16{job_id="c1a0d8a5"}: loaded parameters)");
  EXPECT_EQ(all[4], R"([WARN  runtime] prove_groth16{job_id="c1a0d8a5"}:phase{number=2}: slow)");
  EXPECT_EQ(all[5].find(R"([INFO  runtime] prove_groth16{job_id="c1a0d8a5"}:phase{number=2} took )"), 0u) << all[5];
  EXPECT_EQ(all[6].find(R"([INFO  runtime] prove_groth16{job_id="c1a0d8a5"} took )"), 0u) << all[6];
}

TEST_F(Text, SaysHowSpansEnded) {
  begin();
  {
    TELLTALE_SCOPE("job", "id"_a = 1);
    TELLTALE_SPAN_AS(s, warn, "load", "bytes"_a = 5);
    s.fail("truncated");
  }
  const auto all = lines();
  EXPECT_TRUE(std::regex_match(
      all.at(0),
      std::regex(
          R"(\[WARN  runtime\] job\{id=1\}: load\{bytes=5, error\.type="truncated"\} failed after [0-9.]+ (µs|ms))")))
      << all.at(0);
}

TEST_F(Text, WithoutSpansShowsLinesOnlyAndIdsWhereAsked) {
  begin(",spans=off,ids=on");
  {
    TELLTALE_SPAN("silent");
    TELLTALE_INFO("line");
  }
  TELLTALE_INFO("outside");
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(
      std::regex_match(all[0], std::regex(R"(\[INFO  runtime\] line trace_id=[0-9a-f]{32} span_id=[0-9a-f]{16})")))
      << all[0];
  EXPECT_EQ(all[1], "[INFO  runtime] outside");
}

TEST_F(Text, NeverCarriesControlCharactersOfData) {
  begin();
  const std::string evil =
      "\x1b[2J\r\nINFO fake\x07\xe2\x80\xa8\xc2\x9b"
      "31m\xff\x7f";
  TELLTALE_INFO("in message {v}", "v"_a = text{evil});
  TELLTALE_INFO("as attribute", "v"_a = text{evil});
  const auto all = lines();
  ASSERT_EQ(all.size(), 2u);
  const std::string safe = R"(\x1b[2J\r\nINFO fake\x07\u2028\x9b31m)"
                           "\xef\xbf\xbd"
                           R"(\x7f)";
  EXPECT_EQ(all[0], "[INFO  runtime] in message " + safe);
  EXPECT_EQ(all[1], "[INFO  runtime] as attribute v=\"" + safe + "\"");
}

TEST_F(Text, HasColourWhereAskedAndOnlyOurs) {
  begin(",color=always");
  TELLTALE_WARN("plain \x1b[31m");
  const std::string line = lines().at(0);
  EXPECT_EQ(count_of(line, "\x1b["), 6u) << line;
  EXPECT_NE(line.find("\x1b[33mWARN"), std::string::npos);
  EXPECT_NE(line.find("plain \\x1b[31m"), std::string::npos);
}

TEST_F(Text, ToAFileHasNoColourByDefault) {
  begin();
  TELLTALE_WARN("plain");
  EXPECT_EQ(lines().at(0), "[WARN  runtime] plain");
}

TEST_F(Text, ShowsAnAttributeWhoseNameStandsInEscapedBraces) {
  begin();
  TELLTALE_INFO("a {{n}} is no field", "n"_a = 3);
  EXPECT_EQ(lines().at(0), "[INFO  runtime] a {n} is no field n=3");
}

TEST_F(Text, MarksACutString) {
  begin();
  const std::string long_one(telltale::max_string_bytes + 1, 'y');
  TELLTALE_INFO("cut", "v"_a = text{long_one});
  EXPECT_EQ(lines().at(0), "[INFO  runtime] cut v=\"" + long_one.substr(1) + "\"…");
}

}  // namespace
