// Plain multi-limb integers: little-endian arrays of 64-bit words, with the few operations that Montgomery
// arithmetic, scalars and decimal text need. Everything is constexpr, so that constants follow from the modulus.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace prover {

using u64 = std::uint64_t;
__extension__ typedef unsigned __int128 u128;

// Least significant word first: the order in memory is the order of the bytes in the snarkjs file formats.
template <std::size_t N>
using integer = std::array<u64, N>;

// a + b * c + carry, which always fits into 128 bits; the upper word becomes the new carry.
constexpr u64 multiply_add(u64 a, u64 b, u64 c, u64& carry) noexcept {
  const u128 t = static_cast<u128>(b) * c + a + carry;
  carry = static_cast<u64>(t >> 64);
  return static_cast<u64>(t);
}

constexpr u64 add_carry(u64 a, u64 b, u64& carry) noexcept {
  const u128 t = static_cast<u128>(a) + b + carry;
  carry = static_cast<u64>(t >> 64);
  return static_cast<u64>(t);
}

constexpr u64 subtract_borrow(u64 a, u64 b, u64& borrow) noexcept {
  const u128 t = static_cast<u128>(a) - b - borrow;
  borrow = static_cast<u64>(t >> 64) & 1;
  return static_cast<u64>(t);
}

#if defined(__x86_64__)
// What compilers don't find by themselves: a carry that stays in its flag from word to word.
namespace carry_chains {
inline u64 add(integer<4>& a, const integer<4>& b) noexcept {
  u64 out;
  asm("add %[b0], %[a0]\n\t"
      "adc %[b1], %[a1]\n\t"
      "adc %[b2], %[a2]\n\t"
      "adc %[b3], %[a3]\n\t"
      "sbb %[out], %[out]"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [out] "=r"(out)
      : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3])
      : "cc");
  return ~out + 1;
}
inline u64 subtract(integer<4>& a, const integer<4>& b) noexcept {
  u64 out;
  asm("sub %[b0], %[a0]\n\t"
      "sbb %[b1], %[a1]\n\t"
      "sbb %[b2], %[a2]\n\t"
      "sbb %[b3], %[a3]\n\t"
      "sbb %[out], %[out]"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [out] "=r"(out)
      : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3])
      : "cc");
  return ~out + 1;
}
inline u64 add(integer<6>& a, const integer<6>& b) noexcept {
  u64 out;
  asm("add %[b0], %[a0]\n\t"
      "adc %[b1], %[a1]\n\t"
      "adc %[b2], %[a2]\n\t"
      "adc %[b3], %[a3]\n\t"
      "adc %[b4], %[a4]\n\t"
      "adc %[b5], %[a5]\n\t"
      "sbb %[out], %[out]"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [a4] "+&r"(a[4]), [a5] "+&r"(a[5]),
        [out] "=r"(out)
      : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]), [b4] "rm"(b[4]), [b5] "rm"(b[5])
      : "cc");
  return ~out + 1;
}
inline u64 subtract(integer<6>& a, const integer<6>& b) noexcept {
  u64 out;
  asm("sub %[b0], %[a0]\n\t"
      "sbb %[b1], %[a1]\n\t"
      "sbb %[b2], %[a2]\n\t"
      "sbb %[b3], %[a3]\n\t"
      "sbb %[b4], %[a4]\n\t"
      "sbb %[b5], %[a5]\n\t"
      "sbb %[out], %[out]"
      : [a0] "+&r"(a[0]), [a1] "+&r"(a[1]), [a2] "+&r"(a[2]), [a3] "+&r"(a[3]), [a4] "+&r"(a[4]), [a5] "+&r"(a[5]),
        [out] "=r"(out)
      : [b0] "rm"(b[0]), [b1] "rm"(b[1]), [b2] "rm"(b[2]), [b3] "rm"(b[3]), [b4] "rm"(b[4]), [b5] "rm"(b[5])
      : "cc");
  return ~out + 1;
}
// a - b where that isn't negative.
inline void reduce(integer<4>& a, const integer<4>& b) noexcept {
  integer<4> t = a;
  asm("sub %[b0], %[t0]\n\t"
      "sbb %[b1], %[t1]\n\t"
      "sbb %[b2], %[t2]\n\t"
      "sbb %[b3], %[t3]\n\t"
      "cmovc %[a0], %[t0]\n\t"
      "cmovc %[a1], %[t1]\n\t"
      "cmovc %[a2], %[t2]\n\t"
      "cmovc %[a3], %[t3]"
      : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3])
      : [a0] "rm"(a[0]), [a1] "rm"(a[1]), [a2] "rm"(a[2]), [a3] "rm"(a[3]), [b0] "m"(b[0]), [b1] "m"(b[1]),
        [b2] "m"(b[2]), [b3] "m"(b[3])
      : "cc");
  a = t;
}
// a - b where that isn't negative.
inline void reduce(integer<6>& a, const integer<6>& b) noexcept {
  integer<6> t = a;
  asm("sub %[b0], %[t0]\n\t"
      "sbb %[b1], %[t1]\n\t"
      "sbb %[b2], %[t2]\n\t"
      "sbb %[b3], %[t3]\n\t"
      "sbb %[b4], %[t4]\n\t"
      "sbb %[b5], %[t5]\n\t"
      "cmovc %[a0], %[t0]\n\t"
      "cmovc %[a1], %[t1]\n\t"
      "cmovc %[a2], %[t2]\n\t"
      "cmovc %[a3], %[t3]\n\t"
      "cmovc %[a4], %[t4]\n\t"
      "cmovc %[a5], %[t5]"
      : [t0] "+&r"(t[0]), [t1] "+&r"(t[1]), [t2] "+&r"(t[2]), [t3] "+&r"(t[3]), [t4] "+&r"(t[4]), [t5] "+&r"(t[5])
      : [a0] "rm"(a[0]), [a1] "rm"(a[1]), [a2] "rm"(a[2]), [a3] "rm"(a[3]), [a4] "rm"(a[4]), [a5] "rm"(a[5]),
        [b0] "m"(b[0]), [b1] "m"(b[1]), [b2] "m"(b[2]), [b3] "m"(b[3]), [b4] "m"(b[4]), [b5] "m"(b[5])
      : "cc");
  a = t;
}
}  // namespace carry_chains
#endif

