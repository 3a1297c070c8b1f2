// Requests are written as OTLP/JSON here, since that can be read; that protobuf and JSON mean the same is checked
// against core's encoder, which writes both.
#include "hub/otlp/decode.hpp"

#include <gtest/gtest.h>

#include "hub/otlp/text.hpp"

namespace telltale::hub {
namespace {

using otlp::signal_kind;

std::shared_ptr<batch> decoded(signal_kind s, std::string_view json, const decode_limits& limits = {}) {
  auto wire = protobuf_of_json(s, json);
  if (!wire) ADD_FAILURE() << wire.error().message;
  auto b = decode(s, std::move(*wire), limits);
  if (!b) ADD_FAILURE() << b.error().message;
  return *b;
}

std::string traces(std::string_view spans, std::string_view resource = "") {
  return R"({"resourceSpans":[{"resource":{"attributes":[)" + std::string(resource) +
         R"(]},"scopeSpans":[{"scope":{"name":"msm"},"spans":[)" + std::string(spans) + "]}]}]}";
}

constexpr std::string_view ids = R"("traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718")";

std::string span(std::string_view rest) {
  return "{" + std::string(ids) + R"(,"startTimeUnixNano":"1000","endTimeUnixNano":"1500",)" + std::string(rest) + "}";
}

TEST(Decode, TakesASpanApart) {
  const auto b = decoded(
      signal_kind::traces,
      traces(span(R"("name":"Prove","parentSpanId":"2122232425262728","kind":3,"status":{"code":2,"message":"no room"},
        "attributes":[{"key":"job_id","value":{"stringValue":"j1"}},{"key":"phase","value":{"stringValue":"msm"}},
                      {"key":"n","value":{"intValue":"-5"}},{"key":"x","value":{"doubleValue":2}},
                      {"key":"ok","value":{"boolValue":true}},
                      {"key":"list","value":{"arrayValue":{"values":[{"intValue":1},{"stringValue":"a"}]}}}],
        "events":[{"timeUnixNano":"1200","name":"retry","attributes":[{"key":"k","value":{"intValue":1}}]}],
        "links":[{"traceId":"ff000000000000000000000000000001","spanId":"ff00000000000002",
                  "attributes":[{"key":"telltale.link.kind","value":{"stringValue":"input-of"}}]}])"),
             R"({"key":"service.name","value":{"stringValue":"prover"}},
        {"key":"host.name","value":{"stringValue":"n7"}},{"key":"task_id","value":{"stringValue":"t9"}})"));
  ASSERT_EQ(b->spans.size(), 1u);
  EXPECT_EQ(b->rejected, 0u);
  const span_record& s = b->spans[0];
  EXPECT_EQ(s.trace, (trace_id{0x0102030405060708, 0x090a0b0c0d0e0f10}));
  EXPECT_EQ(s.id.value, 0x1112131415161718u);
  EXPECT_EQ(s.parent.value, 0x2122232425262728u);
  EXPECT_EQ(s.name, "Prove");
  EXPECT_EQ(s.kind, 3);
  EXPECT_EQ(s.status, 2);
  EXPECT_EQ(s.status_message, "no room");
  EXPECT_EQ(s.start_ns, 1000);
  EXPECT_EQ(s.duration_ns, 500);
  EXPECT_EQ(s.job_id, "j1");
  EXPECT_EQ(s.phase, "msm");
  EXPECT_EQ(s.task_id, "t9") << "of the resource";
  EXPECT_EQ(s.attributes, R"({"n":-5,"x":2.0,"ok":true,"list":[1,"a"]})");
  EXPECT_EQ(s.events, R"([{"time_ns":1200,"name":"retry","attributes":{"k":1}}])");
  EXPECT_EQ(s.links,
            R"([{"trace_id":"ff000000000000000000000000000001","span_id":"ff00000000000002","kind":"input-of",)"
            R"("attributes":{}}])");
  ASSERT_EQ(s.link_count, 1u);
  EXPECT_EQ(b->links[s.first_link].span.value, 0xff00000000000002u);
  EXPECT_EQ(b->resources[s.resource].service, "prover");
  EXPECT_EQ(b->resources[s.resource].node, "n7");
  EXPECT_EQ(b->scopes[s.scope], "msm");
}

TEST(Decode, RejectsOneSpanAndTakesTheOthers) {
  const std::pair<const char*, const char*> bad[] = {
      {R"({"traceId":"0102","spanId":"1112131415161718","name":"a","startTimeUnixNano":"1","endTimeUnixNano":"2"})",
       "trace id that isn't 16 bytes"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"11121314151617zz","name":"a"})",
       "span id that isn't 8 bytes"},
      {R"({"traceId":"00000000000000000000000000000000","spanId":"1112131415161718","name":"a"})", "id of zeros"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718","parentSpanId":"11"})",
       "parent's id that isn't 8 bytes"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718",
           "parentSpanId":"1112131415161718"})",
       "is its own parent"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718","name":"a"})", "has no start"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718",
           "startTimeUnixNano":"9","endTimeUnixNano":"8"})",
       "ends before it starts"},
      {R"({"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"1112131415161718",
           "startTimeUnixNano":"9","endTimeUnixNano":"18446744073709551615"})",
       "after the year 2262"}};
  for (const auto& [json, why] : bad) {
    const auto b = decoded(signal_kind::traces, traces(std::string(json) + "," + span(R"("name":"good")")));
    EXPECT_EQ(b->rejected, 1u) << why;
    EXPECT_NE(b->why.find(why), std::string::npos) << b->why;
    ASSERT_EQ(b->spans.size(), 1u) << why;
    EXPECT_EQ(b->spans[0].name, "good");
  }
}

