// Pieces into lines, whatever the pieces.
#include "adapters/lines.hpp"

#include <random>

#include "recorded.hpp"

using telltale::detail::line_builder;
using telltale::detail::line_destination;
using telltale::testing::recorded;

namespace {

std::string value(const telltale::recording::line& l, std::string_view key) {
  for (const auto& [k, v] : l.attributes) {
    if (k == key) return telltale::to_string(v);
  }
  return "(none)";
}

TEST(Lines, AreTheSameHoweverTheTextIsCutIntoPieces) {
  recorded r(telltale::options{.overflow = telltale::overflow_policy::block});
  const line_destination to{telltale::log_source("pieces"), telltale::level::info, "stderr"};
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::string text;
    while (text.size() < 30'000) {
      text += random() % 40 == 0    ? std::string("\n")
              : random() % 200 == 0 ? std::string(9'000, 'x')
                                    : std::string("ä€");
    }
    line_builder line;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t n = 1 + random() % 300;
      line.take(to, std::string_view{text}.substr(at, n), {}, false);
      at += n;
    }
    line.finish(to);
    std::string together;
    for (const auto& l : r.lines()) {
      ASSERT_LE(l.message.size(), telltale::max_string_bytes);
      // Cut at a code-point edge: no record begins in the middle of one.
      if (!l.message.empty()) {
        ASSERT_NE(static_cast<unsigned char>(l.message[0]) & 0xc0, 0x80);
      }
      together += l.message + (value(l, "log.continued") == "true" ? "" : "\n");
    }
    if (!text.ends_with('\n')) text += '\n';
    ASSERT_EQ(together, text);
  }
}

TEST(Lines, OfBytesThatAreNoUtf8AreCutWhereTheCapSays) {
  recorded r;
  const line_destination to{telltale::log_source("pieces"), telltale::level::info, "stderr"};
  line_builder line;
  line.take(to, std::string(10'000, '\x80') + "\n", {}, false);
  const auto all = r.lines();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].message.size(), telltale::max_string_bytes);
  EXPECT_EQ(all[1].message.size(), 10'000 - telltale::max_string_bytes);
}

}  // namespace
