// Context across threads, bound callables, executors.
#include <functional>
#include <future>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::context");

using namespace telltale::literals;
using telltale::testing::named;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

TEST(Context, IsEmptyOutsideASpanAndPutBackAfterIt) {
  recorded r;
  const telltale::context outside = telltale::current_context();
  EXPECT_FALSE(outside.span);
  {
    TELLTALE_SPAN_AS(s, info, "a");
    EXPECT_EQ(telltale::current_context(), s.get_context());
    const telltale::context in_a = telltale::current_context();
    {
      TELLTALE_SPAN("b");
      EXPECT_NE(telltale::current_context().span, in_a.span);
      EXPECT_EQ(telltale::current_context().trace, in_a.trace);
    }
    EXPECT_EQ(telltale::current_context(), in_a);
  }
  EXPECT_EQ(telltale::current_context(), outside);
}

TEST(Context, IsPutBackWhenAnExceptionPasses) {
  recorded r;
  const telltale::context outside = telltale::current_context();
  try {
    TELLTALE_SCOPE("outer", "job_id"_a = 1);
    TELLTALE_SPAN("inner");
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
    EXPECT_EQ(telltale::current_context(), outside);
  }
  EXPECT_EQ(r.spans().size(), 2u);
}

TEST(Context, BoundCallablesRunUnderTheirMakersSpan) {
  recorded r;
  {
    TELLTALE_SCOPE("job", "job_id"_a = "j1");
    std::thread(telltale::bind([] { TELLTALE_SPAN("on the other thread"); })).join();
    auto sum = std::async(std::launch::async, telltale::bind([](int a, int b) {
                            TELLTALE_SPAN("in async");
                            return a + b;
                          }),
                          2, 3);
    EXPECT_EQ(sum.get(), 5);
  }
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "on the other thread").parent, named(spans, "job").id);
  EXPECT_EQ(named(spans, "in async").parent, named(spans, "job").id);
  EXPECT_EQ(text_of(named(spans, "in async").find("job_id")), "j1");
}

TEST(Context, ABoundCallableLeavesTheThreadAsItFoundIt) {
  recorded r;
  std::function<void()> f;
  {
    TELLTALE_SPAN("maker");
    f = telltale::bind([] { EXPECT_TRUE(telltale::current_context().span); });
  }
  TELLTALE_SPAN("runner");
  const telltale::context mine = telltale::current_context();
  f();
  EXPECT_EQ(telltale::current_context(), mine);
}

// Runs what is posted on one thread, in order.
class small_pool {
 public:
  small_pool() : thread_([this] { run(); }) {}
  ~small_pool() {
    post(nullptr);
    thread_.join();
  }
  small_pool(const small_pool&) = delete;
  small_pool& operator=(const small_pool&) = delete;

  void post(std::function<void()> f) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(f));
    changed_.notify_one();
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !tasks_.empty(); });
      auto f = std::move(tasks_.front());
      tasks_.erase(tasks_.begin());
      lock.unlock();
      if (!f) return;
      f();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> tasks_;
  std::thread thread_;
};

TEST(Context, AnExecutorsTasksBelongToWhoPostedThem) {
  recorded r;
  {
    small_pool pool;
    const telltale::bound_executor executor(pool);
    {
      TELLTALE_SPAN("first poster");
      executor.post([] { TELLTALE_SPAN("first task"); });
    }
    {
      TELLTALE_SPAN("second poster");
      executor.post([] { TELLTALE_SPAN("second task"); });
    }
    executor.post([] { TELLTALE_SPAN("nobody's task"); });
  }
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "first task").parent, named(spans, "first poster").id);
  EXPECT_EQ(named(spans, "second task").parent, named(spans, "second poster").id);
  EXPECT_FALSE(named(spans, "nobody's task").parent);
}

TEST(Context, AReadyFuturesContinuationDoesNotLeaveItsSpanActive) {
  recorded r;
  const telltale::context before = telltale::current_context();
  auto ready = std::async(std::launch::deferred, telltale::bind([] { TELLTALE_SPAN("continuation"); }));
  ready.get();  // runs inline
  EXPECT_EQ(telltale::current_context(), before);
}

}  // namespace
