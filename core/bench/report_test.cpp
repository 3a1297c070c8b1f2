#include "core/bench/report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {
using namespace telltale::bench;

TEST(Report, ABarOnTheRatioIsJudgedAgainstTheReference) {
  figure f{.name = "span", .value = 23, .unit = "ns", .reference = "floor", .reference_value = 20};
  f.bar = ratio_at_most(1.15);
  EXPECT_TRUE(holds(f));
  f.value = 23.1;
  EXPECT_FALSE(holds(f));
  EXPECT_EQ(describe(f), "ratio <= 1.15");
}

TEST(Report, ABarOnTheValueNeedsNoReference) {
  figure f{.name = "throughput", .value = 99'999, .unit = "spans/s", .bar = value_at_least(100'000)};
  EXPECT_FALSE(holds(f));
  f.value = 100'000;
  EXPECT_TRUE(holds(f));
  EXPECT_EQ(describe(f), ">= 100000 spans/s");
}

TEST(Report, AFigureWithoutABarHoldsUnlessItIsNoNumber) {
  figure f{.name = "x", .value = 1, .unit = "ns"};
  EXPECT_TRUE(holds(f));
  f.value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(holds(f));
}

TEST(Report, ABarOnARatioThatCannotBeMadeDoesNotHold) {
  figure f{.name = "x", .value = 1, .unit = "ns", .reference = "floor", .bar = ratio_at_most(2)};
  EXPECT_FALSE(holds(f));
  f.reference_value = 0;
  EXPECT_FALSE(holds(f));
}

TEST(Report, TheJsonHasOneObjectALineAndIsReadBackAsItWasWritten) {
  report r("core");
  r.add({.name = "quote \" back \\ line\n",
         .value = 23.25,
         .unit = "ns",
         .reference = "two rdtsc × store",
         .reference_value = 22,
         .bar = ratio_at_most(1.15)});
  r.add({.name = "flat", .value = std::numeric_limits<double>::infinity(), .unit = "B"});
  r.absent("log", "spdlog isn't installed");

  const std::string text = r.json();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
  const auto read = nlohmann::json::parse(text);
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[0]["part"], "core");
  EXPECT_EQ(read[0]["name"], "quote \" back \\ line\n");
  EXPECT_EQ(read[0]["value"], 23.25);
  EXPECT_EQ(read[0]["reference"], "two rdtsc × store");
  EXPECT_EQ(read[0]["reference_value"], 22);
  EXPECT_DOUBLE_EQ(read[0]["ratio"], 23.25 / 22);
  EXPECT_EQ(read[0]["bar"], "ratio <= 1.15");
  EXPECT_EQ(read[0]["holds"], true);
  EXPECT_TRUE(read[1]["value"].is_null());
  EXPECT_TRUE(read[1]["reference"].is_null());
  EXPECT_TRUE(read[1]["bar"].is_null());
  EXPECT_EQ(read[1]["holds"], false);
}

TEST(Report, BadUtf8InANameStillGivesValidJson) {
  report r("core");
  r.add({.name = "\xC3(", .value = 1, .unit = "ns"});
  EXPECT_EQ(nlohmann::json::parse(r.json()).size(), 1U);
}

TEST(Report, TheTableIsAlignedAlsoWithLettersOfTwoBytes) {
  report r("core");
  r.add({.name = "span × 3", .value = 1'234'567.4, .unit = "ns", .bar = value_at_most(1)});
  r.add({.name = "span * 33",
         .value = 0.30119,
         .unit = "ns",
         .reference = "load",
         .reference_value = 0.25,
         .bar = ratio_at_most(2)});
  r.absent("log", "spdlog isn't installed");
  std::ostringstream out;
  r.print(out);
  EXPECT_EQ(out.str(),
            "what              value  reference     ratio  bar         holds\n"
            "span × 3   1,234,567 ns                       <= 1 ns     NO\n"
            "span * 33     0.3012 ns  load: 0.2500  1.205  ratio <= 2  yes\n"
            "left out: log (spdlog isn't installed)\n");
}

TEST(Report, FinishWritesTheFileAndSaysByItsCodeWhetherAllHold) {
  const auto file = std::filesystem::path(testing::TempDir()) / "figures.json";
  std::ostringstream out;
  report r("core");
  r.add({.name = "a", .value = 1, .unit = "ns", .bar = value_at_most(2)});
  EXPECT_EQ(r.finish({.json = file, .peers = {}}, out), 0);
  std::ostringstream written;
  written << std::ifstream(file).rdbuf();
  EXPECT_EQ(written.str(), r.json());
  r.add({.name = "b", .value = 3, .unit = "ns", .bar = value_at_most(2)});
  EXPECT_EQ(r.finish({}, out), 1);
  EXPECT_EQ(r.finish({.json = "/no/such/folder/x.json", .peers = {}}, out), 2);
}

TEST(ReportOptions, PeersAndTheFileAreRead) {
  const char* argv[] = {"report", "--json", "out.json", "--peer", "rapidsnark=/opt/rs=1/prover"};
  const auto o = parse_options(5, argv);
  EXPECT_EQ(o.json, "out.json");
  EXPECT_EQ(o.peer("rapidsnark"), "/opt/rs=1/prover");
  EXPECT_EQ(o.peer("quill"), std::nullopt);
}

TEST(ReportOptionsDeathTest, AnUnknownWordEndsWithAUsageLine) {
  const char* argv[] = {"report", "--jsn", "out.json"};
  EXPECT_EXIT(parse_options(3, argv), testing::ExitedWithCode(2), "cannot read \"--jsn\"");
  const char* incomplete[] = {"report", "--peer", "rapidsnark="};
  EXPECT_EXIT(parse_options(3, incomplete), testing::ExitedWithCode(2), "cannot read \"--peer\"");
}

}  // namespace
