// Spans: parents, order, status, links, events, and ending elsewhere.
#include <optional>
#include <set>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::span");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

TEST(Spans, FormATreeOfOneTrace) {
  recorded r;
  {
    TELLTALE_SPAN("root");
    {
      TELLTALE_SPAN("first");
      TELLTALE_SPAN("inner");
    }
    TELLTALE_SPAN("second");
  }
  {
    TELLTALE_SPAN("other root");
  }
  const auto spans = r.spans();
  ASSERT_EQ(spans.size(), 5u);
  const auto& root = named(spans, "root");
  EXPECT_FALSE(root.parent);
  EXPECT_TRUE(root.trace);
  EXPECT_EQ(named(spans, "first").parent, root.id);
  EXPECT_EQ(named(spans, "inner").parent, named(spans, "first").id);
  EXPECT_EQ(named(spans, "second").parent, root.id);
  for (const char* name : {"first", "inner", "second"}) EXPECT_EQ(named(spans, name).trace, root.trace);
  EXPECT_FALSE(named(spans, "other root").parent);
  EXPECT_NE(named(spans, "other root").trace, root.trace);
}

TEST(Spans, HaveTimesThatNest) {
  recorded r;
  {
    TELLTALE_SPAN("outer");
    TELLTALE_SPAN("inner");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const auto spans = r.spans();
  const auto& outer = named(spans, "outer");
  const auto& inner = named(spans, "inner");
  EXPECT_LE(outer.begin_ns, inner.begin_ns);
  EXPECT_GE(outer.end_ns, inner.end_ns);
  EXPECT_GE(inner.duration_ns(), 2'000'000);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  EXPECT_LT(std::abs(std::chrono::nanoseconds(now).count() - outer.end_ns), 60'000'000'000);
}

TEST(Spans, SayModuleLevelAndStatus) {
  recorded r(telltale::options{.trace = "trace"});
  {
    TELLTALE_DEBUG_SPAN("of debug");
    TELLTALE_TRACE_SPAN("of trace");
    TELLTALE_SPAN_AS(s, warn, "failing");
    s.fail("truncated_key");
    s.kind(telltale::span_kind::server);
  }
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "of debug").level, telltale::level::debug);
  EXPECT_EQ(named(spans, "of trace").level, telltale::level::trace);
  const auto& failing = named(spans, "failing");
  EXPECT_EQ(failing.level, telltale::level::warn);
  EXPECT_EQ(failing.module, "test::span");
  EXPECT_TRUE(failing.failed);
  EXPECT_EQ(text_of(failing.find("error.type")), "truncated_key");
  EXPECT_FALSE(named(spans, "of debug").failed);
}

TEST(Spans, LinkToOthersWithAKind) {
  recorded r;
  telltale::context target;
  {
    TELLTALE_SPAN_AS(first, info, "first attempt");
    target = first.get_context();
  }
  {
    TELLTALE_SPAN_AS(second, info, "second attempt");
    second.link(target, telltale::link_kind::retry_of);
    second.link(target);
  }
  const auto spans = r.spans();
  const auto& links = named(spans, "second attempt").links;
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].span, named(spans, "first attempt").id);
  EXPECT_EQ(links[0].trace, named(spans, "first attempt").trace);
  EXPECT_EQ(links[0].kind, telltale::link_kind::retry_of);
  EXPECT_EQ(links[1].kind, telltale::link_kind::related);
}

TEST(Spans, CarryEvents) {
  struct events final : telltale::sink {
    void on_span(const telltale::span_view& s) override {
      for (const auto& e : s.events) {
        seen.push_back(e.site->name + "/" + e.attributes.at(0).key.data() + "=" +
                       std::to_string(static_cast<std::int64_t>(e.attributes.at(0).bits)));
        EXPECT_GE(e.time_ns, s.begin_ns);
        EXPECT_LE(e.time_ns, s.end_ns);
      }
    }
    std::vector<std::string> seen;
  };
  recorded r;
  const auto sink = std::make_shared<events>();
  telltale::add_sink(sink);
  {
    TELLTALE_SPAN_AS(s, info, "with events");
    TELLTALE_EVENT(s, "retried", "attempt"_a = 2);
    TELLTALE_EVENT(s, "gave up", "after"_a = 3);
  }
  telltale::remove_sink(sink);
  EXPECT_EQ(sink->seen, (std::vector<std::string>{"retried/attempt=2", "gave up/after=3"}));
}

