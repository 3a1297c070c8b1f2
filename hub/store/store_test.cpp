// One suite over what every store must answer: the embedded one in memory, in tables that came from the journal, and in
// files, and ClickHouse.
#include "hub/store/store.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "hub/store/clickhouse/testing/peer.hpp"
#include "hub/store/testing.hpp"

namespace telltale::hub {
namespace {

using testing::batch_of;
using testing::span_spec;
using testing::temporary_directory;

std::unique_ptr<store> opened(store_options o) {
  auto s = open_store(std::move(o));
  if (!s) {
    ADD_FAILURE() << s.error().message;
    std::abort();
  }
  return std::move(*s);
}

enum class where { memory, journal, files, clickhouse };

// Spans of two traces, the way they are asked for below.
class Store : public ::testing::TestWithParam<where> {
 protected:
  void SetUp() override {
    store_options o;
    if (GetParam() == where::clickhouse) {
      peer_ = std::make_unique<testing::clickhouse_peer>();
      if (!peer_->why_not().empty()) GTEST_SKIP() << peer_->why_not();
      store_ = peer_->opened();
      fill(*store_);
      return;
    }
    if (GetParam() != where::memory) o.directory = directory_.path();
    if (GetParam() == where::files) o.rows_per_file = 1;
    store_ = opened(o);
    fill(*store_);
    if (GetParam() == where::journal) {  // what was told to be kept comes back
      store_.reset();
      store_ = opened(o);
    }
  }
  static void fill(store& s) {
    put(s, batch_of({{1, 10, 0, "Prove", 1'000'000, 5000,
                      R"(,"attributes":[{"key":"job_id","value":{"stringValue":"j1"}},
                       {"key":"circuit","value":{"stringValue":"semaphore"}},{"key":"n","value":{"intValue":7}}])"},
                     {1, 11, 10, "Msm", 1'001'000, 2000,
                      R"(,"links":[{"traceId":"00000000000000010000000000000002","spanId":"0000000000000014",
                       "attributes":[{"key":"telltale.link.kind","value":{"stringValue":"input-of"}}]}])"}}));
    put(s, batch_of({{2, 20, 0, "Prove", 2'000'000, 9000, R"(,"status":{"code":2,"message":"no room"},
        "events":[{"timeUnixNano":"2000100","name":"retry"}])"}}));
    put(s, batch_of(otlp::signal_kind::logs, R"({"resourceLogs":[{"scopeLogs":[{"logRecords":[
        {"timeUnixNano":"5","severityNumber":17,"body":{"stringValue":"it failed"},
         "traceId":"00000000000000010000000000000002","spanId":"0000000000000014"}]}]}]})"));
    put(s, batch_of(otlp::signal_kind::metrics, R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[
        {"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"1","asDouble":2.5}]}}]}]}]})"));
  }
  static void put(store& s, std::shared_ptr<const batch> b) {
    const auto kept = s.append(std::move(b));
    ASSERT_TRUE(kept) << kept.error().message;
    s.settle();
  }

  temporary_directory directory_;
  std::unique_ptr<testing::clickhouse_peer> peer_;
  std::unique_ptr<store> store_;
};

TEST_P(Store, GivesATrace) {
  const auto t = store_->trace({1, 1});
  ASSERT_TRUE(t) << t.error().message;
  ASSERT_EQ(t->size(), 2u);
  EXPECT_EQ((*t)[0].name, "Prove");
  EXPECT_EQ((*t)[0].job_id, "j1");
  EXPECT_EQ((*t)[0].service, "prover");
  EXPECT_EQ((*t)[0].scope, "msm");
  EXPECT_EQ((*t)[0].attributes, (attribute_list{{"circuit", std::string("semaphore")}, {"n", std::int64_t{7}}}));
  EXPECT_EQ((*t)[0].resource, (attribute_list{{"service.name", std::string("prover")}}));
  EXPECT_EQ((*t)[1].parent.value, 10u);
  EXPECT_EQ((*t)[1].duration_ns, 2000);
  EXPECT_TRUE((*store_->trace({1, 77})).empty());
}

// Every column of every relation, and what else is asked for in SQL of all stores: as the embedded store says it.
TEST_P(Store, AgreesOnEveryColumn) {
  const std::vector<std::shared_ptr<const batch>> more = {
      batch_of({{3, 30, 0, "it's \\\\ \\\"odd\\\"", 5, 7, R"(,"kind":3,"attributes":[
        {"key":"a'b","value":{"stringValue":"c\\d"}},{"key":"d","value":{"doubleValue":2}},
        {"key":"e","value":{"doubleValue":2.25}},{"key":"f","value":{"boolValue":false}},
        {"key":"g","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"x,y"}]}}},
        {"key":"module_id","value":{"stringValue":"m"}},{"key":"task_id","value":{"stringValue":"t"}},
        {"key":"phase","value":{"stringValue":"p"}}])"}}),
      batch_of(otlp::signal_kind::logs, R"({"resourceLogs":[{"resource":{"attributes":[
        {"key":"host.name","value":{"stringValue":"n1"}}]},"scopeLogs":[{"scope":{"name":"s"},"logRecords":[
        {"timeUnixNano":"9","severityNumber":9,"severityText":"INFO","body":{"stringValue":"50 % (of it's) [done]\n."},
         "eventName":"e","attributes":[{"key":"job_id","value":{"stringValue":"j1"}},
         {"key":"k","value":{"stringValue":"v"}}]}]}]}]})"),
      batch_of(otlp::signal_kind::metrics, R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[
        {"name":"h","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"timeUnixNano":"3","count":"3",
         "sum":4.5,"bucketCounts":["1","2"],"explicitBounds":[1.5],
         "attributes":[{"key":"q","value":{"stringValue":"w"}}]}]}}]}]}]})")};
  const auto reference = opened({});
  fill(*reference);
  for (const auto& b : more) {
    ASSERT_EQ(b->rejected, 0u) << b->why;
    put(*reference, b);
    put(*store_, b);
  }
  for (const char* sql :
       {"SELECT trace_hi, trace_lo, span, parent, trace_id, span_id, parent_id, name, service, scope, node, kind, "
        "status, "
        "state, status_message, start_ns, duration_ns, job_id, module_id, task_id, phase, attributes, resource, "
        "events, "
        "links FROM spans ORDER BY span",
        "SELECT time_ns, trace_hi, trace_lo, span, trace_id, span_id, severity, severity_text, service, scope, node, "
        "event_name, body, job_id, attributes, resource FROM logs ORDER BY time_ns",
        "SELECT time_ns, name, unit, type, service, node, value, count, buckets, attributes FROM metrics ORDER BY name",
        "SELECT from_trace_hi, from_trace_lo, from_span, to_trace_hi, to_trace_lo, to_span, kind, start_ns FROM "
        "links"}) {
    const auto there = store_->query(sql);
    const auto here = reference->query(sql);
    ASSERT_TRUE(there && here) << (there ? here.error().message : there.error().message);
    EXPECT_EQ(there->columns, here->columns);
    EXPECT_EQ(there->rows, here->rows) << sql;
    EXPECT_FALSE(here->rows.empty());
  }
  for (const auto of : {dialect::from::span, dialect::from::resource}) {
    for (const char* key : {"a'b", "d", "e", "f", "g", "n", "circuit", "phase", "service.name", "none"}) {
      const auto ask = [&](const store& s) {
        const auto t = s.query("SELECT " + s.sql().attribute(key, of) + ", " + s.sql().attribute_number(key, of) +
                               " FROM spans ORDER BY span");
        return t ? t->rows : std::vector<std::vector<cell>>{{t.error().message}};
      };
      EXPECT_EQ(ask(*store_), ask(*reference)) << key;
    }
  }
  using condition = std::string (*)(const dialect&);
  for (const condition of : std::initializer_list<condition>{
           [](const dialect&) { return std::string("job_id = 'j1'"); },
           [](const dialect& d) { return d.is_trace({1, 2}) + " AND severity >= 13"; },
           [](const dialect& d) { return d.matches("body", R"((?s).*\(of it's\) \[done\].*)"); },
           [](const dialect& d) { return d.matches("body", R"(50.*\.)"); }}) {
    const auto there = store_->logs(of(store_->sql()), "time_ns DESC", 10);
    const auto here = reference->logs(of(reference->sql()), "time_ns DESC", 10);
    ASSERT_TRUE(there && here) << (there ? here.error().message : there.error().message);
    ASSERT_EQ(there->size(), here->size()) << of(store_->sql());
    for (std::size_t i = 0; i < here->size(); ++i) {
      EXPECT_EQ((*there)[i].body, (*here)[i].body);
      EXPECT_EQ((*there)[i].attributes, (*here)[i].attributes);
      EXPECT_EQ((*there)[i].resource, (*here)[i].resource);
    }
  }
}

