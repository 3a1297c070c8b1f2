// The tower above Fp2 in which pairings take their values: Fp6 = Fp2[v] / (v^3 - xi) and Fp12 = Fp6[w] / (w^2 - v).
// A tower type T names the base field and xi: T::fp, T::times_xi(fp2), T::xi().
#pragma once

#include <array>

#include "prover/field/fp2.hpp"

namespace prover {

template <class T>
struct fp6 {
  using base = fp2<typename T::fp>;
  base c0;
  base c1;
  base c2;

  static constexpr fp6 zero() noexcept { return {base::zero(), base::zero(), base::zero()}; }
  static constexpr fp6 one() noexcept { return {base::one(), base::zero(), base::zero()}; }
  friend constexpr bool operator==(const fp6&, const fp6&) noexcept = default;

  friend constexpr fp6 operator+(const fp6& a, const fp6& b) noexcept {
    return {a.c0 + b.c0, a.c1 + b.c1, a.c2 + b.c2};
  }
  friend constexpr fp6 operator-(const fp6& a, const fp6& b) noexcept {
    return {a.c0 - b.c0, a.c1 - b.c1, a.c2 - b.c2};
  }
  constexpr fp6 operator-() const noexcept { return {-c0, -c1, -c2}; }
  constexpr fp6 doubled() const noexcept { return *this + *this; }

  // Karatsuba over three terms: six multiplications.
  friend constexpr fp6 operator*(const fp6& a, const fp6& b) noexcept {
    const base t0 = a.c0 * b.c0;
    const base t1 = a.c1 * b.c1;
    const base t2 = a.c2 * b.c2;
    return {T::times_xi((a.c1 + a.c2) * (b.c1 + b.c2) - t1 - t2) + t0,
            (a.c0 + a.c1) * (b.c0 + b.c1) - t0 - t1 + T::times_xi(t2), (a.c0 + a.c2) * (b.c0 + b.c2) - t0 - t2 + t1};
  }
  constexpr fp6 squared() const noexcept { return *this * *this; }

  constexpr fp6 times_v() const noexcept { return {T::times_xi(c2), c0, c1}; }
  constexpr fp6 scaled(const base& s) const noexcept { return {c0 * s, c1 * s, c2 * s}; }

  // Times b0 + b1 v.
  constexpr fp6 times_01(const base& b0, const base& b1) const noexcept {
    const base t0 = c0 * b0;
    const base t1 = c1 * b1;
    return {T::times_xi((c1 + c2) * b1 - t1) + t0, (c0 + c1) * (b0 + b1) - t0 - t1, (c0 + c2) * b0 - t0 + t1};
  }
  // Times b1 v.
  constexpr fp6 times_1(const base& b1) const noexcept { return {T::times_xi(c2 * b1), c0 * b1, c1 * b1}; }

  fp6 inverse() const noexcept {
    const base t0 = c0.squared() - T::times_xi(c1 * c2);
    const base t1 = T::times_xi(c2.squared()) - c0 * c1;
    const base t2 = c1.squared() - c0 * c2;
    const base norm = c0 * t0 + T::times_xi(c2 * t1 + c1 * t2);
    return fp6{t0, t1, t2}.scaled(norm.inverse());
  }
};

template <class T>
struct fp12 {
  using tower = T;
  using half = fp6<T>;
  using base = fp2<typename T::fp>;
  half c0;
  half c1;

  static constexpr fp12 one() noexcept { return {half::one(), half::zero()}; }
  friend constexpr bool operator==(const fp12&, const fp12&) noexcept = default;

  friend constexpr fp12 operator*(const fp12& a, const fp12& b) noexcept {
    const half low = a.c0 * b.c0;
    const half high = a.c1 * b.c1;
    return {low + high.times_v(), (a.c0 + a.c1) * (b.c0 + b.c1) - low - high};
  }

  constexpr fp12 squared() const noexcept {
    const half cross = c0 * c1;
    return {(c0 + c1) * (c0 + c1.times_v()) - cross - cross.times_v(), cross.doubled()};
  }

