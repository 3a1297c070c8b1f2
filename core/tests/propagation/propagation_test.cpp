// A trace that goes through carriers, child processes and std::async.
#include <map>
#include <telltale/core/async.hpp>
#include <telltale/core/propagation.hpp>
#include <thread>

#include "recorded.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("test::propagation");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

using headers = std::map<std::string, std::string>;
const std::string caller = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Extract, MakesTheCallersSpanTheParentOfTheNext) {
  recorded r;
  {
    const telltale::remote_scope from{telltale::extract(headers{{"TraceParent", caller}, {"other", "x"}})};
    TELLTALE_SPAN("serve");
  }
  EXPECT_FALSE(telltale::current_context().span);
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "serve").trace, (telltale::trace_id{0x0af7651916cd43ddu, 0x8448eb211c80319cu}));
  EXPECT_EQ(named(spans, "serve").parent, telltale::span_id{0xb7ad6b7169203331u});
}

TEST(Extract, BeginsATraceOfItsOwnWhereTheHeaderIsBroken) {
  recorded r;
  for (const std::vector<std::pair<std::string, std::string>>& broken :
       {std::vector<std::pair<std::string, std::string>>{{"traceparent", "00-zz"}},
        {{"traceparent", caller}, {"traceparent", caller}},
        {{"tracestate", "a=1"}}}) {
    const auto remote = telltale::extract(broken);
    EXPECT_FALSE(remote.parent.span);
    EXPECT_TRUE(remote.state.empty());
    EXPECT_EQ(remote.ignored.size(), broken[0].first == "tracestate" ? 0u : 1u);
    const telltale::remote_scope from{remote};
    TELLTALE_SPAN_AS(s, info, "serve");
    EXPECT_TRUE(s.get_context().trace);
    EXPECT_NE(s.get_context().trace, (telltale::trace_id{0x0af7651916cd43ddu, 0x8448eb211c80319cu}));
  }
}

TEST(Extract, JoinsHeadersThatComeInPieces) {
  const auto remote = telltale::extract(std::vector<std::pair<std::string_view, std::string>>{
      {"traceparent", caller}, {"tracestate", "a=1"}, {"TraceState", "b=2"}, {"baggage", "x=1"}, {"baggage", "y=2"}});
  EXPECT_EQ(telltale::to_string(remote.state), "a=1,b=2");
  EXPECT_EQ(remote.baggage, (std::vector<telltale::baggage_member>{{"x", "1"}, {"y", "2"}}));
}

TEST(Extract, TurnsListedBaggageIntoInheritedAttributesAndNoOther) {
  recorded r;
  {
    const telltale::remote_scope from{
        telltale::extract(headers{{"traceparent", caller}, {"baggage", "job_id=c1%20x,password=secret,task_id=7"}})};
    TELLTALE_SPAN("serve");
    TELLTALE_INFO("at work");
  }
  const auto lines = r.lines();
  const auto spans = r.spans();
  ASSERT_EQ(lines.size(), 1u);
  for (const auto& attributes : {lines[0].attributes, named(spans, "serve").attributes}) {
    std::map<std::string, std::string> all;
    for (const auto& [k, v] : attributes) all[k] = telltale::to_string(v);
    EXPECT_EQ(all, (std::map<std::string, std::string>{{"job_id", "c1 x"}, {"task_id", "7"}}));
  }
}

TEST(Extract, TakesTheListOfKeysFromTheOptions) {
  recorded r(telltale::options{.baggage = "tenant, job_id"});
  {
    const telltale::remote_scope from{telltale::extract(headers{{"baggage", "tenant=t1,task_id=7"}})};
    TELLTALE_INFO("at work");
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].attributes.size(), 1u);
  EXPECT_EQ(lines[0].attributes[0].first, "tenant");
  const auto refused = telltale::start(telltale::options{.sinks = "none", .baggage = "a b"});
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().message.starts_with("TELLTALE_BAGGAGE: \"a b\" is no key")) << refused.error().message;
  EXPECT_TRUE(telltale::start(telltale::options{.sinks = "none", .baggage = "none"}));
  {
    TELLTALE_SCOPE("job", "job_id"_a = 1);
    headers h;
    telltale::inject(h);
    EXPECT_FALSE(h.contains("baggage"));
  }
}

TEST(Inject, WritesTheCurrentSpanAndListedAttributes) {
  recorded r;
  headers h;
  telltale::inject(h);
  EXPECT_EQ(h, headers{});  // no trace, nothing to say
  TELLTALE_SCOPE("outer", "job_id"_a = telltale::text{"old"}, "secret"_a = 1);
  TELLTALE_SCOPE("job", "job_id"_a = telltale::text{"c1,ü"}, "task_id"_a = 7);
  TELLTALE_SPAN_AS(s, info, "call");
  telltale::inject(h);
  ASSERT_EQ(h.size(), 2u);
  const auto t = telltale::parse_traceparent(h["traceparent"]);
  ASSERT_TRUE(t);
  EXPECT_EQ(t->trace, s.get_context().trace);
  EXPECT_EQ(t->parent, s.get_context().span);
  EXPECT_EQ(t->flags, 1);  // it is recorded
  EXPECT_EQ(h["baggage"], "job_id=c1%2C%C3%BC,task_id=7");
}

