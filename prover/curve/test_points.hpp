// Points for tests and benchmarks: multiples of the generator, and points on the curve that are in no subgroup we
// chose.
#pragma once

#include <optional>
#include <vector>

#include "prover/curve/point.hpp"
#include "prover/field/test_values.hpp"

namespace prover::testing {

// The square root where there is one; both base fields are 3 mod 4.
template <class P>
std::optional<field<P>> square_root(const field<P>& a) {
  auto exponent = field<P>::modulus;
  exponent[0] += 1;
  const auto r = a.power(divide_small(exponent, 4));
  if (r.squared() == a) return r;
  return std::nullopt;
}

// By the norm: sqrt(c0 + c1 u) = s + c1 / 2s u with s^2 = (c0 + |a|) / 2, for one of the two signs of |a|.
template <class F>
std::optional<fp2<F>> square_root(const fp2<F>& a) {
  auto norm = square_root(a.c0.squared() + a.c1.squared());
  if (!norm) return std::nullopt;
  const F half = F::from_u64(2).inverse();
  for (const F& n : {*norm, -*norm}) {
    if (const auto s = square_root((a.c0 + n) * half)) {
      const fp2<F> r{*s, a.c1 * half * s->inverse()};
      if (r.squared() == a) return r;
    }
  }
  return std::nullopt;
}

// Some point on the curve. For groups with a cofactor it is practically never in the subgroup.
template <class G>
affine<G> any_point(u64 seed) {
  values random(seed);
  for (;;) {
    typename G::coordinate x{};
    if constexpr (requires { x.limbs; }) {
      x = random.element<typename G::coordinate>();
    } else {
      x = random.pair<decltype(x.c0)>();
    }
    if (const auto y = square_root(x.squared() * x + G::b())) return {x, *y};
  }
}

// n different multiples of the generator: a random start and steps of a random width.
template <class G>
std::vector<affine<G>> multiples(std::size_t n, u64 seed) {
  values random(seed);
  const auto step = multiply(G::generator(), random.number<2>()).to_affine();
  auto walk = multiply(G::generator(), random.number<2>());
  std::vector<xyzz<G>> walked(n);
  std::vector<typename G::coordinate> inverses(n);
  for (std::size_t i = 0; i < n; ++i) {
    walked[i] = walk;
    inverses[i] = walk.zzz;
    walk += step;
  }
  std::vector<typename G::coordinate> scratch;
  invert_all(std::span(inverses), scratch);
  std::vector<affine<G>> points(n);
  for (std::size_t i = 0; i < n; ++i) {
    points[i] = {walked[i].x * (walked[i].zz * inverses[i]).squared(), walked[i].y * inverses[i]};
  }
  return points;
}

}  // namespace prover::testing
