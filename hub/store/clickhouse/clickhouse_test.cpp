// The store on ClickHouse, against chDB: what is its own, besides the suites that every store passes (store_test.cpp,
// ask/answers_test.cpp).
#include "hub/store/clickhouse/clickhouse.hpp"

#include <curl/curl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "hub/server.hpp"
#include "hub/store/clickhouse/client.hpp"
#include "hub/store/clickhouse/schema.hpp"
#include "hub/store/clickhouse/testing/peer.hpp"

namespace telltale::hub {
namespace {

using testing::batch_of;
using testing::clickhouse_peer;
using testing::span_spec;

class ClickHouse : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!peer_.why_not().empty()) GTEST_SKIP() << peer_.why_not();
  }
  std::string ask(const std::string& sql) const {
    const clickhouse_client client(peer_.options(), *parse_clickhouse_url(peer_.options().url));
    const auto answer = client.ask(sql + " FORMAT TabSeparated", std::chrono::seconds(10));
    return answer ? *answer : answer.error().message;
  }
  result<void> change(const std::string& sql) const {
    return clickhouse_client(peer_.options(), *parse_clickhouse_url(peer_.options().url)).change(sql);
  }

  clickhouse_peer peer_;
};

TEST_F(ClickHouse, IsInitialisedOnceAndAgainWithoutHarm) {
  const auto unmade = open_clickhouse(peer_.options());
  ASSERT_FALSE(unmade);
  EXPECT_NE(unmade.error().message.find("run `telltale store init`"), std::string::npos) << unmade.error().message;
  const auto first = init_clickhouse(peer_.options());
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(*first, "ClickHouse's database telltale: tables made or migrated from version 0 to 1; nothing is removed");
  {
    const auto s = open_clickhouse(peer_.options());
    ASSERT_TRUE(s) << s.error().message;
    ASSERT_TRUE((*s)->append(batch_of({{1, 10}})));
  }
  const auto again = init_clickhouse(peer_.options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(*again, "ClickHouse's database telltale: its tables are of version 1 already; nothing is removed");
  EXPECT_EQ(ask("SELECT count() FROM spans"), "1\n");
  // A migration that was cut off is said once more.
  ASSERT_TRUE(change("TRUNCATE TABLE telltale.telltale_schema"));
  ASSERT_TRUE(change("DROP TABLE telltale.links"));
  const auto repeated = init_clickhouse(peer_.options());
  ASSERT_TRUE(repeated) << repeated.error().message;
  EXPECT_EQ(ask("SELECT count() FROM spans"), "1\n");
  EXPECT_EQ(ask("SELECT count() FROM links"), "0\n");
}

TEST_F(ClickHouse, OfANewerVersionIsRefused) {
  ASSERT_TRUE(init_clickhouse(peer_.options()));
  ASSERT_TRUE(change("INSERT INTO telltale.telltale_schema (version) VALUES (99)"));
  const auto opened = open_clickhouse(peer_.options());
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("version 99, and this telltale's of version 1: use a newer telltale"),
            std::string::npos)
      << opened.error().message;
  const auto made = init_clickhouse(peer_.options());
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message.find("Nothing was changed"), std::string::npos) << made.error().message;
}