TEST_P(Store, FollowsLinksBothWays) {
  const auto from = store_->links_from({1, 1});
  ASSERT_TRUE(from && from->size() == 1);
  EXPECT_EQ((*from)[0].to_span.value, 20u);
  EXPECT_EQ((*from)[0].kind, "input-of");
  const auto to = store_->links_to({1, 2}, span_id{20});
  ASSERT_TRUE(to && to->size() == 1) << (to ? "" : to.error().message);
  EXPECT_EQ((*to)[0].from_span.value, 11u);
  EXPECT_TRUE((*store_->links_to({1, 2}, span_id{21})).empty());
}

TEST_P(Store, SelectsByCondition) {
  const dialect& d = store_->sql();
  const auto ids = [&](const std::string& condition) {
    std::string out;
    const auto found = store_->spans(condition, "span", 10);
    if (!found) return found.error().message;
    for (const span_row& s : *found) out += std::to_string(s.id.value) + " ";
    return out;
  };
  EXPECT_EQ(ids("name = 'Prove'"), "10 20 ");
  EXPECT_EQ(ids("duration_ns > 4000 AND status = 2"), "20 ");
  EXPECT_EQ(ids(d.is_trace({1, 1})), "10 11 ");
  EXPECT_EQ(ids(d.attribute_is("circuit", dialect::from::span, std::string("semaphore"))), "10 ");
  EXPECT_EQ(ids(d.attribute_is("circuit", dialect::from::span, std::string("sema"))), "");
  EXPECT_EQ(ids(d.attribute_is("n", dialect::from::span, std::int64_t{7})), "10 ");
  EXPECT_EQ(ids(d.attribute_is("n", dialect::from::span, std::string("7"))), "") << "another type";
  EXPECT_EQ(ids(d.attribute_is("n", dialect::from::span, 7.0)), "") << "another type";
  EXPECT_EQ(ids(d.attribute_is("job_id", dialect::from::span, std::int64_t{1})), "") << "kept as text";
  EXPECT_EQ(ids(d.attribute_is("job_id", dialect::from::span, std::string("j1"))), "10 ");
  EXPECT_EQ(ids(d.attribute_is("service.name", dialect::from::resource, std::string("prover"))), "10 11 20 ");
  EXPECT_EQ(ids(d.attribute_number("n", dialect::from::span) + " > 6.5"), "10 ");
  EXPECT_EQ(ids(d.attribute("a'b\"c", dialect::from::span) + " IS NOT NULL"), "");
  EXPECT_EQ(ids(d.matches("name", "M.m")), "11 ");
}

