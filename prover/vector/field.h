// A prime field on V::lanes lanes: Montgomery arithmetic on limbs of 52 bits, reduced lazily.
//
// element: limbs in [0, 2^52), the value below a small multiple of p that the caller keeps account of.
// loose:   limbs are signed 64-bit numbers, the value is not negative. Sums and differences are loose; a
//          multiplication takes elements. tidy() makes an element of the same value, reduce() one below 1.1 p.
// A product of a < A p and b < B p comes out below (1 + A B p / R) p: R / p is 84 for BN254's fields, 35 for
// BLS12-381's scalars and 2^35 for its base field, so A B <= 30 always yields less than 2 p.
//
// Montgomery multiplication by rounds of one limb: P. L. Montgomery, Math. Comp. 44 (1985); with the 52-bit
// multiply-add: S. Gueron, V. Krasnov, "Accelerating big integer arithmetic using Intel IFMA extensions" (ARITH 2016).
#pragma once
#include "constants.h"

namespace prover::vector {

template <class V, class M>
struct field {
  using vector = V;
  using base = field;
  using word = typename V::word;
  using mask = typename V::mask;
  using constants = field_constants<M>;
  static constexpr std::size_t N = constants::limbs;
  static constexpr std::size_t W = constants::words;
  static constexpr std::size_t components = 1;

  struct element {
    word l[N];
  };
  struct loose {
    word l[N];
    loose() = default;
    PROVER_VECTOR_INLINE loose(const element& e) {  // NOLINT: an element is a loose value
      PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) l[i] = e.l[i];
    }
  };
  struct product {  // of two elements, or a sum of up to 64 such products, not yet reduced
    word l[2 * N];
  };

