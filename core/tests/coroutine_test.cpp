// The current span is right before and after every suspension, also on another thread.
#include <condition_variable>
#include <coroutine>
#include <deque>
#include <latch>
#include <optional>
#include <telltale/core/coroutine.hpp>
#include <thread>

#include "recorded.hpp"

TELLTALE_MODULE("test::coroutine");

using namespace telltale::literals;
using telltale::task;
using telltale::testing::named;
using telltale::testing::recorded;
using telltale::testing::text_of;

namespace {

// Threads that resume what is handed to them; two, so that a coroutine hops between them.
class hoppers {
 public:
  explicit hoppers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) threads_.emplace_back([this] { run(); });
  }
  ~hoppers() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    for (auto& t : threads_) t.join();
  }
  hoppers(const hoppers&) = delete;
  hoppers& operator=(const hoppers&) = delete;

  void post(std::coroutine_handle<> h) {
    {
      const std::lock_guard lock(mutex_);
      ready_.push_back(h);
    }
    changed_.notify_one();
  }
  // co_await pool.hop(): goes on on one of the threads.
  auto hop() {
    struct awaiter {
      hoppers& pool;
      bool await_ready() const noexcept { return false; }
      void await_suspend(std::coroutine_handle<> h) const { pool.post(h); }
      void await_resume() const noexcept {}
    };
    return awaiter{*this};
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stop_ || !ready_.empty(); });
      if (ready_.empty()) return;
      const auto h = ready_.front();
      ready_.pop_front();
      lock.unlock();
      // Whatever ran here before must not be seen by the coroutine, nor the coroutine by what runs next.
      EXPECT_EQ(telltale::current_context(), telltale::context{});
      h.resume();
      EXPECT_EQ(telltale::current_context(), telltale::context{});
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::coroutine_handle<>> ready_;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

// Counts down when `inner` is through. The frame itself ends a moment later: it may be looked at and destroyed when the
// threads are gone.
template <class T>
task<void> signalling(task<T> inner, std::latch& done) {
  co_await std::move(inner);
  done.count_down();
}

task<int> leaf(hoppers& pool, int n) {
  TELLTALE_SPAN_AS(s, info, "leaf", "n"_a = n);
  const telltale::context mine = telltale::current_context();
  for (int i = 0; i < 3; ++i) {
    co_await pool.hop();
    EXPECT_EQ(telltale::current_context(), mine);
  }
  co_return n;
}

task<void> middle(hoppers& pool) {
  TELLTALE_SPAN("middle");
  const telltale::context mine = telltale::current_context();
  int sum = 0;
  for (int i = 0; i < 5; ++i) {
    sum += co_await leaf(pool, i);
    EXPECT_EQ(telltale::current_context(), mine);
    TELLTALE_SPAN("between");
    co_await pool.hop();
  }
  EXPECT_EQ(sum, 10);
}

task<void> root(hoppers& pool) {
  TELLTALE_SCOPE("root", "job_id"_a = "c7");
  co_await pool.hop();
  co_await middle(pool);
  TELLTALE_INFO("done");
}

TEST(Coroutines, KeepTheirSpanAcrossThreads) {
  recorded r;
  {
    std::optional<hoppers> pool(2);
    std::latch done(1);
    task<void> all = signalling(root(*pool), done);
    const telltale::context before = telltale::current_context();
    all.start();
    EXPECT_EQ(telltale::current_context(), before);
    done.wait();
    pool.reset();
    EXPECT_TRUE(all.done());
  }
  const auto spans = r.spans();
  ASSERT_EQ(spans.size(), 12u);
  EXPECT_EQ(named(spans, "middle").parent, named(spans, "root").id);
  for (const auto& s : spans) {
    EXPECT_EQ(text_of(s.find("job_id")), "c7") << s.name;
    if (s.name == "leaf" || s.name == "between") {
      EXPECT_EQ(s.parent, named(spans, "middle").id);
    }
  }
  const auto lines = r.lines();
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].span, named(spans, "root").id);
  EXPECT_EQ(telltale::stats().open_spans, 0u);
}

