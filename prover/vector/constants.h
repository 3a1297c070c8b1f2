// The four prime fields, and every constant the kernels need, worked out by the compiler from the modulus alone.
#pragma once
#include "word.h"

namespace prover::vector {

// A little-endian integer of W 64-bit words; only what the constants below need.
template <std::size_t W>
struct integer {
  std::uint64_t w[W];

  constexpr bool operator>=(const integer& b) const {
    for (std::size_t i = W; i-- > 0;)
      if (w[i] != b.w[i]) return w[i] > b.w[i];
    return true;
  }
  constexpr integer minus(const integer& b) const {
    integer r{};
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < W; ++i) {
      const std::uint64_t t = w[i] - b.w[i];
      r.w[i] = t - borrow;
      borrow = std::uint64_t{w[i] < b.w[i]} | std::uint64_t{t < borrow};
    }
    return r;
  }
  constexpr integer twice_modulo(const integer& m) const {
    integer r{};
    for (std::size_t i = 0; i < W; ++i) r.w[i] = w[i] << 1 | (i > 0 ? w[i - 1] >> 63 : 0);
    const bool carried = w[W - 1] >> 63 != 0;
    return carried || r >= m ? r.minus(m) : r;
  }
  constexpr integer half() const {
    integer r{};
    for (std::size_t i = 0; i < W; ++i) r.w[i] = w[i] >> 1 | (i + 1 < W ? w[i + 1] << 63 : 0);
    return r;
  }
};

template <std::size_t W>
constexpr integer<W> power_of_two_modulo(unsigned exponent, const integer<W>& m) {
  integer<W> r{};
  r.w[0] = 1;
  for (unsigned i = 0; i < exponent; ++i) r = r.twice_modulo(m);
  return r;
}

template <std::size_t N>
struct limbs52 {
  std::uint64_t l[N];
};

template <std::size_t N, std::size_t W>
constexpr limbs52<N> to_limbs(const integer<W>& x) {
  limbs52<N> r{};
  for (unsigned i = 0; i < N; ++i) {
    const unsigned bit = i * kLimbBits, word = bit / 64, shift = bit % 64;
    std::uint64_t v = word < W ? x.w[word] >> shift : 0;
    if (shift != 0 && word + 1 < W) v |= x.w[word + 1] << (64 - shift);
    r.l[i] = v & kLimbMask;
  }
  return r;
}

// k times x, as limbs of 52 bits.
template <std::size_t N>
constexpr limbs52<N> multiple(const limbs52<N>& x, std::uint64_t k) {
  limbs52<N> r{};
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < N; ++i) {
    const std::uint64_t t = x.l[i] * k + carry;  // k < 2^11
    r.l[i] = t & kLimbMask;
    carry = t >> kLimbBits;
  }
  return r;
}

// The inverse of an odd number modulo 2^64, by Newton's iteration.
constexpr std::uint64_t inverse_of_odd(std::uint64_t x) {
  std::uint64_t r = x;
  for (int i = 0; i < 6; ++i) r *= 2 - x * r;
  return r;
}

// M gives: words (64-bit words of the outside form), limbs (52-bit limbs inside), modulus.
// Outside, x stands as x * 2^(64 words) mod p; inside as x * R mod p with R = 2^(52 limbs).
template <class M>
struct field_constants {
  static constexpr std::size_t words = M::words;
  static constexpr std::size_t limbs = M::limbs;
  static constexpr unsigned r_bits = kLimbBits * limbs;
  static constexpr unsigned outside_bits = 64 * words;
  static constexpr integer<words> modulus = M::modulus;

  static constexpr limbs52<limbs> p = to_limbs<limbs>(modulus);
  static constexpr std::uint64_t minus_p_inverse = (0 - inverse_of_odd(modulus.w[0])) & kLimbMask;
  static constexpr limbs52<limbs> one = to_limbs<limbs>(power_of_two_modulo(r_bits, modulus));
  // A Montgomery multiplication by these changes the form.
  static constexpr limbs52<limbs> from_outside =
      to_limbs<limbs>(power_of_two_modulo(2 * r_bits - outside_bits, modulus));
  static constexpr limbs52<limbs> to_outside = to_limbs<limbs>(power_of_two_modulo(outside_bits, modulus));
  static constexpr limbs52<limbs> from_plain = to_limbs<limbs>(power_of_two_modulo(2 * r_bits, modulus));
  static constexpr limbs52<limbs> after_inverse = to_limbs<limbs>(power_of_two_modulo(3 * r_bits, modulus));

  // R - p, and floor(R / p) cut to 52 bits: v - q p for a small q is (v + q (R - p)) mod R.
  static constexpr limbs52<limbs> minus_p = [] {
    limbs52<limbs> r{};
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < limbs; ++i) {
      r.l[i] = (0 - p.l[i] - borrow) & kLimbMask;
      borrow = (i == 0 ? p.l[0] != 0 : borrow != 0 || p.l[i] != 0) ? 1 : 0;
    }
    return r;
  }();
  // floor(2^52 / (top limb of p + 1)) <= R / p; the quotient estimate top * slack >> 52 is never too large.
  static constexpr std::uint64_t slack = (std::uint64_t{1} << kLimbBits) / (p.l[limbs - 1] + 1);
};

struct bn254_base {
  static constexpr std::size_t words = 4, limbs = 5;
  static constexpr integer<4> modulus{{0x3c208c16d87cfd47, 0x97816a916871ca8d, 0xb85045b68181585d, 0x30644e72e131a029}};
};
struct bn254_scalar {
  static constexpr std::size_t words = 4, limbs = 5;
  static constexpr integer<4> modulus{{0x43e1f593f0000001, 0x2833e84879b97091, 0xb85045b68181585d, 0x30644e72e131a029}};
  static constexpr unsigned two_adicity = 28;
  static constexpr unsigned non_residue = 5;
};
struct bls12_381_base {
  static constexpr std::size_t words = 6, limbs = 8;
  static constexpr integer<6> modulus{{0xb9feffffffffaaab, 0x1eabfffeb153ffff, 0x6730d2a0f6b0f624, 0x64774b84f38512bf,
                                       0x4b1ba7b6434bacd7, 0x1a0111ea397fe69a}};
};
struct bls12_381_scalar {
  static constexpr std::size_t words = 4, limbs = 5;
  static constexpr integer<4> modulus{{0xffffffff00000001, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48}};
  static constexpr unsigned two_adicity = 32;
  static constexpr unsigned non_residue = 5;
};

}  // namespace prover::vector
