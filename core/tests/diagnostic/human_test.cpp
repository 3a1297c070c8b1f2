// What people see: whole diagnostics, character by character.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <telltale/core/diagnostic.hpp>

#include "places.hpp"

using telltale::diagnostic;
using telltale::human_options;
using telltale::render_human;
using telltale::severity;
using telltale::source_file;
using telltale::testing::at;

namespace {

const auto model = source_file::make("model.shape",
                                     "fn main(a: [M, 128], b: [96, N]) {\n"
                                     "  let y = matmul(a, b)\n"
                                     "\treturn y\n"
                                     "}\n");

TEST(Human, ShowsSeveralLabelsOfOneLineWithoutOverlaps) {
  const auto d = diagnostic(severity::error, "SHP-0203", "inner dimensions do not agree")
                     .primary(at(model, "b)"), "this has 96 rows")
                     .secondary(at(model, "a,"), "this has 128 columns")
                     .secondary(at(model, "matmul"), "in this call")
                     .note("matmul multiplies\n[M, K] by [K, N]")
                     .help("transpose `b`");
  EXPECT_EQ(render_human(d), R"(error[SHP-0203]: inner dimensions do not agree
 --> model.shape:2:21
  |
2 |   let y = matmul(a, b)
  |           ------ -- ^^ this has 96 rows
  |           |      |
  |           |      this has 128 columns
  |           in this call
  |
  = note: matmul multiplies
          [M, K] by [K, N]
  = help: transpose `b`
)");
}

TEST(Human, JoinsTheLinesOfALabelThatRunsOverSeveral) {
  const auto d = diagnostic(severity::warning, "SHP-0001", "this function is never called")
                     .primary({model, 0, model->text().size()}, "all of it")
                     .secondary(at(model, "return y"), "its result");
  EXPECT_EQ(render_human(d), R"(warning[SHP-0001]: this function is never called
 --> model.shape:1:1
  |
1 | / fn main(a: [M, 128], b: [96, N]) {
2 | |   let y = matmul(a, b)
3 | |     return y
  | |     -------- its result
4 | | }
  | |_^ all of it
)");
}

TEST(Human, GivesLabelsThatCrossALaneEach) {
  const auto d = diagnostic(severity::warning, "", "they cross")
                     .primary(at(model, "let y = matmul(a, b)\n\treturn"), "these")
                     .secondary(at(model, "y ="), "here")
                     .secondary({model, 9, 60}, "other");
  EXPECT_EQ(render_human(d), R"(warning: they cross
 --> model.shape:2:3
  |
1 |     fn main(a: [M, 128], b: [96, N]) {
  |    __________-
2 | / |   let y = matmul(a, b)
  | | |       --- here
3 | | |     return y
  | | |     -    ^
  | |_|_____|____| these
  |   |_____| other
)");
}

TEST(Human, KeepsOverlappingLabelsApart) {
  const auto f = source_file::make("f", "abcdefghij\n");
  const auto d = diagnostic(severity::error, "E1", "overlap")
                     .primary({f, 3, 6}, "inner")
                     .secondary({f, 0, 10}, "outer")
                     .secondary({f, 3, 4}, "same place");
  EXPECT_EQ(render_human(d), R"(error[E1]: overlap
 --> f:1:4
  |
1 | abcdefghij
  | ---^^^---- outer
  |    |
  |    inner
  |    same place
)");
}

TEST(Human, LeavesOutWhatLiesBetween) {
  std::string text;
  for (int i = 1; i <= 120; ++i) text += "line " + std::to_string(i) + "\n";
  const auto f = source_file::make("long.txt", text);
  const auto d = diagnostic(severity::error, "E1", "far apart")
                     .primary(at(f, "line 100"), "here")
                     .secondary(at(f, "line 7\n"), "there")
                     .secondary(at(f, "line 103"));
  EXPECT_EQ(render_human(d), R"(error[E1]: far apart
   --> long.txt:100:1
    |
  7 | line 7
    | ------ there
...
100 | line 100
    | ^^^^^^^^ here
101 | line 101
102 | line 102
103 | line 103
    | --------
)");
}

TEST(Human, ShowsEachFile) {
  const auto other = source_file::make("lib/ops.shape", "op matmul(a, b)\n");
  const auto d = diagnostic(severity::error, "E1", "wrong number of arguments")
                     .secondary(at(other, "(a, b)"), "declared here")
                     .primary(at(model, "matmul(a, b)"), "called here");
  EXPECT_EQ(render_human(d), R"(error[E1]: wrong number of arguments
 --> model.shape:2:11
  |
2 |   let y = matmul(a, b)
  |           ^^^^^^^^^^^^ called here
 ::: lib/ops.shape:1:10
  |
1 | op matmul(a, b)
  |          ------ declared here
)");
}

TEST(Human, CountsColumnsOfWideCharactersTabsAndCrlf) {
  const auto f = source_file::make("wide", "\tlet 変数 = \"👩‍🚀 e\u0301\"; // ok\r\nnext\r\n");
  const auto d = diagnostic(severity::error, "E1", "wide")
                     .primary(at(f, "変数"), "a name")
                     .secondary(at(f, "👩"), "a person")
                     .secondary(at(f, "ok"), "fine");
  EXPECT_EQ(render_human(d),
            "error[E1]: wide\n"
            " --> wide:1:6\n"
            "  |\n"
            "1 |     let 変数 = \"👩🚀 e\u0301\"; // ok\n"
            "  |         ^^^^    --          -- fine\n"
            "  |         |       |\n"
            "  |         |       a person\n"
            "  |         a name\n");
}

TEST(Human, PointsBehindTheLastCharacterAtTheEnd) {
  for (const std::string text : {"a {\n}", "a {\n}\n", "a {\r\n}\r\n"}) {
    const auto f = source_file::make("f", text);
    const auto d = diagnostic(severity::error, "", "unexpected end").primary({f, 99, 99}, "expected `;`");
    EXPECT_EQ(render_human(d), R"(error: unexpected end
 --> f:2:2
  |
2 | }
  |  ^ expected `;`
)");
  }
  const auto empty = source_file::make("f", "");
  EXPECT_EQ(render_human(diagnostic(severity::error, "", "nothing there").primary({empty, 0, 0})),
            "error: nothing there\n --> f:1:1\n  |\n1 |\n  | ^\n");
}

TEST(Human, UnderlinesTheWholeCodePointAnOffsetLiesIn) {
  const auto f = source_file::make("f", "x€変y");  // € at 1 to 3, 変 at 4 to 6
  EXPECT_EQ(render_human(diagnostic(severity::error, "", "m").primary({f, 2, 5})),
            "error: m\n --> f:1:2\n  |\n1 | x€変y\n  |  ^^^\n");
  EXPECT_EQ(render_human(diagnostic(severity::error, "", "m").primary({f, 6, 2})),  // ends before it begins
            "error: m\n --> f:1:3\n  |\n1 | x€変y\n  |   ^\n");
}

TEST(Human, ShowsALongLineThroughAWindowAroundEachLabel) {
  std::string text(100'000, 'x');
  text.replace(50, 5, "first");
  text.replace(50'000, 5, "ERROR");
  text.replace(99'990, 3, "end");
  const auto f = source_file::make("big", text + "\nshort\n");
  const auto d = diagnostic(severity::error, "", "long")
                     .primary(at(f, "ERROR"), "here")
                     .secondary(at(f, "first"), "first")
                     .secondary(at(f, "end"), "last");
  EXPECT_EQ(render_human(d, {.width = 60}), R"(error: long
 --> big:1:50001
  |
1 | …xxxxxxxxxxxxxxxxxxxxxxxxfirstxxxxxxxxxxxxxxxxxxxxxxxxx…
  |                          ----- first
1 | …xxxxxxxxxxxxxxxxxxxxxxxxERRORxxxxxxxxxxxxxxxxxxxxxxxxx…
  |                          ^^^^^ here
1 | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxendxxxxxxx
  |                                              --- last
)");
}

TEST(Human, CutsALabelThatIsWiderThanTheTerminal) {
  const auto f = source_file::make("big", std::string(500, 'y'));
  const std::string shown =
      render_human(diagnostic(severity::error, "", "m").primary({f, 100, 400}, "wide"), {.width = 60});
  EXPECT_EQ(shown, "error: m\n --> big:1:101\n  |\n1 | …" + std::string(54, 'y') + "…\n  |         " +
                       std::string(47, '^') + " wide\n");
}

TEST(Human, WritesNoControlCharacterOfTheInput) {
  const auto f = source_file::make("evil\x1b[2J\nname", "a\x1b[31mb\xff\n");
  const auto d = diagnostic(severity::error, "E\n1", "red \x1b[31m\r\nsecond").primary({f, 0, 1}, "x\ny\tz");
  EXPECT_EQ(render_human(d),
            "error[E 1]: red ␛[31m\n"
            "       second\n"
            " --> evil␛[2J name:1:1\n"
            "  |\n"
            "1 | a␛[31mb\ufffd\n"
            "  | ^ x y z\n");
}

TEST(Human, ColoursWhatItIsToldTo) {
  const auto f = source_file::make("f", "ab\n");
  const auto d = diagnostic(severity::error, "E1", "m").primary({f, 0, 1}, "one").secondary({f, 1, 2});
  EXPECT_EQ(render_human(d, {.colour = true}),
            "\x1b[1;31merror\x1b[0m\x1b[1;31m[E1]\x1b[0m\x1b[1m: m\x1b[0m\n"
            "\x1b[1;34m --> \x1b[0mf:1:1\n"
            "\x1b[1;34m  |\x1b[0m\n"
            "\x1b[1;34m1\x1b[0m\x1b[1;34m |\x1b[0m ab\n"
            " \x1b[1;34m |\x1b[0m \x1b[1;31m^\x1b[0m\x1b[1;34m-\x1b[0m\n"
            " \x1b[1;34m |\x1b[0m \x1b[1;31m|\x1b[0m\n"
            " \x1b[1;34m |\x1b[0m \x1b[1;31mone\x1b[0m\n");
}

TEST(Human, SaysWithoutASourceWhatThereIsToSay) {
  const auto d = diagnostic(severity::remark, "PRV-0042", "the key was loaded twice", telltale::topic::performance)
                     .secondary({}, "once by each of two jobs")
                     .help("preload it");
  EXPECT_EQ(render_human(d), R"(remark[PRV-0042]: the key was loaded twice
  = note: once by each of two jobs
  = help: preload it
)");
}

TEST(Human, OptionsOfADescriptorThatIsNoTerminalHaveNoColour) {
  int pipe_[2];
  ASSERT_EQ(::pipe(pipe_), 0);
  const human_options o = human_options::for_descriptor(pipe_[1]);
  EXPECT_FALSE(o.colour);
  EXPECT_EQ(o.width, human_options{}.width);
  ::close(pipe_[0]);
  ::close(pipe_[1]);
}

// A terminal of its own, of a stated size.
class Terminal : public ::testing::Test {
 protected:
  void SetUp() override {
    master_ = ::posix_openpt(O_RDWR | O_NOCTTY);
    if (master_ < 0 || ::grantpt(master_) != 0 || ::unlockpt(master_) != 0) GTEST_SKIP() << "no pseudo-terminals here";
    slave_ = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    if (slave_ < 0) GTEST_SKIP() << "no pseudo-terminals here";
    const winsize size{24, 72, 0, 0};
    ASSERT_EQ(::ioctl(slave_, TIOCSWINSZ, &size), 0);
    ::setenv("TERM", "xterm", 1);
    ::unsetenv("NO_COLOR");
  }
  void TearDown() override {
    if (slave_ >= 0) ::close(slave_);
    if (master_ >= 0) ::close(master_);
  }
  int master_ = -1;
  int slave_ = -1;
};

TEST_F(Terminal, GivesColourAndItsWidth) {
  const human_options o = human_options::for_descriptor(slave_);
  EXPECT_TRUE(o.colour);
  EXPECT_EQ(o.width, 72u);
}

TEST_F(Terminal, GivesNoColourWhereSomebodyObjects) {
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(human_options::for_descriptor(slave_).colour);
  ::setenv("NO_COLOR", "", 1);  // empty counts as unset
  EXPECT_TRUE(human_options::for_descriptor(slave_).colour);
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(human_options::for_descriptor(slave_).colour);
}

}  // namespace
