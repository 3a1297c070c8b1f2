// Which traces are recorded: by every sampler, alike on every thread and in every process, and whatever it says where
// somebody forces it.
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <telltale/core/async.hpp>
#include <telltale/core/propagation.hpp>
#include <telltale/core/sampling.hpp>
#include <thread>

#include "recorded.hpp"
#include "support/process.hpp"

TELLTALE_MODULE("test::sampling");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;

namespace {

using headers = std::map<std::string, std::string>;

telltale::options sampler(const std::string& name, double ratio = 1) {
  telltale::options o;
  o.sampler = name;
  o.sample_ratio = ratio;
  o.overflow = telltale::overflow_policy::block;
  return o;
}
headers from_caller(bool sampled, telltale::trace_id trace = {0x0af7651916cd43ddu, 0x8448eb211c80319cu}) {
  return {{"traceparent", telltale::to_string(telltale::traceparent{
                              trace, {0xb7ad6b7169203331u}, static_cast<std::uint8_t>(sampled ? 1 : 0)})}};
}
telltale::trace_id random_trace(std::uint64_t i) {
  const auto mixed = [](std::uint64_t x) {
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
  };
  return {mixed(2 * i + 1), mixed(2 * i + 2)};
}

// Serves one request and asks the next service; what that is sent.
headers serve(const headers& request) {
  const telltale::remote_scope from{telltale::extract(request)};
  TELLTALE_SPAN("serve");
  TELLTALE_SPAN("below");
  headers next;
  telltale::inject(next);
  return next;
}

TEST(Sampling, OfATraceFromElsewhereIsItsCallersDecisionOnlyUnderParentBased) {
  struct expectation {
    std::string sampler;
    double ratio;
    bool recorded_if_sampled;
    bool recorded_if_not;
  };
  for (const expectation& e :
       {expectation{"parentbased_always_on", 1, true, false}, expectation{"parentbased_always_off", 1, true, false},
        expectation{"parentbased_traceidratio", 0, true, false},
        expectation{"parentbased_traceidratio", 1, true, false}, expectation{"always_on", 1, true, true},
        expectation{"always_off", 1, false, false}, expectation{"traceidratio", 1, true, true},
        expectation{"traceidratio", 0, false, false}}) {
    for (const bool sampled : {true, false}) {
      SCOPED_TRACE(e.sampler + " " + std::to_string(e.ratio) + (sampled ? ", sampled" : ", not sampled"));
      const bool expected = sampled ? e.recorded_if_sampled : e.recorded_if_not;
      recorded r(sampler(e.sampler, e.ratio));
      const headers request = from_caller(sampled);
      const headers next = serve(request);
      EXPECT_FALSE(telltale::current_context().trace);
      const auto spans = r.spans();
      ASSERT_EQ(spans.size(), expected ? 2u : 0u);
      // What goes on is the decision that was made here, under the same trace.
      const auto sent = telltale::parse_traceparent(next.at("traceparent"));
      ASSERT_TRUE(sent);
      EXPECT_EQ(sent->trace, telltale::parse_traceparent(request.at("traceparent"))->trace);
      EXPECT_EQ(sent->flags, expected ? 1 : 0);
      if (expected) {
        EXPECT_EQ(named(spans, "serve").parent, telltale::span_id{0xb7ad6b7169203331u});
        EXPECT_EQ(sent->parent, named(spans, "below").id);
      }
    }
  }
}

TEST(Sampling, OfATraceThatBeginsHereIsTheSamplers) {
  for (const auto& [name, ratio, expected] :
       {std::tuple{"parentbased_always_on", 1.0, true}, std::tuple{"parentbased_always_off", 1.0, false},
        std::tuple{"parentbased_traceidratio", 1.0, true}, std::tuple{"parentbased_traceidratio", 0.0, false},
        std::tuple{"always_on", 1.0, true}, std::tuple{"always_off", 1.0, false}, std::tuple{"traceidratio", 1.0, true},
        std::tuple{"traceidratio", 0.0, false}}) {
    recorded r(sampler(name, ratio));
    const headers next = serve({});
    EXPECT_EQ(r.spans().size(), expected ? 2u : 0u) << name << ratio;
    const auto sent = telltale::parse_traceparent(next.at("traceparent"));
    ASSERT_TRUE(sent) << name << ratio;
    EXPECT_EQ(sent->flags, expected ? 1 : 0) << name << ratio;
  }
}

TEST(Sampling, OfATraceThatIsLeftOutHoldsOnOtherThreadsAndInTheServiceThatIsAsked) {
  recorded r(sampler("always_off"));
  headers next;
  {
    TELLTALE_SPAN("root");
    telltale::inject(next);
    std::thread(telltale::bind([] { TELLTALE_SPAN("on a thread"); })).join();
    telltale::async([] { TELLTALE_SPAN("async"); }).get();
    TELLTALE_INFO("a line is never left out");
  }
  EXPECT_TRUE(r.spans().empty());
  EXPECT_EQ(r.lines().size(), 1u);
  recorded asked(sampler("parentbased_always_on"));
  serve(next);
  EXPECT_TRUE(asked.spans().empty());
  {
    TELLTALE_SPAN("a trace of its own");
  }
  EXPECT_EQ(asked.spans().size(), 1u);
}

// The rule of OpenTelemetry's SDKs, on which ours must agree with them about a trace: the last eight bytes, shifted
// right by one, are below the share of 2^63.
bool of_the_sdks(telltale::trace_id t, double ratio) {
  return t.low >> 1 < static_cast<std::uint64_t>(ratio * std::ldexp(1.0, 63));
}

TEST(Sampling, ByRatioTakesThatShareAndTheSameTracesOnEveryThread) {
  constexpr int traces = 200'000;
  for (const double ratio : {0.001, 0.25, 0.5, 0.99}) {
    recorded r(sampler("traceidratio", ratio));
    int taken = 0;
    for (int i = 0; i < traces; ++i) {
      telltale::context remote;
      remote.trace = random_trace(static_cast<std::uint64_t>(i));
      remote.span = {1};
      const bool here = (telltale::continue_trace(remote).flags & telltale::flag_not_recorded) == 0;
      ASSERT_EQ(here, of_the_sdks(remote.trace, ratio));
      taken += here ? 1 : 0;
    }
    const double deviation = std::sqrt(traces * ratio * (1 - ratio));
    EXPECT_NEAR(taken, traces * ratio, 5 * deviation) << ratio;
  }

  recorded r(sampler("traceidratio", 0.3));
  std::vector<std::set<std::uint64_t>> by_thread(4);
  std::vector<std::thread> threads;
  for (auto& mine : by_thread) {
    threads.emplace_back([&mine] {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const telltale::remote_scope from{telltale::extract(from_caller(i % 2 == 0, random_trace(i)))};
        TELLTALE_SPAN_AS(s, info, "serve");
        if (telltale::current_context().span) mine.insert(i);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(by_thread[0].size(), 40u);
  EXPECT_LT(by_thread[0].size(), 140u);
  for (const auto& other : by_thread) EXPECT_EQ(other, by_thread[0]);
  EXPECT_EQ(r.spans().size(), 4 * by_thread[0].size());
}

TEST(Sampling, ByRatioIsTheSameInEveryProcess) {
  for (std::uint64_t i = 0; i < 12; ++i) {
    const telltale::trace_id trace = random_trace(i);
    // Our own process's answer, and the child's, whose caller says the contrary.
    const auto child =
        telltale::testing::run(CHILD, {},
                               {{"TELLTALE_SINKS", "json:stdout"},
                                {"OTEL_TRACES_SAMPLER", "traceidratio"},
                                {"OTEL_TRACES_SAMPLER_ARG", "0.5"},
                                {"TRACEPARENT", from_caller(!of_the_sdks(trace, 0.5), trace)["traceparent"]}});
    ASSERT_EQ(child.code, 0) << child;
    EXPECT_EQ(telltale::testing::count_of(child.out, "\"complete\""), of_the_sdks(trace, 0.5) ? 1u : 0u) << child;
    EXPECT_EQ(telltale::testing::count_of(child.out, "\"message\":\"at work\""), 1u) << child;
    EXPECT_EQ(child.err, "");
  }
}

TEST(Sampling, ByRatioTakesThatShareOfWhatBeginsHereWithoutRunningInStepWithIt) {
  constexpr int traces = 20'000;
  constexpr double ratio = 0.25;
  recorded r(sampler("traceidratio", ratio));
  const std::uint64_t left_out_before = telltale::stats().left_out;
  int taken = 0;
  int changes = 0;
  bool last = false;
  for (int i = 0; i < traces; ++i) {
    TELLTALE_SPAN("root");
    const bool now = static_cast<bool>(telltale::current_context().span);
    taken += now ? 1 : 0;
    changes += now != last ? 1 : 0;
    last = now;
  }
  EXPECT_EQ(r.spans().size(), static_cast<std::size_t>(taken));
  const double deviation = std::sqrt(traces * ratio * (1 - ratio));
  EXPECT_NEAR(taken, traces * ratio, 6 * deviation);
  EXPECT_NEAR(changes, traces * 2 * ratio * (1 - ratio), 8 * deviation);
  EXPECT_EQ(telltale::stats().left_out - left_out_before, static_cast<std::uint64_t>(traces - taken));
}

TEST(Sampling, ForcedIsRecordedWhateverTheSamplerSays) {
  for (const char* name : {"always_off", "parentbased_always_off", "parentbased_always_on", "traceidratio"}) {
    recorded r(sampler(name, 0));
    {
      const telltale::with_context force{telltale::forced_trace()};
      EXPECT_EQ(telltale::parse_traceparent(serve({}).at("traceparent"))->flags, 1) << name;
      // A trace from elsewhere too, though its caller left it out.
      EXPECT_EQ(telltale::parse_traceparent(serve(from_caller(false)).at("traceparent"))->flags, 1) << name;
    }
    EXPECT_EQ(r.spans().size(), 4u) << name;
    // Not what comes after it, nor what a thread serves meanwhile that is in a forced trace.
    serve(from_caller(false));
    {
      const telltale::with_context force{telltale::forced_trace()};
      TELLTALE_SPAN("forced");
      serve(from_caller(false));
    }
    EXPECT_EQ(r.spans().size(), 1u) << name;
  }
}

TEST(Sampling, ThatCannotBeReadIsAnErrorThatSaysWhich) {
  struct malformed {
    std::string sampler;
    std::string argument;
    std::string said;
  };
  for (const malformed& m :
       {malformed{"always", "", "OTEL_TRACES_SAMPLER: \"always\" is no sampler"},
        malformed{"parentbased", "", "OTEL_TRACES_SAMPLER: \"parentbased\" is no sampler"},
        malformed{"parentbased_", "", "OTEL_TRACES_SAMPLER: \"parentbased_\" is no sampler"},
        malformed{"ALWAYS_ON", "", "OTEL_TRACES_SAMPLER: \"ALWAYS_ON\" is no sampler"},
        malformed{"parentbased_jaeger_remote", "endpoint=x", "OTEL_TRACES_SAMPLER: \"parentbased_jaeger_remote\""},
        malformed{"traceidratio", "half", "OTEL_TRACES_SAMPLER_ARG: \"half\" is no share"},
        malformed{"traceidratio", "1.5", "OTEL_TRACES_SAMPLER_ARG: \"1.5\" is no share"},
        malformed{"traceidratio", "-0.1", "OTEL_TRACES_SAMPLER_ARG: \"-0.1\" is no share"},
        malformed{"traceidratio", "nan", "OTEL_TRACES_SAMPLER_ARG: \"nan\" is no share"},
        malformed{"traceidratio", "inf", "OTEL_TRACES_SAMPLER_ARG: \"inf\" is no share"},
        malformed{"traceidratio", "0.5x", "OTEL_TRACES_SAMPLER_ARG: \"0.5x\" is no share"},
        malformed{"parentbased_traceidratio", "25%", "OTEL_TRACES_SAMPLER_ARG: \"25%\" is no share"},
        malformed{"traceidratio", "1e999", "OTEL_TRACES_SAMPLER_ARG: \"1e999\" is no share"}}) {
    ::setenv("OTEL_TRACES_SAMPLER", m.sampler.c_str(), 1);
    ::setenv("OTEL_TRACES_SAMPLER_ARG", m.argument.c_str(), 1);
    const auto o = telltale::options::from_environment();
    ASSERT_FALSE(o) << m.sampler << m.argument;
    EXPECT_EQ(o.error().message.find(m.said), 0u) << o.error().message;
  }
  for (const auto& [name, argument] : {std::pair{"traceidratio", "1e-3"}, std::pair{"parentbased_traceidratio", "0"},
                                       std::pair{"traceidratio", ""}, std::pair{"always_on", "ignored"}}) {
    ::setenv("OTEL_TRACES_SAMPLER", name, 1);
    ::setenv("OTEL_TRACES_SAMPLER_ARG", argument, 1);
    const auto o = telltale::options::from_environment();
    ASSERT_TRUE(o) << o.error().message;
    EXPECT_EQ(o->sampler, name);
    EXPECT_EQ(o->sample_ratio, std::string_view(argument) == "1e-3" ? 0.001
                               : std::string_view(argument) == "0"  ? 0
                                                                    : 1);
  }
  ::unsetenv("OTEL_TRACES_SAMPLER");
  ::unsetenv("OTEL_TRACES_SAMPLER_ARG");
  for (const double bad : {-0.5, 2.0, std::nan("")}) {
    telltale::options o = sampler("traceidratio", bad);
    o.sinks = "none";
    EXPECT_FALSE(telltale::start(o)) << bad;
  }
  // A program that never calls start() gets one line, and the default.
  const auto child =
      telltale::testing::run(CHILD, {}, {{"TELLTALE_SINKS", "json:stdout"}, {"OTEL_TRACES_SAMPLER", "sometimes"}});
  EXPECT_EQ(child.code, 0);
  EXPECT_EQ(telltale::testing::count_of(child.err, "OTEL_TRACES_SAMPLER: \"sometimes\""), 1u) << child;
  EXPECT_EQ(telltale::testing::count_of(child.out, "\"complete\""), 1u) << child;
}

}  // namespace