  PROVER_VECTOR_INLINE static element constant(const limbs52<N>& c) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::set(c.l[i]);
    return r;
  }
  PROVER_VECTOR_INLINE static element one() { return constant(constants::one); }
  PROVER_VECTOR_INLINE static element zero() { return constant(limbs52<N>{}); }

  PROVER_VECTOR_INLINE static loose add(const loose& a, const loose& b) {
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::add(a.l[i], b.l[i]);
    return r;
  }
  // a - b + K p, for b <= K p
  template <unsigned K>
  PROVER_VECTOR_INLINE static loose sub(const loose& a, const loose& b) {
    constexpr limbs52<N> kp = multiple(constants::p, K);
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::sub(V::add(a.l[i], V::set(kp.l[i])), b.l[i]);
    return r;
  }
  // K p - a in the lanes of m, a in the others; for a <= K p
  template <unsigned K>
  PROVER_VECTOR_INLINE static loose negate_where(mask m, const loose& a) {
    constexpr limbs52<N> kp = multiple(constants::p, K);
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::sub_where(a.l[i], m, V::set(kp.l[i]), a.l[i]);
    return r;
  }
  PROVER_VECTOR_INLINE static element select(mask m, const element& yes, const element& no) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::select(m, yes.l[i], no.l[i]);
    return r;
  }
  PROVER_VECTOR_INLINE static loose select(mask m, const loose& yes, const loose& no) {
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::select(m, yes.l[i], no.l[i]);
    return r;
  }

  PROVER_VECTOR_INLINE static element tidy(const loose& a) {
    element r;
    word carry = a.l[0];
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i + 1 < N; ++i) {
      r.l[i] = V::bit_and(carry, V::set(kLimbMask));
      carry = V::add(V::template shift_right_signed<kLimbBits>(carry), a.l[i + 1]);
    }
    r.l[N - 1] = carry;
    return r;
  }
  // For a value below 30 p whose top limb is not negative, as it is from p upwards and in a sum of elements. The
  // quotient by p is estimated from the top limb, one too small at worst.
  PROVER_VECTOR_INLINE static element reduce(const loose& a) {
    const word q = V::madd_high(V::set(0), a.l[N - 1], V::set(constants::slack));
    loose t;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) t.l[i] =
        V::madd_low(a.l[i], q, V::set(constants::minus_p.l[i]));
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i + 1 < N; ++i) t.l[i + 1] =
        V::madd_high(t.l[i + 1], q, V::set(constants::minus_p.l[i]));
    element r = tidy(t);
    r.l[N - 1] = V::bit_and(r.l[N - 1], V::set(kLimbMask));  // drops q R
    return r;
  }
  // The one representative below p, for a below 30 p.
  PROVER_VECTOR_INLINE static element canonical(const loose& a) {
    const element r = reduce(add(a, constant(constants::p)));
    const element less = tidy(sub_p(r));
    const mask negative = V::equal(V::template shift_right<63>(less.l[N - 1]), V::set(1));
    return select(negative, r, less);
  }
  PROVER_VECTOR_INLINE static mask is_zero(const loose& a) {
    const element c = canonical(a);
    word any = c.l[0];
    PROVER_VECTOR_UNROLL for (std::size_t i = 1; i < N; ++i) any = V::bit_or(any, c.l[i]);
    return V::equal(any, V::set(0));
  }

  PROVER_VECTOR_INLINE static product multiply(const element& a, const element& b) {
    product t;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 2 * N; ++i) t.l[i] = V::set(0);
    accumulate(t, a, b);
    return t;
  }
  PROVER_VECTOR_INLINE static void accumulate(product& t, const element& a, const element& b) {
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) {
      PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < N; ++j) t.l[i + j] = V::madd_low(t.l[i + j], a.l[i], b.l[j]);
      PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < N; ++j) t.l[i + j + 1] =
          V::madd_high(t.l[i + j + 1], a.l[i], b.l[j]);
    }
  }
  PROVER_VECTOR_INLINE static loose montgomery(product& t) {
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) {
      const word m = V::madd_low(V::set(0), t.l[i], V::set(constants::minus_p_inverse));
      PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < N; ++j) {
        t.l[i + j] = V::madd_low(t.l[i + j], m, V::set(constants::p.l[j]));
      }
      PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < N; ++j) {
        t.l[i + j + 1] = V::madd_high(t.l[i + j + 1], m, V::set(constants::p.l[j]));
      }
      t.l[i + 1] = V::add(t.l[i + 1], V::template shift_right<kLimbBits>(t.l[i]));
    }
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = t.l[i + N];
    return r;
  }
  PROVER_VECTOR_INLINE static loose mul_loose(const element& a, const element& b) {
    product t = multiply(a, b);
    return montgomery(t);
  }
  PROVER_VECTOR_INLINE static element mul(const element& a, const element& b) { return tidy(mul_loose(a, b)); }
  // The same as a function of its own, for code that runs seldom: inlined multiplications are a kilobyte each.
  [[gnu::noinline]] static element mul_called(const element& a, const element& b) { return mul(a, b); }
  PROVER_VECTOR_INLINE static loose sqr_loose(const element& a) { return mul_loose(a, a); }

  // 64-bit words in lanes <-> limbs. The value must be below 2^(64 W).
  PROVER_VECTOR_INLINE static element unpack(const word* w) {
    element r;
    const word m = V::set(kLimbMask);
    if constexpr (N == 5) {
      r.l[0] = V::bit_and(w[0], m);
      r.l[1] = V::bit_and(V::template funnel<52>(w[0], w[1]), m);
      r.l[2] = V::bit_and(V::template funnel<40>(w[1], w[2]), m);
      r.l[3] = V::bit_and(V::template funnel<28>(w[2], w[3]), m);
      r.l[4] = V::template shift_right<16>(w[3]);
    } else {
      static_assert(N == 8);
      r.l[0] = V::bit_and(w[0], m);
      r.l[1] = V::bit_and(V::template funnel<52>(w[0], w[1]), m);
      r.l[2] = V::bit_and(V::template funnel<40>(w[1], w[2]), m);
      r.l[3] = V::bit_and(V::template funnel<28>(w[2], w[3]), m);
      r.l[4] = V::bit_and(V::template funnel<16>(w[3], w[4]), m);
      r.l[5] = V::bit_and(V::template shift_right<4>(w[4]), m);
      r.l[6] = V::bit_and(V::template funnel<56>(w[4], w[5]), m);
      r.l[7] = V::template shift_right<44>(w[5]);
    }
    return r;
  }
  PROVER_VECTOR_INLINE static void pack(const element& a, word* w) {
    const auto& l = a.l;
    w[0] = V::bit_or(l[0], V::template shift_left<52>(l[1]));
    w[1] = V::bit_or(V::template shift_right<12>(l[1]), V::template shift_left<40>(l[2]));
    w[2] = V::bit_or(V::template shift_right<24>(l[2]), V::template shift_left<28>(l[3]));
    w[3] = V::bit_or(V::template shift_right<36>(l[3]), V::template shift_left<16>(l[4]));
    if constexpr (N == 8) {
      w[4] = V::bit_or(V::template shift_right<48>(l[4]),
                       V::bit_or(V::template shift_left<4>(l[5]), V::template shift_left<56>(l[6])));
      w[5] = V::bit_or(V::template shift_right<8>(l[6]), V::template shift_left<44>(l[7]));
    }
  }

  PROVER_VECTOR_INLINE static element load(const std::uint64_t* p) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::load(p + i * V::lanes);
    return r;
  }
  template <class E>
  PROVER_VECTOR_INLINE static void store(std::uint64_t* p, const E& a) {
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) V::store(p + i * V::lanes, a.l[i]);
  }
  PROVER_VECTOR_INLINE static loose load_loose(const std::uint64_t* p) { return load(p); }
  static constexpr std::size_t stored_words = N * V::lanes;

  template <unsigned K>
  PROVER_VECTOR_INLINE static element swap_lanes(const element& a) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::template swap_lanes<K>(a.l[i]);
    return r;
  }
  PROVER_VECTOR_INLINE static element broadcast_lane(const element& a, unsigned lane) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::broadcast_lane(a.l[i], lane);
    return r;
  }

 private:
  PROVER_VECTOR_INLINE static loose sub_p(const element& a) {
    loose r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < N; ++i) r.l[i] = V::sub(a.l[i], V::set(constants::p.l[i]));
    return r;
  }
};

}  // namespace prover::vector