TEST_P(Store, KeepsEventsAndLogs) {
  const auto t = store_->trace({1, 2});
  ASSERT_TRUE(t && t->size() == 1);
  EXPECT_EQ((*t)[0].status, status_code::error);
  EXPECT_EQ((*t)[0].status_message, "no room");
  ASSERT_EQ((*t)[0].events.size(), 1u);
  EXPECT_EQ((*t)[0].events[0].name, "retry");
  const auto l = store_->logs("severity >= 17", "time_ns", 10);
  ASSERT_TRUE(l && l->size() == 1);
  EXPECT_EQ((*l)[0].body, "it failed");
  EXPECT_EQ((*l)[0].span.value, 20u);
}

TEST_P(Store, AnswersSql) {
  const auto t = store_->query("SELECT name, count(*) AS n, sum(duration_ns) FROM spans GROUP BY name ORDER BY 1");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->columns, (std::vector<std::string>{"name", "n", "sum(duration_ns)"}));
  ASSERT_EQ(t->rows.size(), 2u);
  EXPECT_EQ(t->rows[1][0], cell(std::string("Prove")));
  EXPECT_EQ(t->rows[1][1], cell(std::int64_t{2}));
  // A sum is wider than 64 bits in one store and isn't in the other.
  EXPECT_TRUE(t->rows[1][2] == cell(14000.0) || t->rows[1][2] == cell(std::int64_t{14000}));
  const auto ids = store_->query("SELECT trace_id, span_id, parent_id FROM spans WHERE span = 10");
  ASSERT_TRUE(ids && ids->rows.size() == 1);
  EXPECT_EQ(ids->rows[0], (std::vector<cell>{std::string("00000000000000010000000000000001"),
                                             std::string("000000000000000a"), std::monostate{}}));
  const auto cut = store_->query(
      GetParam() == where::clickhouse ? "SELECT * FROM numbers(10);" : "SELECT * FROM range(10);", {.rows = 3});
  ASSERT_TRUE(cut && cut->rows.size() == 3);
  EXPECT_TRUE(cut->cut);
  EXPECT_EQ((*store_->query("SELECT value FROM metrics")).rows.at(0).at(0), cell(2.5));
}

