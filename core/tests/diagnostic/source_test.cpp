// Lines and places of source texts, whatever they contain.
#include <gtest/gtest.h>

#include <telltale/core/source.hpp>

using telltale::source_file;
using telltale::source_position;

namespace {

std::vector<std::string> lines_of(const source_file& f) {
  std::vector<std::string> out;
  for (std::size_t i = 1; i <= f.lines(); ++i) out.emplace_back(f.line(i));
  return out;
}

TEST(SourceFile, HasLinesWithoutTheirEnds) {
  using lines = std::vector<std::string>;
  EXPECT_EQ(lines_of({"f", "one\ntwo\n"}), (lines{"one", "two"}));
  EXPECT_EQ(lines_of({"f", "one\ntwo"}), (lines{"one", "two"}));
  EXPECT_EQ(lines_of({"f", "one\r\n\r\ntwo\r\n"}), (lines{"one", "", "two"}));
  EXPECT_EQ(lines_of({"f", "a\rb\n"}), lines{"a\rb"});  // a lone carriage return ends no line
  EXPECT_EQ(lines_of({"f", ""}), lines{""});
  EXPECT_EQ(lines_of({"f", "\n\n"}), (lines{"", ""}));
  EXPECT_EQ(source_file("f", "one\n").line(0), "");
  EXPECT_EQ(source_file("f", "one\n").line(2), "");
}

TEST(SourceFile, CountsColumnsInCodePoints) {
  const source_file f("f", "\tä€𝄞x\nnext");
  EXPECT_EQ(f.position(0), (source_position{1, 1}));
  EXPECT_EQ(f.position(1), (source_position{1, 2}));
  EXPECT_EQ(f.position(3), (source_position{1, 3}));
  EXPECT_EQ(f.position(6), (source_position{1, 4}));
  EXPECT_EQ(f.position(10), (source_position{1, 5}));
  EXPECT_EQ(f.position(12), (source_position{2, 1}));
}

TEST(SourceFile, TakesAnOffsetInsideACodePointForThatCodePoint) {
  const source_file f("f", "a€𝄞b");  // a at 0, € at 1 to 3, 𝄞 at 4 to 7, b at 8
  for (const std::size_t inside : {1u, 2u, 3u}) EXPECT_EQ(f.position(inside), (source_position{1, 2})) << inside;
  for (const std::size_t inside : {4u, 5u, 6u, 7u}) EXPECT_EQ(f.position(inside), (source_position{1, 3})) << inside;
  EXPECT_EQ(f.position(8), (source_position{1, 4}));
}

TEST(SourceFile, CountsEachByteThatIsNoUtf8) {
  const source_file f("f", "\xff\xfe\x80x");
  EXPECT_EQ(f.position(1), (source_position{1, 2}));
  EXPECT_EQ(f.position(2), (source_position{1, 3}));
  EXPECT_EQ(f.position(3), (source_position{1, 4}));
  const source_file cut("f", "a\xe2\x82");  // two thirds of a euro sign
  EXPECT_EQ(cut.position(2), (source_position{1, 3}));
  EXPECT_EQ(cut.position(3), (source_position{1, 4}));
}

TEST(SourceFile, PutsTheEndOfTheTextBehindItsLastCharacter) {
  EXPECT_EQ(source_file("f", "ab").position(2), (source_position{1, 3}));
  EXPECT_EQ(source_file("f", "ab\n").position(3), (source_position{1, 3}));
  EXPECT_EQ(source_file("f", "ab\r\n").position(4), (source_position{1, 3}));
  EXPECT_EQ(source_file("f", "ab\n").position(1000), (source_position{1, 3}));
  EXPECT_EQ(source_file("f", "").position(0), (source_position{1, 1}));
}

TEST(SourceFile, PutsALinesEndOnThatLine) {
  const source_file f("f", "ab\r\ncd");
  EXPECT_EQ(f.position(2), (source_position{1, 3}));  // the carriage return
  EXPECT_EQ(f.position(3), (source_position{1, 3}));  // the line feed
  EXPECT_EQ(f.position(4), (source_position{2, 1}));
}

}  // namespace
