// Instrumented inline functions of a header that two files include.
#pragma once

#include <telltale/core/telltale.hpp>

namespace shop::detail {
TELLTALE_MODULE("shop::detail");

inline int shared(int n) {
  using namespace telltale::literals;
  TELLTALE_SPAN("shared", "n"_a = n);
  TELLTALE_DEBUG("shared {n}", "n"_a = n);
  return n + 1;
}

template <class T>
T generic(T v) {
  using namespace telltale::literals;
  TELLTALE_SCOPE("generic", "size"_a = sizeof(T));
  return v;
}
}  // namespace shop::detail

int second(int n);
