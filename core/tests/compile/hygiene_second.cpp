#include "hygiene.hpp"

int second(int n) {
  return shop::detail::shared(n) + shop::detail::generic(n);
}
