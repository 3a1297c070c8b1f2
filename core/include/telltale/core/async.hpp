// std::async under the caller's context:
//
//   auto points = telltale::async(std::launch::async, load, path);    // load's spans are below the current one
//
// A deferred call runs under it as well, on whichever thread waits for it.
#pragma once

#include <functional>
#include <future>
#include <telltale/core/context.hpp>
#include <type_traits>
#include <utility>

namespace telltale {

template <class F, class... A>
  requires std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>
[[nodiscard]] auto async(std::launch policy, F&& f, A&&... arguments) {
  return std::async(
      policy,
      [c = current_context()](std::decay_t<F> g, std::decay_t<A>... a) -> decltype(auto) {
        const with_context guard{c};
        return std::invoke(std::move(g), std::move(a)...);
      },
      std::forward<F>(f), std::forward<A>(arguments)...);
}

template <class F, class... A>
  requires(!std::is_same_v<std::decay_t<F>, std::launch> && std::is_invocable_v<std::decay_t<F>, std::decay_t<A>...>)
[[nodiscard]] auto async(F&& f, A&&... arguments) {
  return telltale::async(std::launch::async | std::launch::deferred, std::forward<F>(f), std::forward<A>(arguments)...);
}

}  // namespace telltale