TEST(Coroutines, ManyAtOnceDoNotMixTheirSpans) {
  recorded r;
  {
    std::optional<hoppers> pool(4);
    std::latch done(50);
    std::vector<task<void>> tasks;
    for (int i = 0; i < 50; ++i) {
      const auto job = [](hoppers& p, int n) -> task<void> {
        TELLTALE_SCOPE("job", "job_id"_a = n);
        for (int k = 0; k < 20; ++k) {
          TELLTALE_SPAN("step", "of"_a = n);
          co_await p.hop();
        }
      };
      tasks.push_back(signalling(job(*pool, i), done));
    }
    for (auto& t : tasks) t.start();
    done.wait();
    pool.reset();
    for (auto& t : tasks) EXPECT_TRUE(t.done());
  }
  std::size_t steps = 0;
  for (const auto& s : r.spans()) {
    if (s.name != "step") continue;
    ++steps;
    EXPECT_EQ(text_of(s.find("of")), text_of(s.find("job_id")));
  }
  EXPECT_EQ(steps, 1000u);
}

TEST(Coroutines, RunUnderTheSpanOfWhoeverAwaitsThem) {
  recorded r;
  const auto child = []() -> task<void> {
    TELLTALE_SPAN("child");
    co_return;
  };
  const auto parent = [&]() -> task<void> {
    auto made_early = child();  // made outside the span, awaited inside
    TELLTALE_SPAN("awaiting");
    co_await std::move(made_early);
  };
  auto t = parent();
  t.start();
  ASSERT_TRUE(t.done());
  const auto spans = r.spans();
  EXPECT_EQ(named(spans, "child").parent, named(spans, "awaiting").id);
}

TEST(Coroutines, ThrowWhereTheirResultIsAskedForAndEndTheirSpans) {
  recorded r;
  const auto failing = []() -> task<int> {
    TELLTALE_SPAN("failing");
    throw std::runtime_error("no");
    co_return 1;
  };
  const auto catching = [&]() -> task<void> {
    TELLTALE_SPAN("catching");
    const telltale::context mine = telltale::current_context();
    bool caught = false;
    try {
      co_await failing();
    } catch (const std::runtime_error&) {
      caught = true;
    }
    EXPECT_TRUE(caught);
    EXPECT_EQ(telltale::current_context(), mine);
  };
  auto t = catching();
  t.start();
  EXPECT_EQ(r.spans().size(), 2u);
  EXPECT_EQ(telltale::stats().open_spans, 0u);
}

// A promise of somebody else's making, with the mix-in: a generator-like coroutine that is resumed by hand.
struct by_hand {
  struct promise_type : telltale::traced_promise {
    by_hand get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    auto initial_suspend() noexcept {
      struct first {
        promise_type& promise;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<>) const noexcept { promise.started_by(telltale::current_context()); }
        void await_resume() const noexcept { promise.enter(); }
      };
      return first{*this};
    }
    auto final_suspend() noexcept {
      struct last {
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<promise_type> h) const noexcept { h.promise().leave(); }
        void await_resume() const noexcept {}
      };
      return last{};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
};

// Decides while suspending that it need not suspend.
struct maybe {
  bool suspend;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) const noexcept { return suspend; }
  void await_resume() const noexcept {}
};

TEST(Coroutines, OfAnotherPromiseTypeGetItFromTheMixIn) {
  recorded r;
  const auto body = []() -> by_hand {
    TELLTALE_SPAN("hand-made");
    const telltale::context mine = telltale::current_context();
    co_await maybe{false};
    EXPECT_EQ(telltale::current_context(), mine);
    co_await maybe{true};
    EXPECT_EQ(telltale::current_context(), mine);
  };
  auto c = body();
  {
    TELLTALE_SPAN("first resumer");
    const telltale::context here = telltale::current_context();
    c.handle.resume();
    EXPECT_EQ(telltale::current_context(), here);
  }
  std::thread([&] {
    c.handle.resume();
    EXPECT_EQ(telltale::current_context(), telltale::context{});
  }).join();
  EXPECT_TRUE(c.handle.done());
  c.handle.destroy();
  const auto spans = r.spans();
  EXPECT_FALSE(named(spans, "hand-made").parent) << "it belongs to whoever made it";
}

TEST(Coroutines, DestroyedHalfWayEndTheirSpans) {
  recorded r;
  {
    const auto stuck = []() -> task<void> {
      TELLTALE_SPAN("never finished");
      co_await std::suspend_always{};
    };
    auto t = stuck();
    t.start();
    EXPECT_FALSE(t.done());
    EXPECT_EQ(telltale::stats().open_spans, 1u);
  }
  EXPECT_EQ(r.spans().size(), 1u);
  EXPECT_EQ(telltale::stats().open_spans, 0u);
}

}  // namespace