// What senders and askers may send: it is found again as it was, and does nothing.
TEST_F(ClickHouse, TakesHostileTextAsText) {
  const auto s = peer_.opened();
  const std::vector<std::string> hostile = {"'; DROP TABLE spans_data; --",
                                            "\\'; DROP TABLE spans_data; --",
                                            "') OR 1 = 1 --",
                                            "\\",
                                            "a\\",
                                            "{x:String}",
                                            "\xf0\x9f\x98\x80 \xc3\xa9",
                                            "/* */ `\" \t\n",
                                            "%s%n ?",
                                            "\" , \"x\":1,\""};
  std::string json;
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    std::string text;
    append_json(text, std::string_view(hostile[i]));
    json += (i == 0 ? "" : ",") + std::string(R"({"traceId":"00000000000000010000000000000001","spanId":")") +
            to_hex(span_id{i + 1}) + R"(","name":)" + text + R"(,"startTimeUnixNano":"1000","endTimeUnixNano":"2000",
            "attributes":[{"key":"job_id","value":{"stringValue":)" +
            text + R"(}},{"key":)" + text + R"(,"value":{"stringValue":)" + text + "}}]}";
  }
  const auto b =
      batch_of(otlp::signal_kind::traces, R"({"resourceSpans":[{"scopeSpans":[{"spans":[)" + json + "]}]}]}");
  ASSERT_EQ(b->rejected, 0u) << b->why;
  ASSERT_TRUE(s->append(b));
  const dialect& d = s->sql();
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    const std::string& text = hostile[i];
    for (const std::string& condition : {"name = " + d.text(text), d.attribute_is("job_id", dialect::from::span, text),
                                         d.attribute_is(text, dialect::from::span, text),
                                         d.attribute(text, dialect::from::span) + " = " + d.text(text)}) {
      const auto found = s->spans(condition, "", 10);
      ASSERT_TRUE(found) << condition << ": " << found.error().message;
      ASSERT_EQ(found->size(), 1u) << condition;
      EXPECT_EQ(found->front().id.value, i + 1);
      EXPECT_EQ(found->front().name, text);
      EXPECT_EQ(found->front().job_id, text);
      EXPECT_EQ(found->front().attributes, (attribute_list{{text, text}}));
    }
    EXPECT_TRUE(s->spans(d.matches("name", text), "", 10) || text.find_first_of("()[]{}*+?\\") != std::string::npos)
        << text;
  }
  // Literals of random bytes, as the server reads them.
  std::mt19937 random(17);
  std::string all;
  for (int n = 0; n < 300; ++n) {
    std::string bytes;
    for (std::size_t k = random() % 9; k > 0; --k) bytes += "'\\\";-/*n0x"[random() % 10];
    std::string in_hex;
    for (const char c : bytes) {
      constexpr std::string_view digits = "0123456789ABCDEF";
      in_hex += digits[static_cast<unsigned char>(c) >> 4];
      in_hex += digits[static_cast<unsigned char>(c) & 15];
    }
    all += (all.empty() ? "SELECT " : " AND ") + std::string("hex(") + d.text(bytes) + ") = '" + in_hex + "'";
  }
  const auto same = s->query(all);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->rows.at(0).at(0), cell(std::int64_t{1}));
  EXPECT_EQ(s->stats().spans, hostile.size()) << "nothing was dropped";
}

TEST_F(ClickHouse, LetsNobodyWriteByAsking) {
  const auto s = peer_.opened();
  ASSERT_TRUE(s->append(batch_of({{1, 10}})));
  for (const char* condition : {"1) OR (1", "1 = 1; DROP TABLE spans_data", "1 SETTINGS readonly = 0"}) {
    (void)s->spans(condition, "", 10);
  }
  for (const char* sql :
       {"SELECT 1 SETTINGS readonly = 0", "SELECT * FROM url('http://127.0.0.1:1/', 'CSV', 'a String')",
        "SELECT * FROM remote('127.0.0.1', system.one)", "/* SELECT */ DROP TABLE spans_data"}) {
    EXPECT_FALSE(s->query(sql)) << sql;
  }
  EXPECT_EQ(s->stats().spans, 1u);
}

TEST_F(ClickHouse, ShowsOpenSpansAndEndsLostOnes) {
  ASSERT_TRUE(init_clickhouse(peer_.options()));
  clickhouse_options o = peer_.options();
  o.heartbeat_timeout_seconds = 1;
  auto s = open_clickhouse(o);
  ASSERT_TRUE(s) << s.error().message;
  ASSERT_TRUE((*s)->append(batch_of(otlp::signal_kind::logs, R"({"resourceLogs":[{"resource":{"attributes":[
      {"key":"service.name","value":{"stringValue":"p"}}]},"scopeLogs":[{"scope":{"name":"m"},"logRecords":[
      {"timeUnixNano":"5000","traceId":"00000000000000010000000000000001","spanId":"000000000000000a",
       "eventName":"telltale.span.open","attributes":[{"key":"telltale.span.name","value":{"stringValue":"Wait"}},
       {"key":"telltale.span.start_time_unix_nano","value":{"intValue":"2000"}}]}]}]}]})")));
  ASSERT_EQ((*s)->open_spans().size(), 1u);
  EXPECT_EQ((*s)->trace({1, 1})->at(0).state, span_state::open);
  for (int i = 0; i < 400 && (*s)->stats().spans == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto t = (*s)->trace({1, 1});
  ASSERT_TRUE(t && t->size() == 1) << (t ? "" : t.error().message);
  EXPECT_EQ(t->front().state, span_state::lost);
  EXPECT_EQ(t->front().service, "p");
  EXPECT_TRUE((*s)->open_spans().empty());
}

