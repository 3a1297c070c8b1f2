// Lagrange polynomials of the n-th roots of unity, evaluated at one point tau that is no root:
//   L_i(tau) = (tau^n - 1) / n * w^i / (tau - w^i)
#pragma once

#include "prover/field/batch_inverse.hpp"
#include "prover/ntt/domain.hpp"

namespace prover::setup {

// Which of them: every one of the n-th roots, or those of the odd 2n-th roots w_2n^(2i + 1) among the 2n-th ones.
enum class roots : std::uint8_t { all, odd };

template <class Curve>
std::vector<typename Curve::fr> lagrange_at(const typename Curve::fr& tau, unsigned log_size, roots which,
                                            thread_pool& pool) {
  using fr = typename Curve::fr;
  constexpr std::size_t grain = 1024;
  const unsigned log_order = log_size + (which == roots::odd ? 1 : 0);
  const fr root = ntt::root_of_unity<Curve>(log_order);
  const fr step = which == roots::odd ? root.squared() : root;
  const fr first = which == roots::odd ? root : fr::one();
  const u64 order = u64{1} << log_order;
  const fr scale = (tau.power(small_integer<1>(order)) - fr::one()) * fr::from_u64(order).inverse();

  std::vector<fr> values(std::size_t{1} << log_size);
  pool.for_ranges(values.size(), grain, [&](std::size_t begin, std::size_t end) {
    const auto some = std::span(values).subspan(begin, end - begin);
    std::vector<fr> scratch;
    const fr start = first * step.power(small_integer<1>(begin));
    fr w = start;
    for (fr& v : some) {
      v = tau - w;
      w *= step;
    }
    invert_all(some, scratch);
    w = scale * start;
    for (fr& v : some) {
      v *= w;
      w *= step;
    }
  });
  return values;
}

}  // namespace prover::setup
