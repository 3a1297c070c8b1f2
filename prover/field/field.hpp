// A prime field in Montgomery form: field<P> for a parameter type P that names the modulus. R = 2^(64 * limbs), so an
// element lies in memory exactly as the .zkey format stores it, and a key's points need no conversion.
//
// The modulus must leave its top bit and be odd; then a product needs one carry word less ("no-carry" CIOS: the
// running sum always fits into N words; observed by the authors of gnark, hackmd.io/@gnark/modular_multiplication).
#pragma once

#include <type_traits>

#include "prover/field/adx_multiply.hpp"
#include "prover/field/instructions.hpp"
#include "prover/field/integer.hpp"
#include "prover/vector/inverse.h"

namespace prover {

template <class P>
struct field {
  static constexpr std::size_t limb_count = P::modulus.size();
  using integer_type = integer<limb_count>;

  static constexpr integer_type modulus = P::modulus;
  static_assert((modulus[0] & 1) == 1 && modulus[limb_count - 1] < (u64{1} << 63) - 1);
  static constexpr std::size_t modulus_bits = bit_length(modulus);

  // The value times R, reduced. Left without initialiser so that arrays of elements cost nothing to make.
  integer_type limbs;

  // ---- constants, all derived from the modulus

  // -modulus^-1 mod 2^64, by Newton's iteration: every step doubles the number of right bits.
  static constexpr u64 negated_inverse = [] {
    u64 inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - modulus[0] * inverse;
    return ~inverse + 1;
  }();

  // 2^exponent mod modulus.
  static constexpr integer_type power_of_two(std::size_t exponent) noexcept {
    integer_type r = small_integer<limb_count>(1);
    for (std::size_t i = 0; i < exponent; ++i) {
      add_to(r, r);
      reduce_once(r);
    }
    return r;
  }
  static constexpr integer_type r1 = power_of_two(64 * limb_count);
  static constexpr integer_type r2 = power_of_two(128 * limb_count);
  static constexpr integer_type r3 = power_of_two(192 * limb_count);

  // ---- making and taking apart

  static constexpr field zero() noexcept { return field{}; }
  static constexpr field one() noexcept { return field{r1}; }

  // From a plain integer below the modulus.
  static constexpr field from_integer(const integer_type& plain) noexcept { return field{plain} * field{r2}; }
  static constexpr field from_u64(u64 plain) noexcept { return from_integer(small_integer<limb_count>(plain)); }

  // The plain integer below the modulus.
  constexpr integer_type to_integer() const noexcept { return (*this * field{small_integer<limb_count>(1)}).limbs; }

  // Whether the words are below the modulus, as every element's must be: the check for values read from outside.
  constexpr bool is_reduced() const noexcept { return less(limbs, modulus); }
  constexpr bool is_zero() const noexcept { return prover::is_zero(limbs); }
  constexpr bool is_one() const noexcept { return limbs == r1; }

  friend constexpr bool operator==(const field& a, const field& b) noexcept { return a.limbs == b.limbs; }

  // ---- arithmetic

  friend constexpr field operator+(field a, const field& b) noexcept {
    add_to(a.limbs, b.limbs);
    reduce_once(a.limbs);
    return a;
  }

  friend constexpr field operator-(field a, const field& b) noexcept {
    const u64 mask = ~subtract_from(a.limbs, b.limbs) + 1;
    integer_type correction = modulus;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < limb_count; ++i) correction[i] &= mask;
    add_to(a.limbs, correction);
    return a;
  }

  // Kept out of line: inlined, the towers and curves would become megabytes of straight code.
  [[gnu::noinline]] friend constexpr field operator*(const field& a, const field& b) noexcept {
    if (!std::is_constant_evaluated() && multiply_with_adx.load(std::memory_order_relaxed)) return product<true>(a, b);
    return product<false>(a, b);
  }
  // The same inlined, for the few loops that are worth it. WithAdx: only where multiply_with_adx is set.
  template <bool WithAdx>
  [[gnu::always_inline]] static constexpr field product(const field& a, const field& b) noexcept {
#if defined(__x86_64__)
    if constexpr (WithAdx) {
      field r{adx::multiply<modulus, negated_inverse>(a.limbs, b.limbs)};
      reduce_once(r.limbs);
      return r;
    }
#endif
    integer_type t{};
#pragma GCC unroll 8
    for (std::size_t i = 0; i < limb_count; ++i) {
      u64 carry = 0;
      u64 reduction_carry = 0;
      const u64 low = multiply_add(t[0], a.limbs[0], b.limbs[i], carry);
      const u64 m = low * negated_inverse;
      multiply_add(low, m, modulus[0], reduction_carry);
#pragma GCC unroll 8
      for (std::size_t j = 1; j < limb_count; ++j) {
        const u64 word = multiply_add(t[j], a.limbs[j], b.limbs[i], carry);
        t[j - 1] = multiply_add(word, m, modulus[j], reduction_carry);
      }
      t[limb_count - 1] = carry + reduction_carry;
    }
    reduce_once(t);
    return field{t};
  }
  template <bool WithAdx>
  [[gnu::always_inline]] static constexpr field square(const field& a) noexcept {
    return product<WithAdx>(a, a);
  }

  constexpr field operator-() const noexcept { return zero() - *this; }
  // -*this where `negate`, without a branch: where it is a digit's sign, that is random.
  constexpr field negated_if(bool negate) const noexcept {
    const u64 mask = ~static_cast<u64>(negate) + 1;
    field r = -*this;
#pragma GCC unroll 8
    for (std::size_t i = 0; i < limb_count; ++i) r.limbs[i] = (r.limbs[i] & mask) | (limbs[i] & ~mask);
    return r;
  }
  constexpr field& operator+=(const field& b) noexcept { return *this = *this + b; }
  constexpr field& operator-=(const field& b) noexcept { return *this = *this - b; }
  constexpr field& operator*=(const field& b) noexcept { return *this = *this * b; }
  constexpr field doubled() const noexcept { return *this + *this; }
  constexpr field squared() const noexcept { return *this * *this; }

  template <std::size_t M>
  constexpr field power(const integer<M>& exponent) const noexcept {
    field r = one();
    for (std::size_t i = bit_length(exponent); i-- > 0;) {
      r = r.squared();
      if (bit(exponent, i)) r *= *this;
    }
    return r;
  }

  // Zero has no inverse and gives zero. Not constant-time: see prover/README.md.
  field inverse() const noexcept {
    field r;
    vector::invert(limbs.data(), modulus.data(), limb_count, r.limbs.data());
    // Of a R it is 1 / (a R); R^3 and the product's own 1 / R make it R / a.
    return r * field{r3};
  }

 private:
  // a mod modulus for a < 2 * modulus, without a branch.
  static constexpr void reduce_once(integer_type& a) noexcept {
#if defined(__x86_64__)
    if constexpr (limb_count == 4 || limb_count == 6) {
      if (!std::is_constant_evaluated()) return carry_chains::reduce(a, modulus);
    }
#endif
    integer_type t = a;
    const u64 keep = ~subtract_from(t, modulus) + 1;  // all ones where a was already reduced
#pragma GCC unroll 8
    for (std::size_t i = 0; i < limb_count; ++i) a[i] = (a[i] & keep) | (t[i] & ~keep);
  }
};

}  // namespace prover
