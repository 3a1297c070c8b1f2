// Columns of text: against the C library's table, and where we differ on purpose.
#include <gtest/gtest.h>
#include <wchar.h>

#include <clocale>

#include "diagnostic/display.hpp"

using telltale::detail::column_of;
using telltale::detail::columns_between;

namespace {

std::string utf8(char32_t c) {
  std::string s;
  const auto put = [&](char32_t v) { s += static_cast<char>(static_cast<unsigned char>(v)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | c >> 6);
    put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | c >> 12);
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | c >> 18);
    put(0x80 | (c >> 12 & 0x3f));
    put(0x80 | (c >> 6 & 0x3f));
    put(0x80 | (c & 0x3f));
  }
  return s;
}

std::size_t width(std::string_view s) {
  return column_of(s, std::string_view::npos, 4);
}

TEST(Width, AgreesWithTheCLibraryNearlyEverywhere) {
  if (std::setlocale(LC_CTYPE, "C.UTF-8") == nullptr) GTEST_SKIP() << "this machine has no locale C.UTF-8";
  std::size_t compared = 0;
  std::size_t different = 0;
  for (char32_t c = 0xa0; c <= 0x10ffff; ++c) {
    const int theirs = ::wcwidth(static_cast<wchar_t>(c));
    if ((c >= 0xd800 && c <= 0xdfff) || theirs < 0) continue;  // no character, or none they know
    ++compared;
    if (static_cast<std::size_t>(theirs) != width(utf8(c))) ++different;
  }
  std::setlocale(LC_CTYPE, "C");
  EXPECT_GT(compared, 280'000u);
  // Reserved code points of wide blocks, and a few format characters.
  EXPECT_LT(different, compared / 500) << "of " << compared;
}

TEST(Width, KnowsWhatTakesTwoColumnsAndWhatTakesNone) {
  EXPECT_EQ(width("abc"), 3u);
  EXPECT_EQ(width("変数"), 4u);
  EXPECT_EQ(width("한글"), 4u);
  EXPECT_EQ(width("\u1112\u1161\u11ab"), 2u);  // one syllable out of three parts
  EXPECT_EQ(width("e\u0301"), 1u);
  EXPECT_EQ(width("Ａ"), 2u);
  EXPECT_EQ(width("±"), 1u);  // ambiguous: one
  EXPECT_EQ(width("🚀"), 2u);
  EXPECT_EQ(width("🇩🇪"), 2u);
  EXPECT_EQ(width("👋🏽"), 2u);         // a skin tone belongs to the hand
  EXPECT_EQ(width("👩‍🚀"), 4u);  // two pictures: the joiner is not written
  EXPECT_EQ(width("\u200b\ufeff"), 0u);
}

TEST(Width, ShowsWhatMustNotBeWritten) {
  EXPECT_EQ(columns_between(std::string_view("\0\x1b[31m\x7f", 7), 0, 99, 4), "␀␛[31m␡");
  EXPECT_EQ(columns_between("a\xff\x80"
                            "b",
                            0, 99, 4),
            "a\ufffd\ufffdb");
  EXPECT_EQ(columns_between("\u0085\u009b", 0, 99, 4), "\ufffd\ufffd");
  EXPECT_EQ(columns_between("\u202e\u2066\u2028x", 0, 99, 4), "\ufffd\ufffd\ufffdx");
  EXPECT_EQ(columns_between("👩‍🚀", 0, 99, 4), "👩🚀");
}

TEST(Width, PutsTabsAtTheirStops) {
  EXPECT_EQ(columns_between("\ta\tb", 0, 99, 4), "    a   b");
  EXPECT_EQ(column_of("\ta\tb", 3, 4), 8u);
  EXPECT_EQ(columns_between("変\tx", 0, 99, 4), "変  x");
  EXPECT_EQ(columns_between("abc\tx", 0, 99, 8), "abc     x");
}

TEST(Width, CutsNoCharacterInTwo) {
  EXPECT_EQ(columns_between("a変b", 0, 2, 4), "a ");
  EXPECT_EQ(columns_between("a変b", 2, 4, 4), " b");
  EXPECT_EQ(columns_between("a変b", 1, 3, 4), "変");
  EXPECT_EQ(columns_between("e\u0301x", 1, 2, 4), "x");
}

}  // namespace