// a += b, returning the carry out of the top word.
template <std::size_t N>
constexpr u64 add_to(integer<N>& a, const integer<N>& b) noexcept {
#if defined(__x86_64__)
  if constexpr (N == 4 || N == 6) {
    if (!std::is_constant_evaluated()) return carry_chains::add(a, b);
  }
#endif
  u64 carry = 0;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < N; ++i) a[i] = add_carry(a[i], b[i], carry);
  return carry;
}

// a -= b, returning the borrow out of the top word.
template <std::size_t N>
constexpr u64 subtract_from(integer<N>& a, const integer<N>& b) noexcept {
#if defined(__x86_64__)
  if constexpr (N == 4 || N == 6) {
    if (!std::is_constant_evaluated()) return carry_chains::subtract(a, b);
  }
#endif
  u64 borrow = 0;
#pragma GCC unroll 8
  for (std::size_t i = 0; i < N; ++i) a[i] = subtract_borrow(a[i], b[i], borrow);
  return borrow;
}

template <std::size_t N>
constexpr bool less(const integer<N>& a, const integer<N>& b) noexcept {
  integer<N> t = a;
  return subtract_from(t, b) != 0;
}

template <std::size_t N>
constexpr bool is_zero(const integer<N>& a) noexcept {
  u64 bits = 0;
  for (std::size_t i = 0; i < N; ++i) bits |= a[i];
  return bits == 0;
}

template <std::size_t N>
constexpr void shift_right_one(integer<N>& a) noexcept {
#pragma GCC unroll 8
  for (std::size_t i = 0; i + 1 < N; ++i) a[i] = (a[i] >> 1) | (a[i + 1] << 63);
  a[N - 1] >>= 1;
}

template <std::size_t N>
constexpr bool bit(const integer<N>& a, std::size_t i) noexcept {
  return ((a[i / 64] >> (i % 64)) & 1) != 0;
}

// The number of bits up to and including the highest one that is set.
template <std::size_t N>
constexpr std::size_t bit_length(const integer<N>& a) noexcept {
  for (std::size_t i = N; i-- > 0;) {
    if (a[i] != 0) return 64 * i + static_cast<std::size_t>(std::bit_width(a[i]));
  }
  return 0;
}

// Exact division by a small number; used for exponents such as (p - 1) / 6.
template <std::size_t N>
constexpr integer<N> divide_small(const integer<N>& a, u64 divisor) noexcept {
  integer<N> quotient{};
  u128 remainder = 0;
  for (std::size_t i = N; i-- > 0;) {
    const u128 t = (remainder << 64) | a[i];
    quotient[i] = static_cast<u64>(t / divisor);
    remainder = t % divisor;
  }
  return quotient;
}

template <std::size_t N>
constexpr integer<N> small_integer(u64 value) noexcept {
  integer<N> r{};
  r[0] = value;
  return r;
}

// The constants of this code base are written in hexadecimal; anything else does not compile.
template <std::size_t N>
consteval integer<N> from_hex(std::string_view digits) {
  integer<N> r{};
  for (const char c : digits) {
    for (std::size_t i = N; i-- > 1;) r[i] = (r[i] << 4) | (r[i - 1] >> 60);
    r[0] <<= 4;
    if (c >= '0' && c <= '9') {
      r[0] |= static_cast<u64>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      r[0] |= static_cast<u64>(c - 'a' + 10);
    } else {
      throw "not a hexadecimal digit";
    }
  }
  return r;
}

}  // namespace prover