TEST_P(Store, TellsHowLongSpansTook) {
  ASSERT_TRUE(store_->durations(0, INT64_MAX));
  EXPECT_FALSE(store_->durations(0, INT64_MAX)->has_value()) << "so few are counted";
}

TEST_P(Store, RefusesWhatIsNoQuestion) {
  for (const char* sql : {"DROP VIEW spans", "SELECT 1; SELECT 2", "", "SELEC", "COPY spans TO '/tmp/x.parquet'",
                          "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM file('/etc/passwd', 'LineAsString')",
                          "WITH a AS (SELECT 1) INSERT INTO spans SELECT * FROM spans", "INSTALL httpfs",
                          "SET threads = 1", "ATTACH '/tmp/x.db'"}) {
    EXPECT_FALSE(store_->query(sql)) << sql;
  }
  const auto slow =
      store_->query(GetParam() == where::clickhouse ? "SELECT count() FROM numbers(1000000000000) WHERE number % 7 = 3"
                                                    : "SELECT count(*) FROM range(100000000) a, range(100000) b",
                    {.timeout_ms = 50});
  ASSERT_FALSE(slow);
  EXPECT_NE(slow.error().message.find("longer than 50 ms"), std::string::npos) << slow.error().message;
  EXPECT_TRUE(store_->query("SELECT 1")) << "it still answers";
}

TEST_P(Store, CountsWhatItHolds) {
  const store_stats s = store_->stats();
  EXPECT_EQ(s.spans, 3u);
  EXPECT_EQ(s.logs, 1u);
  EXPECT_EQ(s.metric_points, 1u);
  EXPECT_EQ(s.links, 1u);
  EXPECT_EQ(s.waiting, 0u);
  EXPECT_EQ(s.oldest_ns, 1'000'000);
  EXPECT_EQ(s.newest_ns, 2'000'000);
  EXPECT_EQ(s.files > 0, GetParam() == where::files || GetParam() == where::clickhouse);
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Store,
                         ::testing::Values(where::memory, where::journal, where::files, where::clickhouse),
                         [](const auto& p) {
                           return std::string(p.param == where::memory       ? "InMemory"
                                              : p.param == where::journal    ? "FromTheJournal"
                                              : p.param == where::clickhouse ? "InClickHouse"
                                                                             : "InFiles");
                         });

