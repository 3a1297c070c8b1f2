// Two words side by side: a backend of twice the lanes. One multiplication is a chain of dependent multiply-adds with
// a latency of four cycles each; two chains interleaved keep both vector ports busy.
#pragma once
#include "word.h"

namespace prover::vector {

template <class V>
struct twin {
  static constexpr unsigned half = V::lanes;
  static constexpr std::size_t lanes = 2 * half;
  using mask = std::uint32_t;
  struct word {
    typename V::word a, b;
  };

  PROVER_VECTOR_INLINE static word set(std::uint64_t x) { return {V::set(x), V::set(x)}; }
  PROVER_VECTOR_INLINE static word load(const std::uint64_t* p) { return {V::load(p), V::load(p + half)}; }
  PROVER_VECTOR_INLINE static void store(std::uint64_t* p, const word& x) {
    V::store(p, x.a);
    V::store(p + half, x.b);
  }
  PROVER_VECTOR_INLINE static word add(const word& x, const word& y) { return {V::add(x.a, y.a), V::add(x.b, y.b)}; }
  PROVER_VECTOR_INLINE static word sub(const word& x, const word& y) { return {V::sub(x.a, y.a), V::sub(x.b, y.b)}; }
  PROVER_VECTOR_INLINE static word bit_and(const word& x, const word& y) {
    return {V::bit_and(x.a, y.a), V::bit_and(x.b, y.b)};
  }
  PROVER_VECTOR_INLINE static word bit_or(const word& x, const word& y) {
    return {V::bit_or(x.a, y.a), V::bit_or(x.b, y.b)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_left(const word& x) {
    return {V::template shift_left<K>(x.a), V::template shift_left<K>(x.b)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_right(const word& x) {
    return {V::template shift_right<K>(x.a), V::template shift_right<K>(x.b)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_right_signed(const word& x) {
    return {V::template shift_right_signed<K>(x.a), V::template shift_right_signed<K>(x.b)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word funnel(const word& low, const word& high) {
    return {V::template funnel<K>(low.a, high.a), V::template funnel<K>(low.b, high.b)};
  }
  PROVER_VECTOR_INLINE static word madd_low(const word& acc, const word& x, const word& y) {
    return {V::madd_low(acc.a, x.a, y.a), V::madd_low(acc.b, x.b, y.b)};
  }
  PROVER_VECTOR_INLINE static word madd_high(const word& acc, const word& x, const word& y) {
    return {V::madd_high(acc.a, x.a, y.a), V::madd_high(acc.b, x.b, y.b)};
  }
  PROVER_VECTOR_INLINE static mask equal(const word& x, const word& y) {
    return V::equal(x.a, y.a) | V::equal(x.b, y.b) << half;
  }
  PROVER_VECTOR_INLINE static word select(mask m, const word& yes, const word& no) {
    return {V::select(m & kHalf, yes.a, no.a), V::select(m >> half, yes.b, no.b)};
  }
  PROVER_VECTOR_INLINE static word sub_where(const word& a, mask m, const word& x, const word& y) {
    return {V::sub_where(a.a, m & kHalf, x.a, y.a), V::sub_where(a.b, m >> half, x.b, y.b)};
  }
  template <unsigned K>  // lane i takes lane i ^ K; K is 1, 2, 4 or 8
  PROVER_VECTOR_INLINE static word swap_lanes(const word& x) {
    if constexpr (K == half) {
      return {x.b, x.a};
    } else {
      return {V::template swap_lanes<K>(x.a), V::template swap_lanes<K>(x.b)};
    }
  }
  PROVER_VECTOR_INLINE static word broadcast_lane(const word& x, unsigned lane) {
    const auto one = lane < half ? V::broadcast_lane(x.a, lane) : V::broadcast_lane(x.b, lane % half);
    return {one, one};
  }
  PROVER_VECTOR_INLINE static void load_transposed(const std::uint64_t* const* rows, std::size_t offset, word* out) {
    typename V::word low[8], high[8];
    V::load_transposed(rows, offset, low);
    V::load_transposed(rows + half, offset, high);
    PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < 8; ++j) out[j] = {low[j], high[j]};
  }
  PROVER_VECTOR_INLINE static void store_transposed(std::uint64_t* const* rows, std::size_t offset, const word* in) {
    typename V::word low[8], high[8];
    PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < 8; ++j) {
      low[j] = in[j].a;
      high[j] = in[j].b;
    }
    V::store_transposed(rows, offset, low);
    V::store_transposed(rows + half, offset, high);
  }

 private:
  static constexpr mask kHalf = (mask{1} << half) - 1;
};

}  // namespace prover::vector
