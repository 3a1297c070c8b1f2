// What is said to ClickHouse, as text: quoting, conditions, tables, addresses. No server is asked.
#include "hub/otlp/text.hpp"

#include <gtest/gtest.h>

#include <random>

#include "hub/store/clickhouse/clickhouse.hpp"
#include "hub/store/clickhouse/dialect.hpp"
#include "hub/store/clickhouse/items.hpp"
#include "hub/store/clickhouse/row_binary.hpp"
#include "hub/store/clickhouse/schema.hpp"

namespace telltale::hub {
namespace {

using from = dialect::from;
using namespace std::string_literals;
using namespace std::string_view_literals;

std::string joined(const std::vector<std::string>& statements) {
  std::string out;
  for (const std::string& s : statements) out += s + ";\n";
  return out;
}

TEST(ClickHouseText, QuotesWhatWouldEndALiteral) {
  const clickhouse_dialect d;
  EXPECT_EQ(d.text("it's"), R"('it\'s')");
  EXPECT_EQ(d.text(R"(\)"), R"('\\')");
  EXPECT_EQ(d.text(R"(\' OR 1 --)"), R"('\\\' OR 1 --')");
  EXPECT_EQ(d.text("a\0b"s), R"('a\0b')");
  EXPECT_EQ(d.text(""), "''");
}

// A literal of any bytes ends at its last byte and nowhere before, and reads back as it was: with a reader of
// ClickHouse's escapes that isn't the writer.
TEST(ClickHouseText, ReadsBackFromAnyLiteral) {
  const clickhouse_dialect d;
  std::mt19937 random(11);
  constexpr std::string_view often = "'\\\"`;-/*%{}\n\0"sv;
  for (int round = 0; round < 20'000; ++round) {
    std::string in;
    for (std::size_t n = random() % 12; n > 0; --n) {
      in += random() % 2 == 0 ? often[random() % often.size()] : static_cast<char>(random());
    }
    const std::string literal = d.text(in);
    ASSERT_GE(literal.size(), 2u);
    ASSERT_EQ(literal.front(), '\'');
    std::string out;
    std::size_t i = 1;
    for (; i < literal.size() && literal[i] != '\''; ++i) {
      if (literal[i] == '\\') {
        ++i;
        out += literal.at(i) == '0' ? '\0' : literal[i];
      } else {
        out += literal[i];
      }
    }
    ASSERT_EQ(i, literal.size() - 1) << literal;
    ASSERT_EQ(out, in);
  }
}

TEST(ClickHouseText, SaysConditions) {
  const clickhouse_dialect d;
  EXPECT_EQ(d.is_trace({1, UINT64_MAX}), "(trace_hi = 1 AND trace_lo = 18446744073709551615)");
  EXPECT_EQ(d.attribute("job_id", from::span), "job_id");
  EXPECT_EQ(d.attribute_is("job_id", from::span, std::string("a'b")), R"((job_id = 'a\'b' AND job_id IS NOT NULL))");
  EXPECT_EQ(d.attribute_is("n", from::span, std::int64_t{7}), R"(has(attribute_items, '"n":7'))");
  EXPECT_EQ(d.attribute_is("n", from::span, 7.0), R"(has(attribute_items, '"n":7.0'))");
  EXPECT_EQ(d.attribute_is("job_id", from::resource, std::string("x\"y")),
            R"(has(resource_items, '"job_id":"x\\"y"'))");
  EXPECT_EQ(d.quantile("duration_ns", 0.5), "quantileExactInclusive(0.500000)(duration_ns)");
  EXPECT_EQ(d.matches("name", "a.c'"), R"(match(name, '^(?-s:a.c\')$'))");
}

TEST(ClickHouseText, FindsTheMembersOfAnObject) {
  using list = std::vector<std::string_view>;
  EXPECT_EQ(items_of("{}"), list{});
  EXPECT_EQ(items_of(""), list{});
  EXPECT_EQ(items_of(R"({"a":1})"), (list{R"("a":1)"}));
  EXPECT_EQ(items_of(R"({"a,b":"x,\"y}","c":{"d":[1,{"e":","}]},"f":null})"),
            (list{R"("a,b":"x,\"y}")", R"("c":{"d":[1,{"e":","}]})", R"("f":null)"}));
}

// Whatever attributes there are: their members, joined again, are what they were.
TEST(ClickHouseText, JoinsMembersToWhatTheyWere) {
  std::mt19937_64 random(3);
  constexpr std::string_view letters = "a\"\\,{}[]:'\n";
  for (int round = 0; round < 5'000; ++round) {
    attribute_list in;
    const auto word = [&] {
      std::string w;
      for (std::size_t n = random() % 6; n > 0; --n) w += letters[random() % letters.size()];
      return w;
    };
    for (std::size_t n = random() % 5; n > 0; --n) {
      if (random() % 3 == 0) {
        in.emplace_back(word(), static_cast<std::int64_t>(random()));
      } else {
        in.emplace_back(word(), word());
      }
    }
    const std::string object = object_text(in);
    const auto items = items_of(object);
    ASSERT_EQ(items.size(), in.size()) << object;
    std::string again = "{";
    for (const std::string_view item : items) again += (again.size() > 1 ? "," : "") + std::string(item);
    ASSERT_EQ(again + "}", object);
  }
}

TEST(ClickHouseText, WritesRowsThatReadBack) {
  row_binary_writer w;
  const std::string large(300, 'x');
  w.number(std::uint64_t{7});
  w.text(large);
  w.text_or_null("");
  w.text_or_null("a");
  w.number(-1.5);
  const std::string bytes = w.take();
  row_binary_reader r(bytes);
  EXPECT_EQ(r.number<std::uint64_t>(), 7u);
  EXPECT_EQ(r.text(), large);
  EXPECT_EQ(r.text_or_null(), "");
  EXPECT_EQ(r.text_or_null(), "a");
  EXPECT_EQ(r.number<double>(), -1.5);
  EXPECT_TRUE(r.at_end() && r.good());
}

TEST(ClickHouseText, DoesNotReadBehindAnAnswersEnd) {
  std::mt19937 random(5);
  for (int round = 0; round < 2'000; ++round) {
    std::string bytes;
    for (std::size_t n = random() % 40; n > 0; --n) bytes += static_cast<char>(random());
    row_binary_reader r(bytes);
    while (r.good() && !r.at_end()) {
      (void)r.number<std::uint16_t>();
      (void)r.text();
      (void)r.text_or_null();
    }
    EXPECT_TRUE(r.at_end() || !r.good());
  }
}

TEST(ClickHouseText, TakesAddresses) {
  const auto two = parse_clickhouse_url("http://a:8123/traces, https://b:8443/traces/");
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->servers, (std::vector<std::string>{"http://a:8123", "https://b:8443"}));
  EXPECT_EQ(two->database, "traces");
  EXPECT_EQ(parse_clickhouse_url("http://a:8123")->database, "telltale");
  for (const char* wrong : {"", "a:8123", "http://", "http:///x", "ftp://a/x", "http://a/x/y", "http://a/x;y",
                            "http://a/`x`", "http://a/x?y=z", "http://a/x,http://b/y"}) {
    EXPECT_FALSE(parse_clickhouse_url(wrong)) << wrong;
  }
}

TEST(ClickHouseText, KeepsAPasswordOutOfItsMessages) {
  const auto in_url = parse_clickhouse_url("http://me:secret@a:8123/x");
  ASSERT_FALSE(in_url);
  EXPECT_EQ(in_url.error().message.find("secret"), std::string::npos) << in_url.error().message;
  clickhouse_options o;
  o.url = "http://a";
  o.password = "secret\r\nX-ClickHouse-User: admin";
  const auto split = check_clickhouse(o);
  ASSERT_FALSE(split) << "it would be a header of its own";
  EXPECT_EQ(split.error().message.find("secret"), std::string::npos);
  o.password = "fine";
  o.cluster = "x') --";
  EXPECT_FALSE(check_clickhouse(o));
}

TEST(ClickHouseSchema, OfOneServerReplicatesNothing) {
  const std::string all = joined(clickhouse_schema{"telltale", ""}.migration(1));
  EXPECT_EQ(all.find("Replicated"), std::string::npos);
  EXPECT_EQ(all.find("Distributed"), std::string::npos);
  EXPECT_EQ(all.find("ON CLUSTER"), std::string::npos);
  EXPECT_NE(all.find("CREATE TABLE IF NOT EXISTS `telltale`.`spans_data` (trace_hi UInt64"), std::string::npos);
  EXPECT_NE(all.find("ORDER BY (service, name, start_ns)"), std::string::npos);
  EXPECT_NE(all.find("ORDER BY (trace_hi, trace_lo, start_ns)"), std::string::npos);
}

TEST(ClickHouseSchema, OfAClusterIsReplicatedAndShardedByTrace) {
  const clickhouse_schema schema{"telltale", "c1"};
  for (const std::string& s : schema.migration(1)) {
    EXPECT_NE(s.find(" ON CLUSTER `c1`"), std::string::npos) << s;
    EXPECT_TRUE(s.find("MergeTree") == std::string::npos || s.find("ENGINE = Replicated") != std::string::npos) << s;
  }
  const std::string all = joined(schema.migration(1));
  EXPECT_NE(
      all.find("ENGINE = ReplicatedMergeTree('/clickhouse/tables/{shard}/telltale/spans_data_local', '{replica}')"),
      std::string::npos);
  EXPECT_NE(
      all.find("ENGINE = ReplicatedAggregatingMergeTree('/clickhouse/tables/{shard}/telltale/names_by_minute_local"),
      std::string::npos);
  for (const char* sharded :
       {"'spans_data_local', sipHash64(trace_hi, trace_lo))", "'spans_by_trace_local', sipHash64(trace_hi, trace_lo))",
        "'links_data_local', sipHash64(to_trace_hi, to_trace_lo))"}) {
    EXPECT_NE(all.find("ENGINE = Distributed('c1', 'telltale', " + std::string(sharded)), std::string::npos) << sharded;
  }
  // What fills the other tables does it on the shard where the rows are.
  EXPECT_NE(all.find("`fill_spans_by_trace` ON CLUSTER `c1` TO `telltale`.`spans_by_trace_local` AS SELECT * FROM "
                     "`telltale`.`spans_data_local`"),
            std::string::npos);
  EXPECT_NE(joined(schema.foundation()).find("'/clickhouse/tables/telltale/telltale_schema', '{shard}-{replica}'"),
            std::string::npos);
}

TEST(ClickHouseSchema, SetsHowLongRowsAreKept) {
  const clickhouse_schema schema{"telltale", ""};
  const auto kept = schema.retention(3600);
  ASSERT_EQ(kept.size(), 6u);
  EXPECT_EQ(kept[0],
            "ALTER TABLE `telltale`.`spans_data` MODIFY TTL toDateTime(intDiv(start_ns, 1000000000)) + "
            "toIntervalSecond(3600)");
  EXPECT_EQ(schema.retention(0)[3], "ALTER TABLE `telltale`.`links_data` REMOVE TTL");
}

}  // namespace
}  // namespace telltale::hub
