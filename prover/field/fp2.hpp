// The quadratic extension Fp[u] / (u^2 + 1), which both curves use. In memory: c0 then c1, as in a .zkey.
#pragma once

#include "prover/field/field.hpp"

namespace prover {

template <class F>
struct fp2 {
  F c0;
  F c1;

  static constexpr fp2 zero() noexcept { return {F::zero(), F::zero()}; }
  static constexpr fp2 one() noexcept { return {F::one(), F::zero()}; }
  constexpr bool is_zero() const noexcept { return c0.is_zero() && c1.is_zero(); }
  constexpr bool is_one() const noexcept { return c0.is_one() && c1.is_zero(); }
  constexpr bool is_reduced() const noexcept { return c0.is_reduced() && c1.is_reduced(); }
  friend constexpr bool operator==(const fp2&, const fp2&) noexcept = default;

  friend constexpr fp2 operator+(const fp2& a, const fp2& b) noexcept { return {a.c0 + b.c0, a.c1 + b.c1}; }
  friend constexpr fp2 operator-(const fp2& a, const fp2& b) noexcept { return {a.c0 - b.c0, a.c1 - b.c1}; }
  constexpr fp2 operator-() const noexcept { return {-c0, -c1}; }
  constexpr fp2 negated_if(bool negate) const noexcept { return {c0.negated_if(negate), c1.negated_if(negate)}; }

  // Karatsuba: three multiplications.
  friend constexpr fp2 operator*(const fp2& a, const fp2& b) noexcept {
    const F low = a.c0 * b.c0;
    const F high = a.c1 * b.c1;
    return {low - high, (a.c0 + a.c1) * (b.c0 + b.c1) - low - high};
  }
  // With the base field's products inlined; see field.hpp.
  template <bool WithAdx>
  [[gnu::always_inline]] static constexpr fp2 product(const fp2& a, const fp2& b) noexcept {
    const F low = F::template product<WithAdx>(a.c0, b.c0);
    const F high = F::template product<WithAdx>(a.c1, b.c1);
    return {low - high, F::template product<WithAdx>(a.c0 + a.c1, b.c0 + b.c1) - low - high};
  }
  template <bool WithAdx>
  [[gnu::always_inline]] static constexpr fp2 square(const fp2& a) noexcept {
    return {F::template product<WithAdx>(a.c0 + a.c1, a.c0 - a.c1), F::template product<WithAdx>(a.c0, a.c1).doubled()};
  }
  friend constexpr fp2 operator*(const fp2& a, const F& b) noexcept { return {a.c0 * b, a.c1 * b}; }

  constexpr fp2& operator+=(const fp2& b) noexcept { return *this = *this + b; }
  constexpr fp2& operator-=(const fp2& b) noexcept { return *this = *this - b; }
  constexpr fp2& operator*=(const fp2& b) noexcept { return *this = *this * b; }
  constexpr fp2 doubled() const noexcept { return {c0.doubled(), c1.doubled()}; }
  constexpr fp2 squared() const noexcept { return {(c0 + c1) * (c0 - c1), (c0 * c1).doubled()}; }

  // Also the Frobenius map of this field.
  constexpr fp2 conjugate() const noexcept { return {c0, -c1}; }

  fp2 inverse() const noexcept {
    const F norm_inverse = (c0.squared() + c1.squared()).inverse();
    return {c0 * norm_inverse, -(c1 * norm_inverse)};
  }

  template <std::size_t M>
  constexpr fp2 power(const integer<M>& exponent) const noexcept {
    fp2 r = one();
    for (std::size_t i = bit_length(exponent); i-- > 0;) {
      r = r.squared();
      if (bit(exponent, i)) r *= *this;
    }
    return r;
  }
};

}  // namespace prover