TEST(Spans, MayEndOnAnotherThreadAndFreeTheirSlot) {
  recorded r;
  for (int round = 0; round < 200; ++round) {
    struct late_end {
      telltale::detail::open_slot* slot;
    };
    std::optional<std::thread> other;
    {
      // What a coroutine does: begin here, end there.
      static constexpr telltale::site_description d{
          "elsewhere", "test", __FILE__, 1, telltale::level::info, telltale::site_kind::span};
      static constinit telltale::site site{d};
      ASSERT_TRUE(site.on(nullptr, 0));
      const telltale::context former = telltale::current_context();
      const telltale::detail::opening o = telltale::detail::open(site, 0);
      telltale::detail::opened(o);
      telltale::exchange_context(former);
      other.emplace([o] { telltale::detail::close(o.slot); });
    }
    other->join();
  }
  EXPECT_EQ(r.spans().size(), 200u);
  EXPECT_EQ(telltale::stats().open_spans, 0u);
}

TEST(Spans, HaveIdsThatNeverRepeat) {
  recorded r;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        TELLTALE_SPAN("one of many");
      }
    });
  }
  for (auto& t : threads) t.join();
  std::set<std::uint64_t> ids;
  const auto spans = r.spans();
  for (const auto& s : spans) ids.insert(s.id.value);
  EXPECT_EQ(spans.size(), 2000u);
  EXPECT_EQ(ids.size(), 2000u);
  EXPECT_EQ(ids.count(0), 0u);
}

TEST(Spans, OfManyThreadsArriveUnderTheirThreadsName) {
  recorded r;
  for (int i = 0; i < 64; ++i) {
    std::thread([i] {
      telltale::name_thread("worker-" + std::to_string(i));
      TELLTALE_SPAN("single");
    }).join();
  }
  const auto spans = r.spans();
  std::set<std::string> names;
  for (const auto& s : spans) names.insert(s.thread);
  EXPECT_EQ(spans.size(), 64u);
  EXPECT_EQ(names.size(), 64u);
  EXPECT_EQ(names.count("worker-63"), 1u);
}

TEST(Spans, DeepNestingTakesAsManySlotsAsItNeeds) {
  recorded r;
  struct nest {
    static void down(int depth) {
      TELLTALE_SPAN("level", "depth"_a = depth);
      if (depth > 0) down(depth - 1);
    }
  };
  nest::down(999);
  const auto spans = r.spans();
  ASSERT_EQ(spans.size(), 1000u);
  const telltale::trace_tree tree(spans);
  ASSERT_EQ(tree.roots().size(), 1u);
  std::size_t depth = 0;
  for (std::size_t at = tree.roots()[0]; !tree.children(at).empty(); at = tree.children(at)[0]) ++depth;
  EXPECT_EQ(depth, 999u);
}

TEST(Spans, OpenForASecondAreAnnouncedOnce) {
  struct open_ones final : telltale::sink {
    void on_open_span(const telltale::span_view& s) override {
      names.emplace_back(s.site.name);
      EXPECT_GE(s.end_ns - s.begin_ns, 1'000'000'000);
      EXPECT_EQ(s.attributes.size(), 1u);
    }
    std::vector<std::string> names;
  };
  recorded r;
  const auto sink = std::make_shared<open_ones>();
  telltale::add_sink(sink);
  {
    TELLTALE_SPAN("long", "n"_a = 1);
    TELLTALE_SPAN("long child", "n"_a = 2);
    std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  }
  telltale::remove_sink(sink);
  std::sort(sink->names.begin(), sink->names.end());
  EXPECT_EQ(sink->names, (std::vector<std::string>{"long", "long child"}));
}

TEST(Spans, ThatOverflowTheSlotsAreCountedAndPassTheirParentOn) {
  recorded r;
  const auto before = telltale::stats().dropped[static_cast<std::size_t>(telltale::drop_reason::too_many_open)];
  struct nest {
    static int down(int depth) {
      const telltale::context parent = telltale::current_context();
      TELLTALE_SPAN_AS(s, info, "level");
      if (!s) {
        EXPECT_EQ(telltale::current_context(), parent);
        return 1;
      }
      return depth > 0 ? down(depth - 1) : 0;
    }
  };
  std::thread t([] {
    // A stack large enough isn't a test's business: open slots directly.
    static constexpr telltale::site_description d{
        "held", "test", __FILE__, 1, telltale::level::info, telltale::site_kind::span};
    static constinit telltale::site site{d};
    ASSERT_TRUE(site.on(nullptr, 0));
    std::vector<telltale::detail::open_slot*> held;
    for (;;) {
      const telltale::detail::opening o = telltale::detail::open(site, 0);
      if (o.slot == nullptr) break;
      telltale::detail::opened(o);
      held.push_back(o.slot);
    }
    EXPECT_GT(held.size(), 50'000u);
    EXPECT_EQ(nest::down(3), 1);
    for (auto* slot : held) telltale::detail::close(slot);
  });
  t.join();
  telltale::flush();
  EXPECT_EQ(telltale::stats().dropped[static_cast<std::size_t>(telltale::drop_reason::too_many_open)], before + 2);
  EXPECT_EQ(telltale::stats().open_spans, 0u);
}

}  // namespace