TEST(StoreDirectory, ShowsOpenSpansAndEndsLostOnes) {
  store_options o;
  o.heartbeat_timeout_seconds = 3;
  const auto s = opened(o);
  const auto seen = std::make_shared<std::vector<std::string>>();
  const auto watching = s->watch([seen](const span_row& r) { seen->push_back(r.name); });
  const auto open = [&](const char* span) {
    return batch_of(otlp::signal_kind::logs, R"({"resourceLogs":[{"resource":{"attributes":[
      {"key":"service.name","value":{"stringValue":"p"}}]},"scopeLogs":[{"scope":{"name":"m"},"logRecords":[
      {"timeUnixNano":"5000","traceId":"00000000000000010000000000000001","spanId":")" +
                                                 std::string(span) +
                                                 R"(","eventName":"telltale.span.open","attributes":[
       {"key":"telltale.span.name","value":{"stringValue":"Wait"}},{"key":"n","value":{"intValue":3}},
       {"key":"job_id","value":{"stringValue":"j"}},
       {"key":"telltale.span.start_time_unix_nano","value":{"intValue":"2000"}}]}]}]}]})");
  };
  ASSERT_TRUE(s->append(open("000000000000000a")));
  ASSERT_TRUE(s->append(open("000000000000000b")));
  s->settle();
  ASSERT_EQ(s->open_spans().size(), 2u);
  EXPECT_EQ((*s->trace({1, 1})).at(0).state, span_state::open);
  ASSERT_TRUE(s->append(batch_of({{1, 11, 0, "Wait", 2000, 9000}})));
  s->settle();
  EXPECT_EQ(s->open_spans().size(), 1u) << "the other has ended";
  for (int i = 0; i < 400 && s->stats().spans < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    s->settle();
  }
  s->settle();
  EXPECT_TRUE(s->open_spans().empty());
  const auto t = s->trace({1, 1});
  ASSERT_TRUE(t && t->size() == 2);
  const span_row& lost = (*t)[0].id.value == 10 ? (*t)[0] : (*t)[1];
  EXPECT_EQ(lost.state, span_state::lost);
  EXPECT_EQ(lost.job_id, "j");
  EXPECT_EQ(lost.service, "p");
  EXPECT_EQ(lost.duration_ns, 3000);
  EXPECT_GE(seen->size(), 3u);
}

TEST(StoreDirectory, IsOpenOnce) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  const auto first = opened(o);
  const auto second = open_store(o);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("open in another process"), std::string::npos);
}

TEST(StoreDirectory, OfANewerVersionIsRefused) {
  const temporary_directory d;
  std::ofstream(d.path() + "/MANIFEST.json") << R"({"version":2})";
  store_options o;
  o.directory = d.path();
  const auto s = open_store(o);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("newer telltale"), std::string::npos) << s.error().message;
  std::ofstream(d.path() + "/MANIFEST.json") << R"({"version":)";
  EXPECT_NE(open_store(o).error().message.find("damaged"), std::string::npos);
}

TEST(StoreDirectory, ThatCannotBeMadeIsRefused) {
  store_options o;
  o.directory = "/proc/no/such";
  const auto s = open_store(o);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("/proc/no/such"), std::string::npos);
}

TEST(StoreDirectory, LetsOldFilesGo) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  o.rows_per_file = 1;
  o.max_age_seconds = 3600;  // the spans are of 1970
  const auto s = opened(o);
  ASSERT_TRUE(s->append(batch_of({{1, 10}})));
  s->settle();
  for (int i = 0; i < 100 && s->stats().files + s->stats().spans > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(s->stats().spans, 0u);
  EXPECT_TRUE((*s->trace({1, 1})).empty());
  EXPECT_TRUE(s->query("SELECT count(*) FROM spans"));
}

