// Asio: handlers, strands, executors and coroutines that keep the context of whoever started them.
#include <asio.hpp>
#include <telltale/core/asio.hpp>

#include "recorded.hpp"

TELLTALE_MODULE("test::asio");

using telltale::traced;
using telltale::traced_executor;
using telltale::testing::named;
using telltale::testing::recorded;

namespace {

using namespace std::chrono_literals;

TEST(Asio, RunsAHandlerUnderTheContextOfWhoStartedTheOperation) {
  recorded r;
  asio::io_context io;
  asio::steady_timer timer(io, 1ms);
  {
    TELLTALE_SPAN("caller");
    timer.async_wait(traced([](const std::error_code&) { TELLTALE_SPAN("handler"); }));
  }
  {
    TELLTALE_SPAN("loop");
    io.run();
  }
  EXPECT_FALSE(telltale::current_context().span);
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "handler").parent, named(spans, "caller").id);
}

TEST(Asio, KeepsTheStrandOfAHandler) {
  recorded r;
  asio::io_context io;
  asio::strand<asio::io_context::executor_type> strand(io.get_executor());
  asio::steady_timer timer(io, 1ms);
  bool in_strand = false;
  timer.async_wait(traced(
      asio::bind_executor(strand, [&](const std::error_code&) { in_strand = strand.running_in_this_thread(); })));
  io.run();
  EXPECT_TRUE(in_strand);
}

TEST(Asio, GivesPostedWorkTheContextOfWhoPostedIt) {
  recorded r;
  asio::thread_pool pool(2);
  {
    TELLTALE_SPAN("caller");
    asio::post(traced_executor(pool.get_executor()), [] { TELLTALE_SPAN("posted"); });
    asio::post(pool, telltale::bind([] { TELLTALE_SPAN("bound"); }));
  }
  pool.join();
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "posted").parent, named(spans, "caller").id);
  EXPECT_EQ(named(spans, "bound").parent, named(spans, "caller").id);
}

#if defined(ASIO_HAS_CO_AWAIT)  // Asio 1.22 doesn't see that clang has coroutines

asio::awaitable<void> wait_twice(std::string_view expected) {
  const telltale::context mine = telltale::current_context();
  EXPECT_TRUE(mine.span) << expected;
  TELLTALE_SPAN_AS(s, info, "across");
  const telltale::context inside = telltale::current_context();
  for (int i = 0; i < 2; ++i) {
    asio::steady_timer timer(co_await asio::this_coro::executor, 2ms);
    co_await timer.async_wait(traced(asio::use_awaitable));
    EXPECT_EQ(telltale::current_context(), inside);
  }
  TELLTALE_SPAN("inside");
}

TEST(Asio, KeepsTheContextOfCoroutinesThatTakeTurns) {
  recorded r;
  asio::thread_pool pool(2);
  {
    TELLTALE_SPAN("first");
    asio::co_spawn(traced_executor(pool.get_executor()), wait_twice("first"), asio::detached);
  }
  {
    TELLTALE_SPAN("second");
    asio::co_spawn(traced_executor(pool.get_executor()), wait_twice("second"), asio::detached);
  }
  pool.join();
  const auto spans = r.spans();
  std::vector<telltale::span_id> parents;
  for (const auto& s : spans) {
    if (s.name == "across") parents.push_back(s.parent);
    if (s.name == "inside") {
      const auto around = std::find_if(spans.begin(), spans.end(), [&](const auto& o) { return o.id == s.parent; });
      ASSERT_NE(around, spans.end());
      EXPECT_EQ(around->name, "across");
      EXPECT_EQ(around->trace, s.trace);
    }
  }
  ASSERT_EQ(parents.size(), 2u);
  EXPECT_NE(parents[0], parents[1]);
  for (const telltale::span_id p : parents) {
    EXPECT_TRUE(p == named(spans, "first").id || p == named(spans, "second").id);
  }
}

#else

TEST(Asio, KeepsTheContextOfCoroutinesThatTakeTurns) {
  GTEST_SKIP() << "this Asio finds no coroutines with this compiler";
}

#endif

}  // namespace