  // The inverse of elements on the cyclotomic subgroup (norm 1), where it costs nothing.
  constexpr fp12 conjugate() const noexcept { return {c0, -c1}; }

  fp12 inverse() const noexcept {
    const half norm_inverse = (c0.squared() - c1.squared().times_v()).inverse();
    return {c0 * norm_inverse, -(c1 * norm_inverse)};
  }

  // Times the sparse l0 + l3 w + l4 v w: a line of a D-type twist (BN254).
  constexpr fp12 times_034(const base& l0, const base& l3, const base& l4) const noexcept {
    const half low = c0.scaled(l0);
    const half high = c1.times_01(l3, l4);
    return {low + high.times_v(), (c0 + c1).times_01(l0 + l3, l4) - low - high};
  }

  // Times the sparse l0 + l1 v + l4 v w: a line of an M-type twist (BLS12-381).
  constexpr fp12 times_014(const base& l0, const base& l1, const base& l4) const noexcept {
    const half low = c0.times_01(l0, l1);
    const half high = c1.times_1(l4);
    return {low + high.times_v(), (c0 + c1).times_01(l0, l1 + l4) - low - high};
  }

  // Times 1 + l3 w + l4 v w: a line of a D-type twist, divided by what stands at one.
  constexpr fp12 times_1_34(const base& l3, const base& l4) const noexcept {
    return {c0 + c1.times_01(l3, l4).times_v(), c1 + c0.times_01(l3, l4)};
  }

  // Times l0 + l1 v + v w: a line of an M-type twist, divided by what stands at v w.
  constexpr fp12 times_01_1(const base& l0, const base& l1) const noexcept {
    return {c0.times_01(l0, l1) + c1.times_v().times_v(), c1.times_01(l0, l1) + c0.times_v()};
  }

  // Squaring in the cyclotomic subgroup (Granger and Scott, eprint.iacr.org/2009/565): three squarings in Fp4.
  constexpr fp12 cyclotomic_squared() const noexcept {
    const auto [a0, a1] = fp4_squared(c0.c0, c1.c1);
    const auto [b0, b1] = fp4_squared(c1.c0, c0.c2);
    const auto [d0, d1] = fp4_squared(c0.c1, c1.c2);
    const base e0 = T::times_xi(d1);
    return {{(a0 - c0.c0).doubled() + a0, (b0 - c0.c1).doubled() + b0, (d0 - c0.c2).doubled() + d0},
            {(e0 + c1.c0).doubled() + e0, (a1 + c1.c1).doubled() + a1, (b1 + c1.c2).doubled() + b1}};
  }

  // The power p: conjugates the coefficients and multiplies the one of w^i by xi^(i (p - 1) / 6).
  fp12 frobenius() const noexcept {
    const auto& g = frobenius_factors();
    return {{c0.c0.conjugate(), c0.c1.conjugate() * g[2], c0.c2.conjugate() * g[4]},
            {c1.c0.conjugate() * g[1], c1.c1.conjugate() * g[3], c1.c2.conjugate() * g[5]}};
  }

  // xi^(i (p - 1) / 6) for i = 0..5.
  static const std::array<base, 6>& frobenius_factors() noexcept {
    static const std::array<base, 6> factors = [] {
      auto exponent = T::fp::modulus;
      exponent[0] -= 1;
      const base first = T::xi().power(divide_small(exponent, 6));
      std::array<base, 6> all{base::one()};
      for (std::size_t i = 1; i < all.size(); ++i) all[i] = all[i - 1] * first;
      return all;
    }();
    return factors;
  }

 private:
  struct fp4 {
    base c0;
    base c1;
  };
  static constexpr fp4 fp4_squared(const base& a, const base& b) noexcept {
    const base a2 = a.squared();
    const base b2 = b.squared();
    return {T::times_xi(b2) + a2, (a + b).squared() - a2 - b2};
  }
};

}  // namespace prover