TEST(StoreDirectory, TakesSpansThatComeADayLate) {
  constexpr std::int64_t day = 86'400'000'000'000;
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  o.rows_per_file = 1;
  o.max_age_seconds = 2 * 86'400;
  const std::int64_t now =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  const auto put = [&](store& s, const testing::span_spec& one) {
    const std::uint64_t files = s.stats().files;
    ASSERT_TRUE(s.append(batch_of({one})));
    for (int i = 0; i < 600 && s.stats().files == files; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  };
  const auto look = [&](const store& s) {
    EXPECT_EQ(s.trace({1, 1})->size(), 2u) << "old and new are one trace";
    EXPECT_EQ(s.spans("start_ns < " + std::to_string(now - day / 2), "", 10)->size(), 1u);
    EXPECT_EQ(s.stats().oldest_ns, now - day);
    EXPECT_EQ(s.stats().newest_ns, now);
  };
  {
    const auto s = opened(o);
    put(*s, {.trace = 1, .id = 10, .start_ns = now});
    put(*s, {.trace = 1, .id = 11, .parent = 10, .start_ns = now - day});
    look(*s);
  }
  look(*opened(o));
}

TEST(StoreDirectory, ThatCannotBeWrittenIsRefused) {
  store_options o;
  o.directory = "/sys/kernel";  // not even by root
  const auto s = open_store(o);
  ASSERT_FALSE(s);
  EXPECT_NE(s.error().message.find("cannot write in the store's directory /sys/kernel"), std::string::npos)
      << s.error().message;
}

std::int64_t count_of(const store& s) {
  const auto t = s.query("SELECT count(*) FROM spans");
  return t ? std::get<std::int64_t>(t->rows.at(0).at(0)) : -1;
}
// Waits for what a thread of the store's does, at most half a minute.
template <class F>
bool becomes(F f) {
  for (int i = 0; i < 600; ++i) {
    if (f()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

TEST(StoreDirectory, GoesOnWhenFilesCanBeWrittenAgain) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  o.rows_per_file = 1;
  std::uint64_t acknowledged = 0;
  {
    const auto s = opened(o);
    const std::string in_the_way = d.path() + "/MANIFEST.json.tmp";  // no manifest can be written over a folder
    ASSERT_TRUE(std::filesystem::create_directory(in_the_way));
    const auto put = [&] {
      const auto kept = s->append(batch_of({{1, acknowledged + 1}}));
      if (kept) ++acknowledged;
      return kept ? std::string{} : kept.error().message;
    };
    std::string why;
    ASSERT_TRUE(becomes([&] { return !(why = put()).empty(); })) << "it takes what it can't make files of";
    EXPECT_NE(why.find("takes nothing for now: cannot write " + d.path() + "/MANIFEST.json"), std::string::npos) << why;
    s->settle();
    EXPECT_EQ(count_of(*s), static_cast<std::int64_t>(acknowledged)) << "it answers meanwhile";
    EXPECT_EQ(s->stats().files, 0u);
    std::filesystem::remove(in_the_way);
    ASSERT_TRUE(becomes([&] { return put().empty(); })) << "it does not go on";
    s->settle();
    EXPECT_TRUE(becomes([&] { return s->stats().files > 0; }));
    EXPECT_EQ(count_of(*s), static_cast<std::int64_t>(acknowledged));
  }
  EXPECT_EQ(count_of(*opened(o)), static_cast<std::int64_t>(acknowledged));
}

// A limit on the size of files stands for a full disk.
TEST(StoreDirectory, RefusesWhatTheJournalHasNoRoomFor) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto s = open_store(o);
    if (!s) ::_exit(2);
    const rlimit little{4096, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &little);
    std::uint64_t id = 0;
    std::string why;
    while (why.empty() && id < 1000) {
      const auto kept = (*s)->append(batch_of({{1, ++id}}));
      if (!kept) why = kept.error().message;
    }
    if (why.find("cannot write the journal") == std::string::npos) ::_exit(3);
    const rlimit much{RLIM_INFINITY, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &much);
    if (!(*s)->append(batch_of({{1, id}}))) ::_exit(4);  // the one that was refused
    ::kill(::getpid(), id > 3 && id < 1000 ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  const auto s = opened(o);
  const auto t = s->query("SELECT count(*), max(span) FROM spans");
  ASSERT_TRUE(t && t->rows.size() == 1);
  EXPECT_EQ(t->rows[0][0], t->rows[0][1]) << "each once, none missing";
}

TEST(StoreDialect, AnAttributeIsNotThatOfAnInnerMap) {
  const auto s = opened({});
  constexpr const char* in_a_map = R"(,"attributes":[{"key":"inner","value":{"arrayValue":{"values":[{"intValue":"1"},
      {"kvlistValue":{"values":[{"key":"circuit","value":{"stringValue":"semaphore"}}]}}]}}}%s])";
  const auto with = [&](const std::string& more) {
    std::string out = in_a_map;
    return out.replace(out.find("%s"), 2, more);
  };
  const std::string own = R"({"key":"circuit","value":{"stringValue":"semaphore"}})";
  ASSERT_TRUE(s->append(batch_of({{.id = 1, .more = R"(,"attributes":[)" + own + "]"},
                                  {.id = 2, .more = with("")},
                                  {.id = 3, .more = with("," + own)}})));
  s->settle();
  const auto t =
      s->query("SELECT span FROM spans WHERE " +
               s->sql().attribute_is("circuit", dialect::from::span, std::string("semaphore")) + " ORDER BY span");
  ASSERT_TRUE(t) << t.error().message;
  EXPECT_EQ(t->rows, (std::vector<std::vector<cell>>{{std::int64_t{1}}, {std::int64_t{3}}}));
}