TEST(Inject, PassesTheCallersDecisionAndStateOn) {
  recorded r;
  const headers in{{"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
                   {"tracestate", "a=1,b=2"}};
  headers out;
  headers of_span;
  headers later;
  {
    const telltale::remote_scope from{telltale::extract(in)};
    TELLTALE_SPAN_AS(s, info, "proxy");
    telltale::inject(out);
    telltale::inject(of_span, s.get_context());
    later["traceparent"] = "stale";
    std::thread(telltale::bind([&] { telltale::inject(later); })).join();
  }
  EXPECT_TRUE(out["traceparent"].ends_with("-00")) << out["traceparent"];
  EXPECT_EQ(out["tracestate"], "a=1,b=2");
  EXPECT_EQ(of_span, out);
  EXPECT_EQ(later, out);
  headers after;
  TELLTALE_SPAN("its own");
  telltale::inject(after);
  EXPECT_TRUE(after["traceparent"].ends_with("-01"));
  EXPECT_FALSE(after.contains("tracestate"));
}

// What gRPC's ClientContext and its metadata look like.
struct client_context {
  void AddMetadata(const std::string& name, const std::string& value) { sent.emplace(name, value); }
  std::multimap<std::string, std::string> sent;
};
struct string_ref {
  const char* data() const { return text.data(); }
  std::size_t size() const { return text.size(); }
  bool operator<(const string_ref& o) const { return text < o.text; }
  std::string_view text;
};

TEST(Carriers, AreWhatPeopleHave) {
  recorded r;
  TELLTALE_SPAN_AS(s, info, "call");
  const std::string expected =
      telltale::to_string(telltale::traceparent{s.get_context().trace, s.get_context().span, 1});

  client_context grpc;
  telltale::inject(grpc);
  std::multimap<string_ref, string_ref> metadata;
  for (const auto& [name, value] : grpc.sent) metadata.emplace(string_ref{name}, string_ref{value});
  EXPECT_EQ(telltale::extract(metadata).parent.span, s.get_context().span);

  std::vector<std::pair<std::string, std::string>> message{{"Traceparent", "old"}, {"topic", "proofs"}};
  telltale::inject(message);
  EXPECT_EQ(message,
            (std::vector<std::pair<std::string, std::string>>{{"topic", "proofs"}, {"traceparent", expected}}));

  std::multimap<std::string, std::string> multi{{"traceparent", "old"}, {"traceparent", "older"}};
  telltale::inject(multi);
  EXPECT_EQ(multi, (std::multimap<std::string, std::string>{{"traceparent", expected}}));

  std::string raw;
  telltale::inject([&](std::string name, std::string value) { raw += name + ": " + value + "\r\n"; });
  EXPECT_EQ(raw, "traceparent: " + expected + "\r\n");
}

TEST(Environment, CarriesTheTraceIntoAChild) {
  recorded r;
  ::setenv("TRACEPARENT", "stale", 1);
  ::setenv("BAGGAGE", "stale", 1);
  std::vector<std::string> variables;
  telltale::context mine;
  {
    TELLTALE_SCOPE("job", "job_id"_a = telltale::text{"c1a0d8a5"});
    TELLTALE_SPAN_AS(s, info, "start_child");
    mine = s.get_context();
    variables = telltale::environment_for_child();
  }
  ::unsetenv("TRACEPARENT");
  ::unsetenv("BAGGAGE");
  telltale::testing::environment extra{{"TELLTALE_SINKS", "json:stdout"}};
  std::size_t path = 0;
  for (const std::string& v : variables) {
    const std::string name = v.substr(0, v.find('='));
    EXPECT_EQ(v.find("stale"), std::string::npos) << v;
    if (name == "PATH") ++path;
    if (name == "TRACEPARENT" || name == "BAGGAGE") extra[name] = v.substr(name.size() + 1);
  }
  EXPECT_EQ(path, 1u);
  const auto child = telltale::testing::run(CHILD, {}, extra);
  EXPECT_EQ(child.code, 0) << child;
  const std::string trace = telltale::to_string(telltale::traceparent{mine.trace, mine.span, 1}).substr(3, 32);
  const std::string span = telltale::to_string(telltale::traceparent{mine.trace, mine.span, 1}).substr(36, 16);
  EXPECT_EQ(telltale::testing::count_of(child.out, "\"trace_id\":\"" + trace + "\""), 2u) << child.out;
  EXPECT_EQ(telltale::testing::count_of(child.out, "\"parent_id\":\"" + span + "\""), 1u) << child.out;
  EXPECT_EQ(telltale::testing::count_of(child.out, "\"job_id\":\"c1a0d8a5\""), 2u) << child.out;

  const auto alone = telltale::testing::run(CHILD, {}, {{"TELLTALE_SINKS", "json:stdout"}, {"TRACEPARENT", "00-x"}});
  EXPECT_EQ(alone.code, 0) << alone;
  EXPECT_EQ(alone.out.find("parent_id"), std::string::npos) << alone.out;
}

TEST(Async, RunsUnderTheCallersContext) {
  recorded r;
  {
    TELLTALE_SPAN("caller");
    auto eager = telltale::async(
        std::launch::async,
        [](std::unique_ptr<int> n) {
          TELLTALE_SPAN("eager");
          return *n + 1;
        },
        std::make_unique<int>(1));
    auto any = telltale::async(
        [](std::string_view text, int n) {
          TELLTALE_SPAN("any");
          return static_cast<int>(text.size()) + n;
        },
        std::string("40 characters would be too many for one"), 3);
    EXPECT_EQ(eager.get(), 2);
    EXPECT_EQ(any.get(), 42);
  }
  auto lazy = [] {
    TELLTALE_SPAN("asker");
    return telltale::async(std::launch::deferred, [] { TELLTALE_SPAN("lazy"); });
  }();
  {
    TELLTALE_SPAN("waiter");
    lazy.get();
  }
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "eager").parent, named(spans, "caller").id);
  EXPECT_EQ(named(spans, "any").parent, named(spans, "caller").id);
  EXPECT_EQ(named(spans, "lazy").parent, named(spans, "asker").id);
}

}  // namespace