TEST_F(ClickHouse, LetsOldRowsGo) {
  const auto s = peer_.opened(3600);
  const auto now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  ASSERT_TRUE(s->append(batch_of({{1, 10}, {2, 20, 0, "Prove", now}})));
  ASSERT_TRUE(change("OPTIMIZE TABLE telltale.spans_data FINAL"));
  ASSERT_TRUE(change("OPTIMIZE TABLE telltale.spans_by_trace FINAL"));
  EXPECT_EQ(s->stats().spans, 1u) << "the other is of 1970";
  EXPECT_TRUE(s->trace({1, 1})->empty());
  EXPECT_EQ(s->trace({1, 2})->size(), 1u);
  // Without a limit again.
  ASSERT_TRUE(init_clickhouse(peer_.options()));
  ASSERT_TRUE(s->append(batch_of({{3, 30}})));
  ASSERT_TRUE(change("OPTIMIZE TABLE telltale.spans_data FINAL"));
  EXPECT_EQ(s->stats().spans, 2u);
}

TEST_F(ClickHouse, SumsUpNamesByTheMinute) {
  const auto s = peer_.opened();
  std::vector<span_spec> spans;
  for (std::uint64_t i = 1; i <= 100; ++i)
    spans.push_back({i, i, 0, "Msm", 1'000, static_cast<std::int64_t>(i) * 1000});
  spans.push_back({101, 101, 0, "Msm", 61'000'000'000, 5, R"(,"status":{"code":2})"});
  ASSERT_TRUE(s->append(batch_of(spans)));
  const auto t = s->query(
      "SELECT minute_ns, service, name, count, errors, total_ns, max_ns, quantiles[1] BETWEEN 49000 AND 52000 FROM "
      "durations ORDER BY minute_ns");
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->rows.size(), 2u);
  const auto row = [](std::int64_t minute, std::int64_t n, std::int64_t errors, std::int64_t total, std::int64_t max,
                      std::int64_t middle) {
    return std::vector<cell>{minute, std::string("prover"), std::string("Msm"), n, errors, total, max, middle};
  };
  EXPECT_EQ(t->rows[0], row(0, 100, 0, 5'050'000, 100'000, 1));
  EXPECT_EQ(t->rows[1], row(60'000'000'000, 1, 1, 5, 5, 0));
}

TEST_F(ClickHouse, GivesNumbersOfEverySizeUnrounded) {
  const auto s = peer_.opened();
  const auto t = s->query(
      "SELECT toInt64(-9223372036854775807), toUInt64(18446744073709551615), 1.5, toInt8(-3), true, NULL, 'a\"b', [1, "
      "2], "
      "nan");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->rows.at(0), (std::vector<cell>{std::int64_t{-9223372036854775807}, std::string("18446744073709551615"),
                                              1.5, std::int64_t{-3}, true, std::monostate{}, std::string("a\"b"),
                                              std::string("[1,2]"), std::string("nan")}));
}

TEST_F(ClickHouse, TakesBatchesOfManySendersAtOnce) {
  const auto s = peer_.opened();
  std::vector<std::thread> senders;
  std::atomic<int> kept{0};
  for (std::uint64_t t = 1; t <= 8; ++t) {
    senders.emplace_back([&, t] {
      for (std::uint64_t i = 1; i <= 10; ++i) kept += s->append(batch_of({{t, i}})) ? 1 : 0;
    });
  }
  for (std::thread& t : senders) t.join();
  EXPECT_EQ(kept, 80);
  EXPECT_EQ(s->stats().spans, 80u);
  EXPECT_EQ(s->trace({1, 5})->size(), 10u);
}

// A hub whose ClickHouse ends: requests are refused so that senders keep what they have; nothing blocks.
TEST(ClickHouseAway, MakesSendersKeepTheirData) {
  auto peer = std::make_unique<clickhouse_peer>();
  if (!peer->why_not().empty()) GTEST_SKIP() << peer->why_not();
  const auto s = peer->opened();
  ASSERT_TRUE(s->append(batch_of({{1, 10}})));
  receiver r(s.get(), nullptr, {});
  const std::string wire = *protobuf_of_json(otlp::signal_kind::traces, testing::request_json({{1, 11}}));
  EXPECT_EQ(r.receive(otlp::signal_kind::traces, wire).what, received::outcome::kept);
  const store_stats before = s->stats();
  peer.reset();
  const received got = r.receive(otlp::signal_kind::traces, wire);
  EXPECT_EQ(got.what, received::outcome::unavailable) << "HTTP 503, gRPC UNAVAILABLE";
  EXPECT_NE(got.why.find("ClickHouse gives no answer (http://127.0.0.1:"), std::string::npos) << got.why;
  EXPECT_EQ(r.counted(otlp::signal_kind::traces).unavailable, 1u);
  EXPECT_EQ(r.counted(otlp::signal_kind::traces).records, 1u);
  EXPECT_FALSE(s->trace({1, 1}));
  EXPECT_FALSE(s->query("SELECT 1"));
  EXPECT_EQ(s->stats().spans, before.spans) << "the last that is known";
  EXPECT_FALSE(s->overloaded()) << "what was refused doesn't wait";
}

TEST_F(ClickHouse, ThatHangsIsGivenUp) {
  ASSERT_TRUE(init_clickhouse(peer_.options()));
  clickhouse_options o = peer_.options();
  o.timeout_seconds = 1;
  const auto s = open_clickhouse(o);
  ASSERT_TRUE(s) << s.error().message;
  ::kill(peer_.process(), SIGSTOP);
  const auto kept = (*s)->append(batch_of({{1, 10}}));
  ::kill(peer_.process(), SIGCONT);
  ASSERT_FALSE(kept);
  EXPECT_NE(kept.error().message.find("timed out"), std::string::npos) << kept.error().message;
}

TEST_F(ClickHouse, IsAskedWhereItCanBeReached) {
  clickhouse_options o = peer_.options();
  o.url = "http://127.0.0.1:1/telltale," + o.url;
  const auto made = init_clickhouse(o);
  ASSERT_TRUE(made) << made.error().message;
  const auto s = open_clickhouse(o);
  ASSERT_TRUE(s) << s.error().message;
  EXPECT_TRUE((*s)->append(batch_of({{1, 10}})));
}

TEST(ClickHouseAccess, NeedsThePasswordAndNeverShowsIt) {
  const clickhouse_peer peer("pass'word");
  if (!peer.why_not().empty()) GTEST_SKIP() << peer.why_not();
  ASSERT_TRUE(init_clickhouse(peer.options()));
  EXPECT_TRUE(open_clickhouse(peer.options()));
  clickhouse_options o = peer.options();
  o.password = "another";
  const auto refused = open_clickhouse(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("clickhouse.password_file"), std::string::npos) << refused.error().message;
  EXPECT_EQ(refused.error().message.find("another"), std::string::npos);
  configuration c;
  c.clickhouse = peer.options();
  EXPECT_EQ(print_configuration(c).find("pass'word"), std::string::npos);
}

// ClickHouse as a library has no server to be a shard, but its own Distributed engine: here both shards are dead, and
// its errors name the one that it would have gone to. Every trace has one, for writing and for reading.
TEST(ClickHouseCluster, KeepsATraceOnOneShardAndAsksOnlyThatOne) {
  const testing::temporary_directory directory;
  const std::string file = directory.path() + "/cluster.xml";
  std::ofstream(file) << R"(<clickhouse><remote_servers><two>
      <shard><replica><host>127.0.0.1</host><port>1</port></replica></shard>
      <shard><replica><host>127.0.0.1</host><port>2</port></replica></shard></two></remote_servers></clickhouse>)";
  const clickhouse_peer peer("", file);
  if (!peer.why_not().empty()) GTEST_SKIP() << peer.why_not();
  clickhouse_options o = peer.options();
  o.cluster = "two";
  const clickhouse_client client(o, *parse_clickhouse_url(o.url));
  const clickhouse_schema schema{"telltale", "two"};
  std::vector<std::string> statements = schema.foundation();
  for (std::string& s : schema.migration(1)) statements.push_back(std::move(s));
  statements.push_back("INSERT INTO telltale.telltale_schema (version) VALUES (1)");
  for (std::string& s : statements) {  // without a Keeper, so without replicas
    if (const auto at = s.find(" ON CLUSTER `two`"); at != std::string::npos) s.erase(at, 17);
    if (const auto at = s.find("ENGINE = Replicated"); at != std::string::npos) {
      const auto paths = s.find('(', at);
      s.erase(paths, s.find(')', paths) + 1 - paths);
      s.erase(at + 9, 10);
    }
    const auto made = client.change(s);
    ASSERT_TRUE(made) << s << ": " << made.error().message;
  }
  const auto store = open_clickhouse(o);
  ASSERT_TRUE(store) << store.error().message;
  int on_first = 0;
  constexpr int traces = 16;
  for (std::uint64_t t = 1; t <= traces; ++t) {
    const auto hash =
        client.ask("SELECT sipHash64(toUInt64(1), toUInt64(" + std::to_string(t) + ")) % 2 FORMAT TabSeparated",
                   std::chrono::seconds(5));
    ASSERT_TRUE(hash);
    const bool first = hash->starts_with('0');
    on_first += first ? 1 : 0;
    const std::string right = first ? "Connection refused (127.0.0.1:1)" : "Connection refused (127.0.0.1:2)";
    const std::string wrong = first ? "Connection refused (127.0.0.1:2)" : "Connection refused (127.0.0.1:1)";
    for (const auto& why : {(*store)->append(batch_of({{t, 1}, {t, 2, 1}})).error().message,
                            (*store)->trace({1, t}).error().message, (*store)->links_to({1, t}).error().message}) {
      EXPECT_NE(why.find(right), std::string::npos) << why;
      EXPECT_EQ(why.find(wrong), std::string::npos) << why;
    }
  }
  EXPECT_GT(on_first, 2);
  EXPECT_LT(on_first, traces - 2);
}

TEST(ClickHouseConfiguration, IsOneLine) {
  const auto c =
      read_configuration("[clickhouse]\nurl = \"http://a:8123/x\"\n[store]\nmax_age = \"48h\"\n", "hub.toml");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->clickhouse.url, "http://a:8123/x");
  EXPECT_EQ(c->clickhouse.max_age_seconds, 48 * 3600);
  const auto again = read_configuration(print_configuration(*c), "printed");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(print_configuration(*again), print_configuration(*c));
  const auto sized =
      read_configuration("[clickhouse]\nurl = \"http://a\"\n[store]\nmax_bytes = \"1GiB\"\n", "hub.toml");
  ASSERT_FALSE(sized);
  EXPECT_NE(sized.error().message.find("store.max_age"), std::string::npos) << sized.error().message;
  EXPECT_FALSE(read_configuration("[clickhouse]\nurl = \"a:8123\"\n", "hub.toml"));
  EXPECT_FALSE(read_configuration("[clickhouse]\nurl = \"http://a\"\n[sampling]\nkeep = 0.5\n", "hub.toml"));
}

TEST(ClickHouseConfiguration, OfTheExampleIsRead) {
  std::ifstream in(TELLTALE_SOURCE_DIR "/deploy/hub-clickhouse.toml");
  std::ostringstream text;
  text << in.rdbuf();
  const auto c = read_configuration(text.str(), "hub-clickhouse.toml");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->clickhouse.url, "http://127.0.0.1:8123/telltale");
}

}  // namespace
}  // namespace telltale::hub