// What came while files could not be written, or with more memory than there is now.
TEST(StoreDirectory, MakesFilesOfMoreThanItCanSortAtOnce) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  constexpr std::uint64_t spans = 20'000;
  {
    const auto s = opened(o);
    for (std::uint64_t id = 1; id <= spans;) {
      std::vector<span_spec> some;
      for (int i = 0; i < 1000; ++i, ++id) {
        const std::string text(1000, static_cast<char>('a' + id % 26));
        some.push_back({.trace = id / 100 + 1,
                        .id = id,
                        .more = R"(,"attributes":[{"key":"text","value":{"stringValue":")" + text + "\"}}]"});
      }
      ASSERT_TRUE(s->append(batch_of(some)));
    }
    s->settle();
    EXPECT_EQ(s->stats().files, 0u);
  }
  o.rows_per_file = 1000;
  o.memory_bytes = 36u << 20;
  const auto s = opened(o);
  ASSERT_TRUE(becomes([&] { return s->stats().files > 1; })) << "it is no file";
  EXPECT_EQ(s->stats().spans, spans);
  EXPECT_EQ(count_of(*s), static_cast<std::int64_t>(spans));
  EXPECT_EQ(s->trace({1, 7})->size(), 100u);
}

TEST(StoreDirectory, KeepsASpanOnceThatComesAgain) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  const auto again = batch_of({{1, 10}, {1, 11, 10}});
  {
    const auto s = opened(o);
    ASSERT_TRUE(s->append(again));
    ASSERT_TRUE(s->append(again));
    ASSERT_TRUE(s->append(batch_of({{2, 10}})));  // another trace's
    s->settle();
    EXPECT_EQ(count_of(*s), 3);
    EXPECT_EQ(s->stats().spans, 3u);
    EXPECT_EQ(s->stats().repeated, 2u);
  }
  o.rows_per_file = 1;
  {
    const auto s = opened(o);  // from the journal, and into a file
    ASSERT_TRUE(becomes([&] { return s->stats().files == 1; }));
    ASSERT_TRUE(s->append(again));
    s->settle();
    EXPECT_EQ(count_of(*s), 3);
  }
  const auto s = opened(o);
  ASSERT_TRUE(s->append(again));
  s->settle();
  EXPECT_EQ(count_of(*s), 3) << "after a restart as well";
}

