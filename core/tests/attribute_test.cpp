// Which values attributes have when they arrive.
#include <cmath>
#include <limits>
#include <string>

#include "recorded.hpp"

TELLTALE_MODULE("test::attribute");

using namespace telltale::literals;
using telltale::attribute_value;
using telltale::testing::named;
using telltale::testing::recorded;

enum class dtype { f16, f32 };
constexpr std::string_view telltale_name(dtype d) {
  return d == dtype::f16 ? "f16" : "f32";
}

struct job_id {
  std::string value;
};
template <>
struct telltale::attribute_traits<job_id> {
  static text get(const job_id& j) { return text{j.value}; }
};

namespace {

template <class T>
void expect_value(const telltale::trace_span& s, std::string_view key, T expected) {
  const attribute_value* v = s.find(key);
  ASSERT_NE(v, nullptr) << key;
  ASSERT_TRUE(std::holds_alternative<T>(*v)) << key << " has another type";
  EXPECT_EQ(std::get<T>(*v), expected) << key;
}

TEST(Attributes, KeepTypeAndValueOfEveryKindOfNumber) {
  recorded r;
  {
    TELLTALE_SPAN("numbers", "yes"_a = true, "no"_a = false, "small"_a = std::int8_t{-8}, "int"_a = -42,
                  "least"_a = std::numeric_limits<std::int64_t>::min(), "unsigned"_a = 42u,
                  "most"_a = std::numeric_limits<std::uint64_t>::max(), "float"_a = 0.5f, "double"_a = 1e300,
                  "size"_a = sizeof(int));
  }
  const auto spans = r.spans();
  const auto& s = named(spans, "numbers");
  expect_value(s, "yes", true);
  expect_value(s, "no", false);
  expect_value(s, "small", std::int64_t{-8});
  expect_value(s, "int", std::int64_t{-42});
  expect_value(s, "least", std::numeric_limits<std::int64_t>::min());
  expect_value(s, "unsigned", std::uint64_t{42});
  expect_value(s, "most", std::numeric_limits<std::uint64_t>::max());
  expect_value(s, "float", 0.5);
  expect_value(s, "double", 1e300);
  expect_value(s, "size", std::uint64_t{4});
}

TEST(Attributes, TakeStringsOnlyWhereSomebodySaidSo) {
  recorded r;
  const std::string run_time = "made at run time";
  {
    TELLTALE_SPAN("strings", "literal"_a = "cuda:0", "empty"_a = "", "text"_a = telltale::text{run_time},
                  "enum"_a = dtype::f16, "own"_a = job_id{"c1a0d8a5"});
  }
  const auto spans = r.spans();
  const auto& s = named(spans, "strings");
  expect_value(s, "literal", std::string("cuda:0"));
  expect_value(s, "empty", std::string());
  expect_value(s, "text", run_time);
  expect_value(s, "enum", std::string("f16"));
  expect_value(s, "own", std::string("c1a0d8a5"));
}

TEST(Attributes, StringsOfEveryLengthArriveWhole) {
  recorded r;
  std::string s;
  for (int length = 0; length <= 300; ++length) {
    TELLTALE_SPAN("length", "n"_a = length, "s"_a = telltale::text{s}, "after"_a = 7);
    s += static_cast<char>('a' + length % 26);
  }
  const auto spans = r.spans();
  ASSERT_EQ(spans.size(), 301u);
  std::string expected;
  for (int length = 0; length <= 300; ++length) {
    expect_value(spans[static_cast<std::size_t>(length)], "s", expected);
    expect_value(spans[static_cast<std::size_t>(length)], "after", std::int64_t{7});
    expected += static_cast<char>('a' + length % 26);
  }
}

TEST(Attributes, AStringAboveTheCapIsCutAtACodePointAndCounted) {
  recorded r;
  const auto before = telltale::stats().truncated;
  // The cap falls into the middle of a three-byte character.
  std::string s(telltale::max_string_bytes - 1, 'x');
  s += "\xe2\x82\xac and more";
  {
    TELLTALE_SPAN_AS(cut, info, "cut", "s"_a = telltale::text{s});
    EXPECT_EQ(telltale::stats().truncated, before + 1);
    cut.set("late"_a = telltale::text{s});
    EXPECT_EQ(telltale::stats().truncated, before + 2);
  }
  TELLTALE_INFO("cut as well", "s"_a = telltale::text{s});
  EXPECT_EQ(telltale::stats().truncated, before + 3);
  const auto spans = r.spans();
  expect_value(named(spans, "cut"), "s", std::string(telltale::max_string_bytes - 1, 'x'));
}

TEST(Attributes, WhatDoesNotFitTheSlotArrivesAllTheSame) {
  recorded r;
  const std::string big(500, 'b');
  {
    TELLTALE_SPAN_AS(s, info, "large", "a"_a = 1, "big"_a = telltale::text{big}, "z"_a = 26);
    s.set("late"_a = telltale::text{big}, "later"_a = 3);
  }
  const auto spans = r.spans();
  const auto& s = named(spans, "large");
  expect_value(s, "a", std::int64_t{1});
  expect_value(s, "big", big);
  expect_value(s, "z", std::int64_t{26});
  expect_value(s, "late", big);
  expect_value(s, "later", std::int64_t{3});
}

TEST(Attributes, ALaterValueOfAKeyWins) {
  recorded r;
  {
    TELLTALE_SPAN_AS(s, info, "set twice", "rows"_a = 1, "kept"_a = 5);
    s.set("rows"_a = 2);
    s.set("rows"_a = 3, "new"_a = "n");
  }
  const auto spans = r.spans();
  const auto& s = named(spans, "set twice");
  expect_value(s, "rows", std::int64_t{3});
  expect_value(s, "kept", std::int64_t{5});
  expect_value(s, "new", std::string("n"));
  EXPECT_EQ(s.attributes.size(), 3u);
}

TEST(Attributes, AreNotEvaluatedWhereTheSiteIsOff) {
  telltale::options o;
  o.trace = "off";
  o.log = "off";
  recorded r(o);
  int evaluated = 0;
  const auto count = [&] { return ++evaluated; };
  {
    TELLTALE_SPAN("off", "n"_a = count());
    TELLTALE_INFO("off {n}", "n"_a = count());
  }
  EXPECT_EQ(evaluated, 0);
  EXPECT_TRUE(r.spans().empty());
}

TEST(Attributes, AboveTheCapOfASpanAreCountedNotLostSilently) {
  recorded r;
  const auto before = telltale::stats().truncated;
  {
    TELLTALE_SPAN_AS(s, info, "many");
    for (int i = 0; i < 400; ++i) s.set("k"_a = telltale::text{std::string(300, 'x')});
  }
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "many").attributes.size(), 1u);
  EXPECT_EQ(telltale::stats().truncated - before, 400u - telltale::max_attributes);
}

}  // namespace
