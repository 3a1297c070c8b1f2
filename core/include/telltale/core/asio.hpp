// Asio (stand-alone, 1.22 or later): handlers, coroutines and executors that carry the context. Include it where
// <asio.hpp> is at hand; core itself needs no Asio.
//
//   timer.async_wait(telltale::traced([](std::error_code) { … }));          // runs under the caller's context
//   co_await timer.async_wait(telltale::traced(asio::use_awaitable));        // goes on under its own
//   asio::co_spawn(telltale::traced_executor(pool.get_executor()), serve(), asio::detached);
//   asio::post(telltale::traced_executor(io.get_executor()), work);          // like bound_executor
//
// traced(token) keeps the context of where the operation is started and installs it while the completion handler runs;
// a coroutine that is resumed by it goes on under the context it was suspended in, so spans may live across co_await.
// The handler keeps its associated executor (strands), allocator and cancellation slot.
#pragma once

#include <asio/associator.hpp>
#include <asio/async_result.hpp>
#include <asio/execution.hpp>
#include <asio/prefer.hpp>
#include <asio/query.hpp>
#include <asio/require.hpp>
#include <telltale/core/context.hpp>
#include <type_traits>
#include <utility>

namespace telltale {

template <class Token>
struct traced_token {
  Token token;
};

template <class Token>
auto traced(Token&& token) {
  return traced_token<std::decay_t<Token>>{std::forward<Token>(token)};
}

// An executor whose work runs under the context of whoever gave it.
template <class Executor>
class traced_executor {
 public:
  explicit traced_executor(Executor e) noexcept : inner_(std::move(e)) {}

  template <class F>
  void execute(F&& f) const {
    asio::execution::execute(inner_, bind(std::forward<F>(f)));
  }

  template <class P>
    requires asio::can_query<const Executor&, P>::value
  decltype(auto) query(const P& p) const noexcept(asio::is_nothrow_query<const Executor&, P>::value) {
    return asio::query(inner_, p);
  }
  template <class P>
    requires asio::can_require<const Executor&, P>::value
  auto require(const P& p) const {
    return traced_executor<std::decay_t<decltype(asio::require(std::declval<const Executor&>(), p))>>(
        asio::require(inner_, p));
  }
  template <class P>
    requires asio::can_prefer<const Executor&, P>::value
  auto prefer(const P& p) const {
    return traced_executor<std::decay_t<decltype(asio::prefer(std::declval<const Executor&>(), p))>>(
        asio::prefer(inner_, p));
  }

  const Executor& inner() const noexcept { return inner_; }
  friend bool operator==(const traced_executor& a, const traced_executor& b) noexcept { return a.inner_ == b.inner_; }
  friend bool operator!=(const traced_executor& a, const traced_executor& b) noexcept { return !(a == b); }

 private:
  Executor inner_;
};

}  // namespace telltale

namespace asio {

template <class Token, class Signature>
class async_result<telltale::traced_token<Token>, Signature> {
 public:
  template <class Initiation, class Traced, class... A>
  static auto initiate(Initiation&& initiation, Traced&& traced, A&&... arguments) {
    auto start = [c = telltale::current_context(), initiation = std::forward<Initiation>(initiation)](
                     auto&& handler, auto&&... a) mutable {
      std::move(initiation)(telltale::bind(c, std::forward<decltype(handler)>(handler)),
                            std::forward<decltype(a)>(a)...);
    };
    return asio::async_initiate<Token, Signature>(std::move(start), traced.token, std::forward<A>(arguments)...);
  }
};

// What is associated with a bound handler is what is associated with the handler in it.
template <template <class, class> class Associator, class F, class Default>
struct associator<Associator, telltale::detail::bound<F>, Default> : Associator<F, Default> {
  static auto get(const telltale::detail::bound<F>& b) noexcept { return Associator<F, Default>::get(b.callable()); }
  static auto get(const telltale::detail::bound<F>& b, const Default& d) noexcept {
    return Associator<F, Default>::get(b.callable(), d);
  }
};

}  // namespace asio