TEST(Decode, RefusesWhatIsNoRequest) {
  const auto good = protobuf_of_json(signal_kind::traces, traces(span(R"("name":"a")")));
  ASSERT_TRUE(good);
  int refused = 0;
  for (std::size_t n = 1; n < good->size(); ++n) refused += decode(signal_kind::traces, good->substr(0, n)) ? 0 : 1;
  EXPECT_EQ(refused, static_cast<int>(good->size()) - 1) << "a request that was cut somewhere";
  EXPECT_TRUE(decode(signal_kind::traces, ""));
  EXPECT_FALSE(decode(signal_kind::traces, "\x0b\x0c"));
}

TEST(Decode, CutsWhatIsAboveItsLimits) {
  decode_limits limits;
  limits.attributes = 2;
  limits.string_bytes = 5;
  limits.events = 1;
  const auto b = decoded(signal_kind::traces, traces(span(R"("name":"abcdé",
      "attributes":[{"key":"a","value":{"intValue":1}},{"key":"b","value":{"stringValue":"123456789"}},
                    {"key":"c","value":{"intValue":3}}],
      "events":[{"name":"x"},{"name":"y"}])")),
                         limits);
  ASSERT_EQ(b->spans.size(), 1u);
  EXPECT_EQ(b->spans[0].name, "abcd") << "between characters";
  EXPECT_EQ(b->spans[0].attributes, R"({"a":1,"b":"12345"})");
  EXPECT_EQ(b->spans[0].events, R"([{"time_ns":0,"name":"x","attributes":{}}])");
  EXPECT_EQ(b->shortened, 4u);
}

TEST(Decode, LeavesOutWhatNestsTooDeeply) {
  std::string value = R"({"intValue":1})";
  for (int i = 0; i < 12; ++i) value = R"({"arrayValue":{"values":[)" + value + "]}}";
  const auto b =
      decoded(signal_kind::traces, traces(span(R"("name":"a","attributes":[{"key":"k","value":)" + value + "}]")));
  EXPECT_EQ(b->spans.at(0).attributes, R"({"k":[[[[[[[[null]]]]]]]]})");
}

TEST(Decode, KeepsTextThatIsNoUtf8) {
  const auto good = protobuf_of_json(signal_kind::traces, traces(span(R"("name":"a??b\u0000")")));
  std::string wire = *good;
  wire.replace(wire.find("a??b"), 4,
               "a\xff\xc3"
               "b");
  const auto b = decode(signal_kind::traces, wire);
  ASSERT_TRUE(b);
  EXPECT_EQ((*b)->spans.at(0).name,
            "a\xef\xbf\xbd\xef\xbf\xbd"
            "b\xef\xbf\xbd");
}

TEST(Decode, TellsOpenSpansFromLogs) {
  const auto b = decoded(signal_kind::logs, R"({"resourceLogs":[{"resource":{"attributes":[
      {"key":"host.name","value":{"stringValue":"n1"}},{"key":"process.pid","value":{"intValue":"42"}}]},
      "scopeLogs":[{"scope":{"name":"msm"},"logRecords":[
      {"timeUnixNano":"5000","severityNumber":9,"severityText":"INFO","body":{"stringValue":"hello"},
       "attributes":[{"key":"n","value":{"intValue":1}},{"key":"job_id","value":{"stringValue":"j"}}]},
      {"timeUnixNano":"5000",)" + std::string(ids) +
                                                R"(,"eventName":"telltale.span.open","attributes":[
        {"key":"telltale.span.name","value":{"stringValue":"Prove"}},
        {"key":"telltale.span.start_time_unix_nano","value":{"intValue":"2000"}},
        {"key":"telltale.span.parent_id","value":{"stringValue":"2122232425262728"}},
        {"key":"circuit","value":{"stringValue":"c"}}]},
      {"timeUnixNano":"5000","eventName":"telltale.span.heartbeat"}]}]}]})");
  ASSERT_EQ(b->logs.size(), 1u);
  EXPECT_EQ(b->logs[0].body, "hello");
  EXPECT_EQ(b->logs[0].severity, 9);
  EXPECT_EQ(b->logs[0].job_id, "j");
  EXPECT_EQ(b->logs[0].attributes, R"({"n":1})");
  ASSERT_EQ(b->open.size(), 1u);
  EXPECT_EQ(b->open[0].name, "Prove");
  EXPECT_EQ(b->open[0].start_ns, 2000);
  EXPECT_EQ(b->open[0].duration_ns, 3000);
  EXPECT_EQ(b->open[0].parent.value, 0x2122232425262728u);
  EXPECT_EQ(b->open[0].attributes, R"({"circuit":"c"})");
  EXPECT_EQ(b->rejected, 1u) << "a heartbeat of nothing";
  EXPECT_FALSE(b->resources.at(0).instance.empty());
}

