// The quadratic extension Fp[i], i^2 = -1, on V::lanes lanes; the same interface as field.h. Both curves' G2 live in
// it.
//
// A product is four limb products in two accumulators and two reductions: the accumulators take a sum of products at
// no cost, while Karatsuba's sums would first need their carries settled.
#pragma once
#include "field.h"

namespace prover::vector {

template <class F>
struct quadratic {
  using V = typename F::vector;
  using vector = V;
  using base = F;
  using word = typename V::word;
  using mask = typename V::mask;
  static constexpr std::size_t components = 2;

  struct element {
    typename F::element c[2];
  };
  struct loose {
    typename F::loose c[2];
    loose() = default;
    PROVER_VECTOR_INLINE loose(const element& e) : c{e.c[0], e.c[1]} {}  // NOLINT: an element is a loose value
    PROVER_VECTOR_INLINE loose(const typename F::loose& a, const typename F::loose& b) : c{a, b} {}
  };

  PROVER_VECTOR_INLINE static element one() { return {{F::one(), F::zero()}}; }
  PROVER_VECTOR_INLINE static element zero() { return {{F::zero(), F::zero()}}; }
  PROVER_VECTOR_INLINE static loose add(const loose& a, const loose& b) {
    return {F::add(a.c[0], b.c[0]), F::add(a.c[1], b.c[1])};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static loose sub(const loose& a, const loose& b) {
    return {F::template sub<K>(a.c[0], b.c[0]), F::template sub<K>(a.c[1], b.c[1])};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static loose negate_where(mask m, const loose& a) {
    return {F::template negate_where<K>(m, a.c[0]), F::template negate_where<K>(m, a.c[1])};
  }
  PROVER_VECTOR_INLINE static element select(mask m, const element& yes, const element& no) {
    return {{F::select(m, yes.c[0], no.c[0]), F::select(m, yes.c[1], no.c[1])}};
  }
  PROVER_VECTOR_INLINE static loose select(mask m, const loose& yes, const loose& no) {
    return {F::select(m, yes.c[0], no.c[0]), F::select(m, yes.c[1], no.c[1])};
  }
  PROVER_VECTOR_INLINE static element tidy(const loose& a) { return {{F::tidy(a.c[0]), F::tidy(a.c[1])}}; }
  PROVER_VECTOR_INLINE static element reduce(const loose& a) { return {{F::reduce(a.c[0]), F::reduce(a.c[1])}}; }
  PROVER_VECTOR_INLINE static element canonical(const loose& a) {
    return {{F::canonical(a.c[0]), F::canonical(a.c[1])}};
  }
  PROVER_VECTOR_INLINE static mask is_zero(const loose& a) { return F::is_zero(a.c[0]) & F::is_zero(a.c[1]); }

  // For a and b below 4 p: 4 * 4 + 4 * 4 <= 35. The parts come out below 2 p.
  PROVER_VECTOR_INLINE static loose mul_loose(const element& a, const element& b) {
    const typename F::element minus_b1 = F::tidy(F::template sub<4>(F::zero(), b.c[1]));
    typename F::product re = F::multiply(a.c[0], b.c[0]);
    typename F::product im = F::multiply(a.c[0], b.c[1]);
    F::accumulate(re, a.c[1], minus_b1);
    F::accumulate(im, a.c[1], b.c[0]);
    loose r;
    r.c[0] = F::montgomery(re);
    r.c[1] = F::montgomery(im);
    return r;
  }
  PROVER_VECTOR_INLINE static element mul(const element& a, const element& b) { return tidy(mul_loose(a, b)); }
  [[gnu::noinline]] static element mul_called(const element& a, const element& b) { return mul(a, b); }
  // (a0 + a1)(a0 - a1) and 2 a0 a1, for a below 2 p.
  PROVER_VECTOR_INLINE static loose sqr_loose(const element& a) {
    const typename F::element sum = F::tidy(F::add(a.c[0], a.c[1]));
    const typename F::element difference = F::tidy(F::template sub<2>(a.c[0], a.c[1]));
    const typename F::element twice = F::tidy(F::add(a.c[0], a.c[0]));
    loose r;
    r.c[0] = F::mul_loose(sum, difference);
    r.c[1] = F::mul_loose(twice, a.c[1]);
    return r;
  }

  PROVER_VECTOR_INLINE static element load(const std::uint64_t* p) {
    return {{F::load(p), F::load(p + F::stored_words)}};
  }
  template <class E>
  PROVER_VECTOR_INLINE static void store(std::uint64_t* p, const E& a) {
    F::store(p, a.c[0]);
    F::store(p + F::stored_words, a.c[1]);
  }
  PROVER_VECTOR_INLINE static loose load_loose(const std::uint64_t* p) { return load(p); }
  static constexpr std::size_t stored_words = 2 * F::stored_words;

  template <unsigned K>
  PROVER_VECTOR_INLINE static element swap_lanes(const element& a) {
    return {{F::template swap_lanes<K>(a.c[0]), F::template swap_lanes<K>(a.c[1])}};
  }
  PROVER_VECTOR_INLINE static element broadcast_lane(const element& a, unsigned lane) {
    return {{F::broadcast_lane(a.c[0], lane), F::broadcast_lane(a.c[1], lane)}};
  }
};

}  // namespace prover::vector
