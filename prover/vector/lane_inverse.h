// The inverses of all lanes of a field element for one scalar inversion: Montgomery's trick across lanes.
#pragma once
#include "extension.h"
#include "inverse.h"

namespace prover::vector {

// The inverse of lane 0 of a base field element, in all lanes.
template <class B>
PROVER_VECTOR_INLINE typename B::element invert_lane_0(const typename B::element& a) {
  using V = typename B::vector;
  typename V::word w[B::W];
  B::pack(B::canonical(a), w);
  std::uint64_t plain[B::W], inverse[B::W], lanes[V::lanes];
  for (std::size_t i = 0; i < B::W; ++i) {
    V::store(lanes, w[i]);
    plain[i] = lanes[0];
  }
  invert(plain, B::constants::modulus.w, B::W, inverse);
  for (std::size_t i = 0; i < B::W; ++i) w[i] = V::set(inverse[i]);
  return B::mul_called(B::unpack(w), B::constant(B::constants::after_inverse));
}

template <class V, class M>
PROVER_VECTOR_INLINE typename field<V, M>::element invert_first(field<V, M>, const typename field<V, M>::element& a) {
  return invert_lane_0<field<V, M>>(a);
}
// 1 / (a + b i) = (a - b i) / (a^2 + b^2)
template <class B>
PROVER_VECTOR_INLINE typename quadratic<B>::element invert_first(quadratic<B>,
                                                                 const typename quadratic<B>::element& a) {
  const typename B::element n =
      invert_lane_0<B>(B::tidy(B::add(B::mul_called(a.c[0], a.c[0]), B::mul_called(a.c[1], a.c[1]))));
  const typename B::element minus_b = B::tidy(B::template sub<4>(B::zero(), a.c[1]));
  const auto one_lane = [&](const typename B::element& e) { return B::broadcast_lane(B::mul_called(e, n), 0); };
  return {{one_lane(a.c[0]), one_lane(minus_b)}};
}

// For lanes below 2 p. False where a lane is zero, which leaves out unset.
template <class F>
[[gnu::noinline]] bool invert_lanes(const typename F::element& a, typename F::element& out) {
  using E = typename F::element;
  const E s1 = F::template swap_lanes<1>(a);
  const E p1 = F::mul_called(a, s1);
  const E s2 = F::template swap_lanes<2>(p1);
  const E p2 = F::mul_called(p1, s2);
  const E s4 = F::template swap_lanes<4>(p2);
  E all = F::mul_called(p2, s4);
  E others = F::mul_called(F::mul_called(s1, s2), s4);
  if constexpr (F::vector::lanes == 16) {
    const E s8 = F::template swap_lanes<8>(all);
    all = F::mul_called(all, s8);
    others = F::mul_called(others, s8);
  }
  if ((F::is_zero(all) & 1) != 0) return false;
  out = F::mul_called(invert_first(F{}, all), others);
  return true;
}

}  // namespace prover::vector
