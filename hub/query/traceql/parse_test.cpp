// What the parser makes of a query, and what it says of a text that is none.
#include "parse.hpp"

#include <gtest/gtest.h>

namespace telltale::hub::traceql {
namespace {

std::string again(std::string_view text) {
  const parsed p = parse(text);
  return p ? to_string(*p) : p.error().message;
}

TEST(TraceqlParser, ReadsFilters) {
  EXPECT_EQ(again("{}"), "{  }");
  EXPECT_EQ(again("{ name = \"Prove\" && duration > 2s }"), "{ ((name = \"Prove\") && (duration > 2000000000ns)) }");
  EXPECT_EQ(again("{.job_id=`a\"b`}"), "{ (.job_id = \"a\\\"b\") }");
  EXPECT_EQ(again("{ span.a.b-c != 1.5 || resource.x =~ \"p.*\" }"),
            "{ ((span.a.b-c != 1.5) || (resource.x =~ \"p.*\")) }");
  EXPECT_EQ(again("{ status = error && kind != server && .ok = nil }"),
            "{ (((status = error) && (kind != server)) && (.ok = nil)) }");
  EXPECT_EQ(again("{ span:duration >= 1.5ms && trace:id = \"01\" }"),
            "{ ((duration >= 1500000ns) && (trace:id = \"01\")) }");
  EXPECT_EQ(again("{ .a // comment\n /* another */ }"), "{ .a }");
  EXPECT_EQ(again("{ .h\"el l\"o }"), "{ .\"hel lo\" }");
}

TEST(TraceqlParser, BindsArithmeticTighterThanComparisonsAndThoseTighterThanConditions) {
  EXPECT_EQ(again("{ .a + 2 * 3 ^ 2 ^ 2 > -.b && !.c }"), "{ (((.a + (2 * (3 ^ (2 ^ 2)))) > (-.b)) && (!.c)) }");
  EXPECT_EQ(again("{ (.a + 2) * 3 = 9 }"), "{ (((.a + 2) * 3) = 9) }");
  EXPECT_EQ(again("{ .a - 2 - 1 = 0 }"), "{ (((.a - 2) - 1) = 0) }");
}

TEST(TraceqlParser, ReadsAndAndOrFromLeftToRightAsTempoDoes) {
  EXPECT_EQ(again("{ .a || .b && .c }"), "{ ((.a || .b) && .c) }");
  EXPECT_EQ(again("{ .a } || { .b } && { .c }"), "(({ .a } || { .b }) && { .c })");
}

TEST(TraceqlParser, ReadsStructure) {
  EXPECT_EQ(again("{ .a } >> { .b } > { .c }"), "(({ .a } >> { .b }) > { .c })");
  EXPECT_EQ(again("{ .a } << { .b } && { .c } ~ {}"), "(({ .a } << { .b }) && ({ .c } ~ {  }))");
  EXPECT_EQ(again("({ .a } | count() > 1) && ({})"), "(({ .a } | count() > 1) && {  })");
}

TEST(TraceqlParser, ReadsPipelines) {
  EXPECT_EQ(again("{} | count() > 3"), "{  } | count() > 3");
  EXPECT_EQ(again("{} | by(.a, name) | avg(duration) * 2 >= 1s | coalesce() | select(.x)"),
            "{  } | by (.a, name) | (avg(duration) * 2) >= 1000000000ns | coalesce() | select(.x)");
  EXPECT_EQ(again("(max(.a + 1) - 1) > -3"), "(max((.a + 1)) - 1) > -3");
  EXPECT_EQ(again("max(duration) > 3s | { status = error }"), "max(duration) > 3000000000ns | { (status = error) }");
}

TEST(TraceqlParser, ReadsMetrics) {
  EXPECT_EQ(again("{} | rate()"), "{  } | rate()");
  EXPECT_EQ(again("{ name = \"x\" } | quantile_over_time(duration, .99, 0.5) by (name, resource.node)"),
            "{ (name = \"x\") } | quantile_over_time(duration, 0.99, 0.5) by (name, resource.node)");
  EXPECT_EQ(again("{} | max_over_time(.bytes)"), "{  } | max_over_time(.bytes)");
}

TEST(TraceqlParser, PointsAtWhatIsWrongAndSaysWhatWouldBeRight) {
  EXPECT_EQ(again("{ name = \"a\" && }"),
            "the query is no TraceQL at column 17: expected a field (name, duration, .attribute …) or a value\n"
            "  { name = \"a\" && }\n"
            "                  ^");
  EXPECT_EQ(again("{ job_id = 1 }"),
            "the query is no TraceQL at column 3: there is no field `job_id`: an attribute is `.job_id`, a string is "
            "\"job_id\"\n"
            "  { job_id = 1 }\n"
            "    ^");
  EXPECT_EQ(again("{}\n| count()"),
            "the query is no TraceQL at line 2, column 10: expected a comparison (=, !=, <, <=, >, >=)\n"
            "  | count()\n"
            "           ^");
}

TEST(TraceqlParser, RefusesWhatCanNeverBeTrue) {
  const parsed p = parse("{ duration > \"2s\" }");
  ASSERT_FALSE(p);
  EXPECT_EQ(p.kind(), refusal::meaning);
  EXPECT_EQ(p.error().message,
            "the query makes no sense at column 12: a number is never compared with a string\n"
            "  { duration > \"2s\" }\n"
            "             ^");
  for (const std::string_view text :
       {"{ name }", "{ 1 + \"a\" = 2 }", "{ name =~ \"(\" }", "{ name =~ 1 }", "{ status > ok }", "{ kind = error }",
        "{ !1 }", "{ duration && true }", "max(name) > 1", "{} | quantile_over_time(duration, 2)",
        "{ .a = 99999999999999999999 }", "{ duration > 99999999999h }"}) {
    const parsed no = parse(text);
    ASSERT_FALSE(no) << text;
    EXPECT_EQ(no.kind(), refusal::meaning) << no.error().message;
  }
}

TEST(TraceqlParser, SaysWhatIsLeftOut) {
  for (const std::string_view text :
       {"{} !>> {}", "{} &> {}", "{ parent.x = 1 }", "{ event:name = \"a\" }", "{ link.x = 1 }", "{} | compare({})",
        "{} | histogram_over_time(duration)", "{} | rate() | topk(3)", "{} with (most_recent=true)", "{ .a = $b }",
        "{} | rate() | count() > 1"}) {
    const parsed no = parse(text);
    ASSERT_FALSE(no) << text;
    EXPECT_EQ(no.kind(), refusal::unsupported) << no.error().message;
  }
}

TEST(TraceqlParser, HasLimitsToDepthAndLength) {
  EXPECT_EQ(parse(std::string(10'000, '(')).kind(), refusal::unsupported);
  EXPECT_EQ(parse("{" + std::string(10'000, '(') + "1").kind(), refusal::unsupported);
  EXPECT_EQ(parse("{" + std::string(10'000, '!') + "true}").kind(), refusal::unsupported);
  std::string chain = "{ .a";
  for (int i = 0; i < 2'000; ++i) chain += " && .a";
  EXPECT_EQ(parse(chain + " }").kind(), refusal::unsupported);
  EXPECT_EQ(parse(std::string(100'000, ' ')).kind(), refusal::unsupported);
}

TEST(TraceqlParser, ReadsWhatItPrints) {
  for (const std::string_view text :
       {"{ -.a ^ 2 < 3 && .b = `x` }", "{} | avg(.a * 2) > 1.25 | by(1 + .b)", "({} | count() = 1) >> ({ .x } || {})",
        "{ .\"a b\" = \"q\\\"\\\\\" }", "{ .a = 100000000000000000000.5 }", "{ - - .a = 1 }", "{ !(.a = 1) }"}) {
    const parsed first = parse(text);
    ASSERT_TRUE(first) << first.error().message;
    const parsed second = parse(to_string(*first));
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(*first, *second) << text;
  }
}

}  // namespace
}  // namespace telltale::hub::traceql
