// Spans whose ends lie on many ways out of a block: a compiler that loses track of whether a span was begun must not
// warn about it in the program that uses us. Compiled at every level of optimisation, with warnings as errors.
#include <telltale/core/telltale.hpp>
#include <vector>

TELLTALE_MODULE("shop");
using namespace telltale::literals;

namespace shop {

int weigh(const std::vector<int>& goods);
bool open_today() noexcept;

// What throws ends it, while the vectors of the caller and of the block are taken down.
std::vector<int> sort_by(std::vector<int> a, std::vector<int> b) {
  std::vector<int> c(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) c[i] = weigh(a) * b[i];
  TELLTALE_SPAN("sort", "size"_a = a.size());
  std::vector<int> h(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) h[i] = c[i] - weigh(b);
  a = {};
  b = {};
  return h;
}

int count(const std::vector<int>& goods) {
  TELLTALE_SPAN_AS(s, info, "count", "goods"_a = goods.size());
  int n = 0;
  for (const int g : goods) {
    TELLTALE_SPAN("one", "weight"_a = g);
    TELLTALE_TRACE_SPAN("and one in it");
    if (g == 0) continue;
    if (g < 0) break;
    if (!open_today()) return -1;
    n += weigh({g});
  }
  if (n == 0) s.fail("none");
  s.set("counted"_a = n);
  return n;
}

int serve(std::vector<int> goods) {
  TELLTALE_SCOPE("serve", "goods"_a = goods.size());
  try {
    TELLTALE_SPAN("try");
    return count(sort_by(goods, goods));
  } catch (...) {
    TELLTALE_SPAN("instead");
    return weigh(goods);
  }
}

}  // namespace shop
