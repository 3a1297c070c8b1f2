// The macros in every place where a statement may stand. Compiled with many warnings as errors.
#include <telltale/core/telltale.h>

#include <telltale/core/coroutine.hpp>
#include <telltale/core/telltale.hpp>
// Twice.
#include <telltale/core/telltale.h>

#include <telltale/core/coroutine.hpp>
#include <telltale/core/telltale.hpp>

#include "hygiene.hpp"

TELLTALE_MODULE("shop");
using namespace telltale::literals;

namespace shop {
TELLTALE_MODULE("shop::outer");

namespace inner {
TELLTALE_MODULE("shop::outer::inner");
void speak() {
  TELLTALE_INFO("from the inner module");
}
}  // namespace inner

class till {
 public:
  explicit till(int coins) : coins_(coins) {
    TELLTALE_SPAN("till", "coins"_a = coins_);
    TELLTALE_SPAN("two in one block");
  }
  ~till() { TELLTALE_TRACE("closed with {coins}", "coins"_a = coins_); }
  till(const till&) = delete;
  till& operator=(const till&) = delete;
  int coins() const { return coins_; }

 private:
  int coins_;
};

template <class T, int N>
T times(T v) {
  TELLTALE_SPAN_AS(span, info, "times", "n"_a = N);
  TELLTALE_EVENT(span, "multiplied", "by"_a = N);
  span.set("v"_a = v);
  if (v < 0) span.fail("negative");
  return static_cast<T>(v * N);
}

telltale::task<int> child(int n) {
  TELLTALE_SPAN("child", "n"_a = n);
  co_return n;
}
telltale::task<int> parent(int n) {
  TELLTALE_SCOPE("parent", "job_id"_a = "j");
  TELLTALE_INFO("awaits {n}", "n"_a = n);
  co_return co_await child(n) + 1;
}

int branches(int n) {
  if (n > 0)
    TELLTALE_INFO("positive {n}", "n"_a = n);
  else if (n < 0)
    TELLTALE_WARN("negative");
  else
    TELLTALE_ERROR("zero");
  for (int i = 0; i < n; ++i) TELLTALE_TRACE("i", "i"_a = i);
  switch (n) {
    case 0:
      TELLTALE_DEBUG("none");
      break;
    case 1: {
      TELLTALE_DEBUG_SPAN("one");
      TELLTALE_TRACE_SPAN("one, closer");
      break;
    }
    default:
      TELLTALE_DEBUG("many");
  }
  const auto lambda = [n](int m) {
    TELLTALE_SPAN("lambda", "n"_a = n, "m"_a = m);
    return [&] {
      TELLTALE_INFO("nested {sum}", "sum"_a = n + m);
      return n + m;
    }();
  };
  const auto generic = [](auto v) {
    TELLTALE_INFO("generic {v}", "v"_a = v);
    return v;
  };
  return n > 1 ? (TELLTALE_INFO("in an expression"), lambda(1)) : generic(n);
}
}  // namespace shop

int main() {
  shop::inner::speak();
  const shop::till till(3);
  telltale::task<int> task = shop::parent(4);
  task.start();
  const int sum = shop::branches(0) + shop::branches(2) + shop::times<int, 2>(5) + task.get() + second(1) +
                  shop::detail::shared(1) + shop::detail::generic(1) + till.coins();
  return sum == 0 + 3 + 10 + 5 + 3 + 2 + 1 + 3 ? 0 : 1;
}