TEST(Decode, ReadsEveryKindOfMetric) {
  const auto b = decoded(signal_kind::metrics, R"({"resourceMetrics":[{"scopeMetrics":[{"metrics":[
    {"name":"g","unit":"By","gauge":{"dataPoints":[{"timeUnixNano":"1","asInt":"-7"}]}},
    {"name":"c","sum":{"isMonotonic":true,"dataPoints":[{"timeUnixNano":"1","asDouble":1.5},{"asDouble":1}]}},
    {"name":"h","histogram":{"dataPoints":[{"timeUnixNano":"1","count":"3","sum":6,"bucketCounts":["1","2"],
      "explicitBounds":[0.5],"attributes":[{"key":"a","value":{"stringValue":"b"}}]}]}},
    {"name":"e","exponentialHistogram":{"dataPoints":[{"timeUnixNano":"1","count":"4","sum":8,"scale":-2,
      "zeroCount":"1","positive":{"offset":-1,"bucketCounts":["1","2"]}}]}}]}]}]})");
  ASSERT_EQ(b->points.size(), 4u);
  EXPECT_EQ(b->points[0].value, -7);
  EXPECT_EQ(b->points[0].type, "gauge");
  EXPECT_EQ(b->points[1].type, "counter");
  EXPECT_EQ(b->points[2].buckets, R"({"bounds":[0.5],"counts":[1,2]})");
  EXPECT_EQ(b->points[2].count, 3u);
  EXPECT_EQ(b->points[2].attributes, R"({"a":"b"})");
  EXPECT_EQ(b->points[3].buckets,
            R"({"scale":-2,"zero":1,"positive":{"offset":-1,"counts":[1,2]},"negative":{"offset":0,"counts":[]}})");
  EXPECT_EQ(b->rejected, 1u) << "a point without a time";
}

TEST(Json, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> bad[] = {
      {"{", "is no JSON"},
      {"[]", "is no object"},
      {R"({"resourceSpans":{}})", "\"resourceSpans\" is no list"},
      {R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"name":7}]}]}]})", "\"name\" is no string"},
      {R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"soon"}]}]}]})",
       "\"startTimeUnixNano\" is no whole number"}};
  for (const auto& [json, why] : bad) {
    const auto r = protobuf_of_json(signal_kind::traces, json);
    ASSERT_FALSE(r) << json;
    EXPECT_NE(r.error().message.find(why), std::string::npos) << r.error().message;
  }
}

// So that a receiver that it is sent on to gets it.
TEST(Json, KeepsWhatTheHubDoesNot) {
  const auto wire = protobuf_of_json(
      signal_kind::traces,
      R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"flags":257,"droppedEventsCount":3}],"schemaUrl":"u"}]}]})");
  ASSERT_TRUE(wire) << wire.error().message;
  EXPECT_EQ(*wire, std::string("\x0a\x0f\x12\x0d\x12\x08\x60\x03\x85\x01\x01\x01\0\0\x1a\x01u", 17));
}

TEST(Answer, SaysWhatWasRejected) {
  EXPECT_EQ(answer_protobuf(signal_kind::traces, 0, ""), "");
  EXPECT_EQ(answer_protobuf(signal_kind::traces, 3, "why"), std::string("\x0a\x07\x08\x03\x12\x03why"));
  EXPECT_EQ(answer_json(signal_kind::logs, 0, ""), "{}");
  EXPECT_EQ(answer_json(signal_kind::logs, 3, "a \"b\""),
            R"({"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"a \"b\""}})");
}

TEST(Text, ComesBackFromJsonAsItWas) {
  const attribute_list list = {{"a", std::int64_t{-3}},
                               {"b", 2.0},
                               {"c", true},
                               {"d \"x\"\n", std::string("é\\")},
                               {"e", std::uint64_t{18446744073709551615u}}};
  const auto back = parse_attributes(object_text(list));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, list);
  const attribute_list simple = {{"n", std::int64_t{-3}}, {"t", std::string("é {}")}, {"yes", true}, {"no", false}};
  EXPECT_EQ(*parse_attributes(object_text(simple)), simple);
  EXPECT_EQ(*parse_attributes(R"({"a":1,"b":null})"), (attribute_list{{"a", std::int64_t{1}}})) << "null isn't there";
  EXPECT_EQ(parse_attributes(R"({"a":1,"a":2})")->size(), 1u) << "a name comes once";
  EXPECT_EQ(*parse_attributes(R"({"a":12.5,"b":1e3})"), (attribute_list{{"a", 12.5}, {"b", 1000.0}}));
  for (const char* const broken : {"[1]", "{", "{}x", R"({"a":1,})", R"({"a":"x)", R"({"a":1 "b":2})", R"({a:1})"}) {
    EXPECT_FALSE(parse_attributes(broken)) << broken;
  }
}

}  // namespace
}  // namespace telltale::hub