TEST(StoreDirectory, MergesSmallFiles) {
  const temporary_directory d;
  store_options o;
  o.directory = d.path();
  o.rows_per_file = 1000;
  o.seconds_per_file = 0;  // a file of whatever there is
  o.spans_counted = 0;
  const auto s = opened(o);
  std::uint64_t most = 0;
  std::uint64_t id = 0;
  ASSERT_TRUE(becomes([&] {
    ++id;
    (void)s->append(
        batch_of({{id % 3, id, 0, "Prove", static_cast<std::int64_t>(id) * 1000, static_cast<std::int64_t>(id)}}));
    s->settle();
    most = std::max(most, s->stats().files);
    return s->stats().files < most;
  })) << "nothing was merged";
  ASSERT_TRUE(becomes([&] { return s->stats().files <= 2; }) || s->stats().files < 16);
  EXPECT_EQ(count_of(*s), static_cast<std::int64_t>(id));
  EXPECT_EQ(s->trace({1, 1})->size(), (id + 2) / 3);
  const auto durations = s->durations(0, INT64_MAX);
  ASSERT_TRUE(durations && *durations) << "files without histograms";
  (*durations)->each([&](const auto& key, const duration_histogram& h) {
    EXPECT_EQ(key.name, "Prove");
    EXPECT_EQ(h.spans, id);
    EXPECT_EQ(h.max_ns, static_cast<std::int64_t>(id));
  });
  EXPECT_TRUE(becomes([&] {
    std::size_t files = 0;
    for (const auto& e : std::filesystem::directory_iterator(d.path())) {
      files += e.path().filename().string().starts_with("spans-") ? 1u : 0u;
    }
    return files <= s->stats().files + 1;
  })) << "merged files stay on the disk";
}

// A child writes and says what was acknowledged; it is killed somewhere, and all it said is there afterwards.
TEST(StoreDirectory, LosesNothingAcknowledgedWhenKilled) {
  const temporary_directory d;
  std::uint64_t acknowledged = 0;
  const char* const long_run = std::getenv("TELLTALE_TEST_LONG");  // NOLINT(concurrency-mt-unsafe)
  const int kills = long_run != nullptr ? 50 : 5;
  for (int round = 0; round < kills; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      store_options o;
      o.directory = d.path();
      o.rows_per_file = 40;  // files are made all the time
      auto s = open_store(o);
      if (!s) ::_exit(3);
      for (std::uint64_t id = acknowledged + 1;; ++id) {
        if (!(*s)->append(batch_of({{id / 8 + 1, id}}))) ::_exit(4);
        if (::write(pipe[1], &id, sizeof id) != sizeof id) ::_exit(5);
      }
    }
    ::close(pipe[1]);
    std::uint64_t id = 0;
    const std::uint64_t until = acknowledged + 30 + static_cast<std::uint64_t>(round) * 37 % 100;
    while (::read(pipe[0], &id, sizeof id) == sizeof id) {
      acknowledged = id;
      if (id == until) ::kill(child, SIGKILL);
    }
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself: " << status;
  }
  store_options o;
  o.directory = d.path();
  const auto s = opened(o);
  const auto t = s->query("SELECT count(DISTINCT span), max(span), count(*) FROM spans");
  ASSERT_TRUE(t) << t.error().message;
  const auto different = std::get<std::int64_t>(t->rows.at(0).at(0));
  const auto last = std::get<std::int64_t>(t->rows.at(0).at(1));
  EXPECT_GE(last, static_cast<std::int64_t>(acknowledged));
  EXPECT_EQ(different, last) << "a span is missing";
  EXPECT_EQ(std::get<std::int64_t>(t->rows.at(0).at(2)), different) << "a span is there twice";
  EXPECT_GT(acknowledged, 100u);
}

}  // namespace
}  // namespace telltale::hub
