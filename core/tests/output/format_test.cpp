// Numbers, ids, times and units, against slow and obvious ways of writing them.
#include "format.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <ctime>
#include <random>

#include "units.hpp"

using namespace telltale::detail;

namespace {

TEST(PutHex, IsSixteenLowerCaseDigits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t v = i == 0 ? 0 : i == 1 ? UINT64_MAX : random() >> (random() % 64);
    buffer b;
    b.reserve(16);
    put_hex(b, v);
    char slow[17];
    std::snprintf(slow, sizeof slow, "%016llx", static_cast<unsigned long long>(v));
    ASSERT_EQ(b.view(), slow);
  }
}

std::string slow_time(std::int64_t ns, int digits) {
  std::int64_t seconds = ns / 1'000'000'000;
  std::int64_t rest = ns % 1'000'000'000;
  if (rest < 0) {
    rest += 1'000'000'000;
    --seconds;
  }
  const std::time_t t = seconds;
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  char date[64];
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S.", &parts);
  char fraction[16];
  std::snprintf(fraction, sizeof fraction, "%0*lld", digits,
                static_cast<long long>(digits == 3 ? rest / 1'000'000 : rest / 1000));
  return std::string(date) + fraction + "Z";
}

TEST(TimeWriter, AgreesWithGmtime) {
  for (const int digits : {3, 6}) {
    time_writer w(digits);
    std::mt19937_64 random(2);
    for (int i = 0; i < 20000; ++i) {
      const auto ns = static_cast<std::int64_t>(random());  // 1677 to 2262
      for (const std::int64_t at : {ns, ns / 1000, ns % 1'000'000'000, std::int64_t{0}, INT64_MIN, INT64_MAX}) {
        buffer b;
        b.reserve(32);
        w.put(b, at);
        ASSERT_EQ(b.view(), slow_time(at, digits)) << at;
      }
    }
  }
}

TEST(Milliseconds, AreExactAndHaveNoTrailingZeros) {
  const auto written = [](std::int64_t ns) {
    buffer b;
    b.reserve(32);
    put_milliseconds(b, ns);
    return std::string(b.view());
  };
  EXPECT_EQ(written(0), "0");
  EXPECT_EQ(written(2'803'417), "2.803417");
  EXPECT_EQ(written(1), "0.000001");
  EXPECT_EQ(written(1'500'000), "1.5");
  EXPECT_EQ(written(-1'500'000), "-1.5");
  EXPECT_EQ(written(INT64_MAX), "9223372036854.775807");
  EXPECT_EQ(written(INT64_MIN), "-9223372036854.775808");
}

TEST(SafeText, LeavesWordsAloneAndEscapesTheRest) {
  std::string out;
  append_safe_text(out, "grüße 風 {\"a\"}");
  EXPECT_EQ(out, "grüße 風 {\"a\"}");
  out.clear();
  append_quoted(out, "a\"b\\c\n");
  EXPECT_EQ(out, R"("a\"b\\c\n")");
}

TEST(Sizes, AreReadStrictly) {
  EXPECT_EQ(*parse_size("4096"), 4096u);
  EXPECT_EQ(*parse_size("64MiB"), 64u << 20);
  EXPECT_EQ(*parse_size("1 GiB"), 1u << 30);
  EXPECT_EQ(*parse_size("0B"), 0u);
  EXPECT_EQ(*parse_size("15TiB"), std::uint64_t{15} << 40);
  for (const char* bad : {"", " ", "-1", "+1", "1.5MiB", "64MB", "64mib", "MiB", "0x10", "1 MiB ",
                          "18446744073709551616", "16777216TiB", "1e3", "64MiBs"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
  EXPECT_NE(parse_size("64MB").error().message.find("\"64MB\""), std::string::npos);
}

TEST(Durations, NeedAUnit) {
  using namespace std::chrono_literals;
  EXPECT_EQ(*parse_duration("250ms"), 250ms);
  EXPECT_EQ(*parse_duration("2s"), 2s);
  EXPECT_EQ(*parse_duration("5m"), 5min);
  EXPECT_EQ(*parse_duration("1h"), 1h);
  EXPECT_EQ(*parse_duration("0ms"), 0ms);
  for (const char* bad :
       {"", "5", "1d", "-1s", "1.5s", "1 S", "99999999999999999999s", "18446744073709551615h", "ms"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
}

}  // namespace
