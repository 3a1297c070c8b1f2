// Jaeger's query API over both stores: what its clients ask, and the shapes that they read.
#include "hub/ask/jaeger_api.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "hub/ask/export.hpp"
#include "hub/query/rows.hpp"
#include "hub/store/clickhouse/testing/peer.hpp"

namespace telltale::hub {
namespace {

using nlohmann::json;

constexpr std::int64_t begin = 1'778'273'112'000'000'000;

// Trace 1: service "a/b" calls "store". Trace 2, a minute later: "a/b" alone, failed.
std::vector<span_row> two_traces() {
  const auto at = [](std::uint64_t id, std::uint64_t parent, const char* name, std::int64_t us, std::int64_t duration) {
    return test::row(id, parent, name, begin + us * 1000, begin + (us + duration) * 1000 + 7);
  };
  std::vector<span_row> r{at(1, 0, "prove", 0, 5000), at(2, 1, "get", 1000, 300), at(3, 0, "prove", 60'000'000, 2000)};
  r[2].trace = {0, 2};
  for (span_row& s : r) {
    s.service = s.name == "get" ? "store" : "a/b";
    s.resource = {{"service.name", s.service}, {"host.name", std::string("n1")}};
    s.scope = "peer";
  }
  r[0].kind = 2;
  r[0].attributes = {{"http.status_code", std::int64_t{200}}, {"big", std::int64_t{1} << 60}, {"ratio", 0.5}};
  r[0].job_id = "j1";
  r[1].kind = 3;
  r[1].links.push_back({{0, 2}, {3}, "", {}});
  r[2].status = status_code::error;
  r[2].status_message = "broken";
  r[2].attributes = {{"flag", true}, {"odd \"key", std::string("x\\y")}};
  r[2].events.push_back({begin + 60'000'500'000, "retried", {{"attempt", std::int64_t{2}}}});
  return r;
}

class Jaeger : public ::testing::TestWithParam<const char*> {
 protected:
  using parameters = std::vector<std::pair<std::string, std::string>>;

  void SetUp() override {
    if (std::string_view(GetParam()) == "ClickHouse") {
      peer_ = std::make_unique<testing::clickhouse_peer>();
      if (!peer_->why_not().empty()) GTEST_SKIP() << peer_->why_not();
      store_ = peer_->opened();
    } else {
      store_ = *open_store({});
    }
    const auto kept = store_->append(testing::batch_of(otlp::signal_kind::traces, *export_spans(two_traces(), "otlp")));
    ASSERT_TRUE(kept) << kept.error().message;
    store_->settle();
    add_jaeger_api(router_, *store_);
  }

  json ask(std::string target, parameters query = {}, int status = 200) {
    http_request r;
    r.method = "GET";
    r.target = std::move(target);
    r.query = std::move(query);
    const http_response a = router_.answer(r);
    EXPECT_EQ(a.status, status) << a.body;
    EXPECT_EQ(a.type, "application/json");
    return json::parse(a.body);
  }
  // The ids of the traces found, and the newest first.
  std::string found(parameters more) {
    parameters query{{"service", "a/b"}};
    query.insert(query.end(), more.begin(), more.end());
    std::string out;
    const json answer = ask("/api/traces", query);
    for (const json& t : answer["data"]) out += t["traceID"].get<std::string>().back();
    return out;
  }
  std::string why_not(std::string target, parameters query, int status = 400) {
    const json a = ask(std::move(target), std::move(query), status);
    EXPECT_TRUE(a["data"].is_null());
    EXPECT_EQ(a["errors"][0]["code"], status);
    return a["errors"][0]["msg"];
  }

  std::unique_ptr<testing::clickhouse_peer> peer_;
  std::unique_ptr<store> store_;
  router router_;
};

INSTANTIATE_TEST_SUITE_P(Of, Jaeger, ::testing::Values("DuckDB", "ClickHouse"),
                         [](const auto& p) { return std::string(p.param); });

TEST_P(Jaeger, IsAnsweredAsJaegerAnswers) {
  EXPECT_EQ(ask("/api/services"),
            json::parse(R"({"data":["a/b","store"],"total":2,"limit":0,"offset":0,"errors":null})"));
  EXPECT_EQ(ask("/api/services/a/b/operations")["data"], json::parse(R"(["prove"])"));
  EXPECT_EQ(ask("/api/services/nobody/operations")["data"], json::array());
  EXPECT_EQ(ask("/api/operations", {{"service", "a/b"}})["data"],
            json::parse(R"([{"name":"prove","spanKind":""},{"name":"prove","spanKind":"server"}])"));
  EXPECT_EQ(ask("/api/operations", {{"service", "store"}, {"spanKind", "client"}})["data"],
            json::parse(R"([{"name":"get","spanKind":"client"}])"));

  // The whole of a trace, as Jaeger's model has it.
  EXPECT_EQ(ask("/api/traces/00000000000000010000000000000001")["data"], json::parse(R"([{
    "traceID":"00000000000000010000000000000001","warnings":null,
    "processes":{"p1":{"serviceName":"a/b","tags":[{"key":"host.name","type":"string","value":"n1"}]},
                 "p2":{"serviceName":"store","tags":[{"key":"host.name","type":"string","value":"n1"}]}},
    "spans":[
     {"traceID":"00000000000000010000000000000001","spanID":"0000000000000001","operationName":"prove",
      "references":[],"startTime":1778273112000000,"duration":5000,"processID":"p1","logs":[],"warnings":null,
      "tags":[{"key":"http.status_code","type":"int64","value":200},
              {"key":"big","type":"int64","value":"1152921504606846976"},
              {"key":"ratio","type":"float64","value":0.5},{"key":"job_id","type":"string","value":"j1"},
              {"key":"otel.scope.name","type":"string","value":"peer"},
              {"key":"span.kind","type":"string","value":"server"}]},
     {"traceID":"00000000000000010000000000000001","spanID":"0000000000000002","operationName":"get",
      "references":[{"refType":"CHILD_OF","traceID":"00000000000000010000000000000001","spanID":"0000000000000001"},
                    {"refType":"FOLLOWS_FROM","traceID":"00000000000000000000000000000002","spanID":"0000000000000003"}],
      "startTime":1778273112001000,"duration":300,"processID":"p2","logs":[],"warnings":null,
      "tags":[{"key":"otel.scope.name","type":"string","value":"peer"},
              {"key":"span.kind","type":"string","value":"client"}]}]}])"));
  const json failed = ask("/api/traces/2")["data"][0]["spans"][0];  // leading zeros may be left out
  EXPECT_EQ(failed["tags"], json::parse(R"([{"key":"flag","type":"bool","value":true},
    {"key":"odd \"key","type":"string","value":"x\\y"},{"key":"otel.scope.name","type":"string","value":"peer"},
    {"key":"otel.status_description","type":"string","value":"broken"},
    {"key":"otel.status_code","type":"string","value":"ERROR"},{"key":"error","type":"bool","value":true}])"));
  EXPECT_EQ(failed["logs"], json::parse(R"([{"timestamp":1778273172000500,"fields":[
    {"key":"event","type":"string","value":"retried"},{"key":"attempt","type":"int64","value":2}]}])"));
}

TEST_P(Jaeger, SearchIsByWhatItsFormHas) {
  EXPECT_EQ(found({}), "21");
  EXPECT_EQ(found({{"operation", ""}, {"tags", ""}, {"lookback", "1h"}}), "21");
  EXPECT_EQ(found({{"operation", "prove"}, {"limit", "1"}}), "2");
  EXPECT_EQ(found({{"operation", "get"}}), "");  // another service's
  EXPECT_EQ(found({{"minDuration", "2.1ms"}}), "1");
  EXPECT_EQ(found({{"minDuration", "0h0m1.5ms"}, {"maxDuration", "3000us"}}), "2");
  EXPECT_EQ(found({{"start", "1778273112000001"}}), "2");
  EXPECT_EQ(found({{"end", "1778273112000000"}}), "1");
  EXPECT_EQ(found({{"tags", R"({"http.status_code":"200","ratio":"0.5"})"}}), "1");
  EXPECT_EQ(found({{"tags", R"({"http.status_code":"200","error":"true"})"}}), "");
  EXPECT_EQ(found({{"tags", R"({"odd \"key":"x\\y"})"}}), "2");
  EXPECT_EQ(found({{"tags", R"({"host.name":"n1"})"}}), "21");
  EXPECT_EQ(found({{"tag", "big:1152921504606846976"}}), "1");
  EXPECT_EQ(found({{"tag", "error:true"}}), "2");
  EXPECT_EQ(found({{"tag", "error:false"}}), "1");
  EXPECT_EQ(found({{"tag", "flag:true"}, {"tag", "otel.status_code:ERROR"}}), "2");
  EXPECT_EQ(found({{"tag", "otel.status_description:broken"}}), "2");
  EXPECT_EQ(found({{"tag", "span.kind:server"}}), "1");
  EXPECT_EQ(found({{"tag", "job_id:j1"}}), "1");

  const json by_id = ask("/api/traces", {{"traceID", "2"}, {"traceID", "abc"}, {"traceID", "10000000000000001"}});
  ASSERT_EQ(by_id["data"].size(), 2u);
  EXPECT_EQ(by_id["data"][1]["spans"].size(), 2u);
  EXPECT_EQ(by_id["errors"], json::parse(R"([{"msg":"trace not found","traceID":"abc"}])"));
}

TEST_P(Jaeger, WhatMakesNoSenseIsRefused) {
  EXPECT_EQ(why_not("/api/traces", {}), "parameter 'service' is required");
  EXPECT_EQ(why_not("/api/operations", {}), "parameter 'service' is required");
  EXPECT_EQ(why_not("/api/operations", {{"service", "a"}, {"spanKind", "sever"}}),
            "there is no kind of spans \"sever\": internal, server, client, producer, consumer");
  EXPECT_EQ(why_not("/api/traces/abg", {}), "\"abg\" is no id of a trace: it has up to 32 hexadecimal digits");
  EXPECT_EQ(why_not("/api/traces/abc", {}, 404), "trace not found");
  EXPECT_EQ(why_not("/api/services/x", {}, 404), "of a service there are /api/services/NAME/operations");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"tag", "x"}}),
            "malformed 'tag' parameter, expecting key:value, received: x");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"tags", "{\"x\":1}"}}),
            "'tags' must be a JSON object whose values are strings, received: {\"x\":1}");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"tags", "{"}}),
            "'tags' must be a JSON object whose values are strings, received: {");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"minDuration", "5"}}),
            "minDuration is \"5\", and must be a duration like 1.2s or 300ms");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"maxDuration", "9999999999h"}}),
            "maxDuration is \"9999999999h\", and must be a duration like 1.2s or 300ms");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"limit", "5000"}}),
            "limit is \"5000\", and must be a number from 0 to 1000");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a"}, {"start", "-1"}}),
            "start is \"-1\", and must be a number from 0 to 9223372036854775");
  EXPECT_EQ(why_not("/api/traces", {{"service", "a\" } | select(.x) {"}, {"tag", "otel.scope.name:x"}}),
            "the hub doesn't search by otel.scope.name");
}

TEST_P(Jaeger, NothingThatIsAskedForIsRunAsAQuery) {
  EXPECT_EQ(found({{"operation", "x\" || true || name = \"x"}}), "");
  EXPECT_EQ(found({{"tag", "x\" = \"1\" || true || .\"y:z"}}), "");
  EXPECT_EQ(ask("/api/operations", {{"service", "x' OR '1' = '1"}})["data"], json::array());
  EXPECT_EQ(ask("/api/services/x' OR '1' = '1/operations")["data"], json::array());
}

}  // namespace
}  // namespace telltale::hub
