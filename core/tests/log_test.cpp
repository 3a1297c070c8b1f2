// Log lines: message, fields, level, the span they belong to.
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::log");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;

namespace {

std::vector<std::string> messages(recorded& r) {
  std::vector<std::string> out;
  for (const auto& l : r.lines()) out.push_back(l.message);
  return out;
}

TEST(Lines, FillTheirFieldsIn) {
  recorded r;
  TELLTALE_INFO("loaded {points} points from {file}", "points"_a = 42, "file"_a = "x.zkey");
  TELLTALE_INFO("{a}{b}{a}", "a"_a = 1, "b"_a = true);
  TELLTALE_INFO("{{literal}} {x}", "x"_a = 1.5);
  TELLTALE_INFO("nothing to fill");
  TELLTALE_INFO("");
  EXPECT_EQ(messages(r), (std::vector<std::string>{"loaded 42 points from x.zkey", "1true1", "{literal} 1.5",
                                                   "nothing to fill", ""}));
}

TEST(Lines, NeverTreatDataAsAFormat) {
  recorded r;
  TELLTALE_INFO("said {what}", "what"_a = telltale::text{"{0} {what} %s %n {"});
  EXPECT_EQ(messages(r), std::vector<std::string>{"said {0} {what} %s %n {"});
}

TEST(Lines, KeepAttributesThatNoFieldNames) {
  recorded r;
  TELLTALE_WARN("slow", "ms"_a = 17);
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].level, telltale::level::warn);
  EXPECT_EQ(lines[0].module, "test::log");
  ASSERT_EQ(lines[0].attributes.size(), 1u);
  EXPECT_EQ(lines[0].attributes[0].first, "ms");
}

TEST(Lines, BelongToTheCurrentSpan) {
  recorded r;
  TELLTALE_INFO("outside");
  {
    TELLTALE_SPAN("around");
    TELLTALE_INFO("inside");
  }
  const auto lines = r.lines();
  const auto spans = r.spans();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_FALSE(lines[0].span);
  EXPECT_FALSE(lines[0].trace);
  EXPECT_EQ(lines[0].span_name, "");
  EXPECT_EQ(lines[1].span, named(spans, "around").id);
  EXPECT_EQ(lines[1].trace, named(spans, "around").trace);
  EXPECT_EQ(lines[1].span_name, "around");
}

TEST(Lines, HaveFiveLevels) {
  recorded r(telltale::options{.log = "trace"});
  TELLTALE_TRACE("t");
  TELLTALE_DEBUG("d");
  TELLTALE_INFO("i");
  TELLTALE_WARN("w");
  TELLTALE_ERROR("e");
  std::vector<telltale::level> levels;
  for (const auto& l : r.lines()) levels.push_back(l.level);
  using enum telltale::level;
  EXPECT_EQ(levels, (std::vector<telltale::level>{trace, debug, info, warn, error}));
}

TEST(Lines, OfAHugePayloadAreCutNotLost) {
  recorded r;
  const std::string big(8000, 'x');
  TELLTALE_INFO("a {a} b {b} c {c}", "a"_a = telltale::text{big}, "b"_a = telltale::text{big},
                "c"_a = telltale::text{big}, "n"_a = 5);
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].attributes.size(), 4u);
  EXPECT_EQ(telltale::to_string(lines[0].attributes[0].second), big);
  EXPECT_EQ(telltale::to_string(lines[0].attributes[3].second), "5");
}

TEST(Lines, KeepTheirOrderWithinAThread) {
  recorded r;
  for (int i = 0; i < 3000; ++i) TELLTALE_INFO("{i}", "i"_a = i);
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 3000u);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].message, std::to_string(i));
    EXPECT_GE(lines[i].time_ns, lines[i == 0 ? 0 : i - 1].time_ns);
  }
}

}  // namespace
