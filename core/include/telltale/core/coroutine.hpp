// Coroutines: the current span stays right across every suspension, also when the coroutine goes on elsewhere.
//
//   telltale::task<int> child();
//   telltale::task<int> parent() {
//     TELLTALE_SPAN("parent");           // lives across suspensions: the frame owns it
//     co_return co_await child() + 1;    // child's spans are below "parent"
//   }
//
// A coroutine that suspends takes its context with it and leaves the thread with the context it found there; one that
// resumes installs it again. `task` does this by itself. A promise type of your own gets it by deriving from
// telltale::traced_promise (the mix-in): call started_by() where it is started, enter() when its initial suspension
// ends and leave() at its final one; every co_await in between is wrapped by the mix-in.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <telltale/core/context.hpp>
#include <utility>

namespace telltale {

namespace detail {

template <class T>
decltype(auto) get_awaiter(T&& t) {
  if constexpr (requires { static_cast<T&&>(t).operator co_await(); }) {
    return static_cast<T&&>(t).operator co_await();
  } else if constexpr (requires { operator co_await(static_cast<T&&>(t)); }) {
    return operator co_await(static_cast<T&&>(t));
  } else {
    return static_cast<T&&>(t);
  }
}

}  // namespace detail

// What a promise must do so that its coroutine carries its context. Not thread-safe by itself: a coroutine runs on
// one thread at a time, and whoever resumes it elsewhere orders that.
class traced_promise {
 public:
  // Called when the coroutine gives up the thread: keeps its context, gives the thread back its own.
  void leave() noexcept { mine_ = exchange_context(outer_); }
  // Called when it gets a thread: the reverse.
  void enter() noexcept { outer_ = exchange_context(mine_); }
  // Called by whoever starts the coroutine, while its own context is still installed: the body begins under it.
  void started_by(const context& c) noexcept { mine_ = c; }

  // Wraps every awaited thing. Suspending leaves *before* the inner awaiter learns the handle, because from then on
  // another thread may already be running the coroutine.
  template <class Awaitable>
  auto await_transform(Awaitable&& awaitable) {
    return traced_awaiter<decltype(detail::get_awaiter(std::forward<Awaitable>(awaitable)))>{
        detail::get_awaiter(std::forward<Awaitable>(awaitable)), *this};
  }

 private:
  template <class Awaiter>
  struct traced_awaiter {
    Awaiter inner;
    traced_promise& promise;
    bool left = false;

    bool await_ready() { return inner.await_ready(); }

    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> h) {
      left = true;
      promise.leave();
      using suspended = decltype(inner.await_suspend(h));
      if constexpr (std::is_same_v<suspended, bool>) {
        if (inner.await_suspend(h)) return true;
        promise.enter();
        left = false;
        return false;
      } else {
        return inner.await_suspend(h);
      }
    }

    decltype(auto) await_resume() {
      if (left) promise.enter();
      return inner.await_resume();
    }
  };

  context mine_;
  context outer_;
};

// A lazily started coroutine with one result. Move-only; awaiting it starts it, and it runs under the context of
// whoever awaits. An exception of the body is thrown where the result is asked for.
template <class T = void>
class [[nodiscard]] task;

namespace detail {

class task_promise_base : public traced_promise {
 public:
  struct first_suspension {
    task_promise_base& promise;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept { promise.enter(); }
  };
  struct last_suspension {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> h) const noexcept {
      h.promise().leave();
      const std::coroutine_handle<> next = h.promise().continuation;
      return next ? next : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };

  first_suspension initial_suspend() noexcept { return {*this}; }
  last_suspension final_suspend() noexcept { return {}; }
  void unhandled_exception() noexcept { failure = std::current_exception(); }

  std::coroutine_handle<> continuation;
  std::exception_ptr failure;
};

template <class T>
class task_promise : public task_promise_base {
 public:
  task<T> get_return_object() noexcept;
  template <class U>
  void return_value(U&& v) {
    value_.emplace(std::forward<U>(v));
  }
  T take() {
    if (failure) std::rethrow_exception(failure);
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class task_promise<void> : public task_promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() noexcept {}
  void take() const {
    if (failure) std::rethrow_exception(failure);
  }
};

}  // namespace detail

template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;

  explicit task(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
  task(task&& o) noexcept : handle_(std::exchange(o.handle_, nullptr)) {}
  task& operator=(task&& o) noexcept {
    if (this != &o) {
      destroy();
      handle_ = std::exchange(o.handle_, nullptr);
    }
    return *this;
  }
  task(const task&) = delete;
  task& operator=(const task&) = delete;
  ~task() { destroy(); }

  auto operator co_await() && noexcept {
    struct awaiter {
      std::coroutine_handle<promise_type> handle;
      bool await_ready() const noexcept {  // runs before the awaiting coroutine gives its context back
        handle.promise().started_by(current_context());
        return false;
      }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<> continuation) const noexcept {
        handle.promise().continuation = continuation;
        return handle;
      }
      T await_resume() const { return handle.promise().take(); }
    };
    return awaiter{handle_};
  }

  // Runs it on this thread up to its first suspension; for a root that nobody awaits. The task must stay alive until
  // done() says so.
  void start() {
    handle_.promise().started_by(current_context());
    handle_.resume();
  }
  bool done() const noexcept { return handle_.done(); }
  // The result of a task that is done; throws what the body threw.
  T get() { return handle_.promise().take(); }

 private:
  void destroy() noexcept {
    if (handle_) handle_.destroy();
  }
  std::coroutine_handle<promise_type> handle_;
};

template <class T>
task<T> detail::task_promise<T>::get_return_object() noexcept {
  return task<T>{std::coroutine_handle<task_promise>::from_promise(*this)};
}
inline task<void> detail::task_promise<void>::get_return_object() noexcept {
  return task<void>{std::coroutine_handle<task_promise>::from_promise(*this)};
}

}  // namespace telltale
