// Eight 64-bit lanes with the 52-bit multiply-add of AVX-512 IFMA: once as the instructions, once emulated in plain
// C++. Every kernel is a template over one of these two, so that the arithmetic is tested on any processor.
//
// A backend V has: V::word; V::mask (one bit per lane); V::lanes; and the static functions below. Kernels must not
// use anything of the standard library that a compiler may emit out of line: the linker could pick the copy that was
// compiled for AVX-512 and use it on a processor without.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__AVX512F__) && defined(__AVX512IFMA__)
#include <immintrin.h>
#endif

// Kernels for the instructions are inlined and unrolled by force, so that limbs live in registers; emulated ones, which
// only tests run, are not, so that they compile quickly, and neither are any under a sanitizer
// (PROVER_VECTOR_OUTLINED), whose checks would make megabytes of each.
#if !defined(__AVX512IFMA__) || defined(PROVER_VECTOR_OUTLINED)
#define PROVER_VECTOR_UNROLL
#define PROVER_VECTOR_INLINE inline
#elif defined(__clang__)
#define PROVER_VECTOR_UNROLL _Pragma("clang loop unroll(full)")
#define PROVER_VECTOR_INLINE [[gnu::always_inline]] inline
#else
#define PROVER_VECTOR_UNROLL _Pragma("GCC unroll 64")
#define PROVER_VECTOR_INLINE [[gnu::always_inline]] inline
#endif

namespace prover::vector {

inline constexpr unsigned kLimbBits = 52;
inline constexpr std::uint64_t kLimbMask = (std::uint64_t{1} << kLimbBits) - 1;

// The emulated backend: defines what each operation means.
struct emulated {
  static constexpr std::size_t lanes = 8;
  using mask = std::uint32_t;
  struct word {
    std::uint64_t v[8];
  };

  template <class F>
  PROVER_VECTOR_INLINE static word each(F f) {
    word r;
    for (std::size_t i = 0; i < 8; ++i) r.v[i] = f(i);
    return r;
  }
  PROVER_VECTOR_INLINE static word set(std::uint64_t x) {
    return each([=](std::size_t) { return x; });
  }
  PROVER_VECTOR_INLINE static word load(const std::uint64_t* p) {
    return each([=](std::size_t i) { return p[i]; });
  }
  PROVER_VECTOR_INLINE static void store(std::uint64_t* p, const word& a) {
    for (std::size_t i = 0; i < 8; ++i) p[i] = a.v[i];
  }
  PROVER_VECTOR_INLINE static word add(const word& a, const word& b) {
    return each([&](std::size_t i) { return a.v[i] + b.v[i]; });
  }
  PROVER_VECTOR_INLINE static word sub(const word& a, const word& b) {
    return each([&](std::size_t i) { return a.v[i] - b.v[i]; });
  }
  PROVER_VECTOR_INLINE static word bit_and(const word& a, const word& b) {
    return each([&](std::size_t i) { return a.v[i] & b.v[i]; });
  }
  PROVER_VECTOR_INLINE static word bit_or(const word& a, const word& b) {
    return each([&](std::size_t i) { return a.v[i] | b.v[i]; });
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_left(const word& a) {
    return each([&](std::size_t i) { return a.v[i] << K; });
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_right(const word& a) {
    return each([&](std::size_t i) { return a.v[i] >> K; });
  }
  template <unsigned K>  // keeps the sign
  PROVER_VECTOR_INLINE static word shift_right_signed(const word& a) {
    return each([&](std::size_t i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(a.v[i]) >> K); });
  }
  template <unsigned K>  // the low half of (high:low) >> K, 0 < K < 64
  PROVER_VECTOR_INLINE static word funnel(const word& low, const word& high) {
    return each([&](std::size_t i) { return (low.v[i] >> K) | (high.v[i] << (64 - K)); });
  }
  // acc + the low (high) 52 bits of the 104-bit product of the low 52 bits of a and b
  PROVER_VECTOR_INLINE static word madd_low(const word& acc, const word& a, const word& b) {
    return each(
        [&](std::size_t i) { return acc.v[i] + static_cast<std::uint64_t>(product(a.v[i], b.v[i]) & kLimbMask); });
  }
  PROVER_VECTOR_INLINE static word madd_high(const word& acc, const word& a, const word& b) {
    return each([&](std::size_t i) { return acc.v[i] + static_cast<std::uint64_t>(product(a.v[i], b.v[i]) >> 52); });
  }
  PROVER_VECTOR_INLINE static mask equal(const word& a, const word& b) {
    mask m = 0;
    for (std::size_t i = 0; i < 8; ++i) m |= mask{a.v[i] == b.v[i]} << i;
    return m;
  }
  PROVER_VECTOR_INLINE static word select(mask m, const word& yes, const word& no) {
    return each([&](std::size_t i) { return (m >> i & 1) != 0 ? yes.v[i] : no.v[i]; });
  }
  PROVER_VECTOR_INLINE static word sub_where(const word& a, mask m, const word& x, const word& y) {  // m ? x - y : a
    return each([&](std::size_t i) { return (m >> i & 1) != 0 ? x.v[i] - y.v[i] : a.v[i]; });
  }
  template <unsigned K>  // lane i takes lane i ^ K; K is 1, 2 or 4
  PROVER_VECTOR_INLINE static word swap_lanes(const word& a) {
    return each([&](std::size_t i) { return a.v[i ^ K]; });
  }
  PROVER_VECTOR_INLINE static word broadcast_lane(const word& a, unsigned lane) {
    return each([&](std::size_t) { return a.v[lane]; });
  }
  // Row i of the 8x8 matrix comes from rows[i]; out[j] holds column j.
  PROVER_VECTOR_INLINE static void load_transposed(const std::uint64_t* const* rows, std::size_t offset, word* out) {
    for (std::size_t j = 0; j < 8; ++j) out[j] = each([=](std::size_t i) { return rows[i][offset + j]; });
  }
  PROVER_VECTOR_INLINE static void store_transposed(std::uint64_t* const* rows, std::size_t offset, const word* in) {
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j) rows[i][offset + j] = in[j].v[i];
  }
  // Eight consecutive elements of four words; out[j] holds word j of each.
  PROVER_VECTOR_INLINE static void load_elements(const std::uint64_t* p, word* out) {
    for (std::size_t j = 0; j < 4; ++j) out[j] = each([=](std::size_t i) { return p[4 * i + j]; });
  }
  PROVER_VECTOR_INLINE static void store_elements(std::uint64_t* p, const word* in) {
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 4; ++j) p[4 * i + j] = in[j].v[i];
  }

 private:
  __extension__ using wide = unsigned __int128;
  PROVER_VECTOR_INLINE static wide product(std::uint64_t a, std::uint64_t b) {
    return static_cast<wide>(a & kLimbMask) * (b & kLimbMask);
  }
};

#if defined(__AVX512F__) && defined(__AVX512IFMA__)
// The same operations as single instructions. Needs AVX-512 F, DQ, VL, IFMA and VBMI2.
struct ifma {
  static constexpr std::size_t lanes = 8;
  using mask = std::uint32_t;
  struct word {
    __m512i v;
  };

  PROVER_VECTOR_INLINE static word set(std::uint64_t x) { return {_mm512_set1_epi64(static_cast<long long>(x))}; }
  PROVER_VECTOR_INLINE static word load(const std::uint64_t* p) { return {_mm512_loadu_si512(p)}; }
  PROVER_VECTOR_INLINE static void store(std::uint64_t* p, word a) { _mm512_storeu_si512(p, a.v); }
  PROVER_VECTOR_INLINE static word add(word a, word b) { return {_mm512_add_epi64(a.v, b.v)}; }
  PROVER_VECTOR_INLINE static word sub(word a, word b) { return {_mm512_sub_epi64(a.v, b.v)}; }
  PROVER_VECTOR_INLINE static word bit_and(word a, word b) { return {_mm512_and_si512(a.v, b.v)}; }
  PROVER_VECTOR_INLINE static word bit_or(word a, word b) { return {_mm512_or_si512(a.v, b.v)}; }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_left(word a) {
    return {_mm512_slli_epi64(a.v, K)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_right(word a) {
    return {_mm512_srli_epi64(a.v, K)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word shift_right_signed(word a) {
    return {_mm512_srai_epi64(a.v, K)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word funnel(word low, word high) {
    return {_mm512_shrdi_epi64(low.v, high.v, static_cast<int>(K))};
  }
  PROVER_VECTOR_INLINE static word madd_low(word acc, word a, word b) {
    return {_mm512_madd52lo_epu64(acc.v, a.v, b.v)};
  }
  PROVER_VECTOR_INLINE static word madd_high(word acc, word a, word b) {
    return {_mm512_madd52hi_epu64(acc.v, a.v, b.v)};
  }
  PROVER_VECTOR_INLINE static mask equal(word a, word b) { return _mm512_cmpeq_epi64_mask(a.v, b.v); }
  PROVER_VECTOR_INLINE static word select(mask m, word yes, word no) {
    return {_mm512_mask_blend_epi64(static_cast<__mmask8>(m), no.v, yes.v)};
  }
  PROVER_VECTOR_INLINE static word sub_where(word a, mask m, word x, word y) {
    return {_mm512_mask_sub_epi64(a.v, static_cast<__mmask8>(m), x.v, y.v)};
  }
  template <unsigned K>
  PROVER_VECTOR_INLINE static word swap_lanes(word a) {
    if constexpr (K == 1) return {_mm512_permutex_epi64(a.v, 0xb1)};
    if constexpr (K == 2) return {_mm512_permutex_epi64(a.v, 0x4e)};
    if constexpr (K == 4) return {_mm512_shuffle_i64x2(a.v, a.v, 0x4e)};
  }
  PROVER_VECTOR_INLINE static word broadcast_lane(word a, unsigned lane) {
    return {_mm512_permutexvar_epi64(_mm512_set1_epi64(static_cast<long long>(lane)), a.v)};
  }
  PROVER_VECTOR_INLINE static void load_transposed(const std::uint64_t* const* rows, std::size_t offset, word* out) {
    word in[8];
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 8; ++i) in[i] = load(rows[i] + offset);
    transpose(in, out);
  }
  PROVER_VECTOR_INLINE static void store_transposed(std::uint64_t* const* rows, std::size_t offset, const word* in) {
    word out[8];
    transpose(in, out);
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 8; ++i) store(rows[i] + offset, out[i]);
  }
  PROVER_VECTOR_INLINE static void load_elements(const std::uint64_t* p, word* out) {
    const __m512i a = load(p).v, b = load(p + 8).v, c = load(p + 16).v, d = load(p + 24).v;
    // Words 0 and 2 of elements 0 to 3, and 4 to 7; then words 1 and 3.
    const __m512i even = _mm512_unpacklo_epi64(a, b), even2 = _mm512_unpacklo_epi64(c, d);
    const __m512i odd = _mm512_unpackhi_epi64(a, b), odd2 = _mm512_unpackhi_epi64(c, d);
    const __m512i first = _mm512_setr_epi64(0, 4, 1, 5, 8, 12, 9, 13);
    const __m512i second = _mm512_setr_epi64(2, 6, 3, 7, 10, 14, 11, 15);
    out[0] = {_mm512_permutex2var_epi64(even, first, even2)};
    out[1] = {_mm512_permutex2var_epi64(odd, first, odd2)};
    out[2] = {_mm512_permutex2var_epi64(even, second, even2)};
    out[3] = {_mm512_permutex2var_epi64(odd, second, odd2)};
  }
  PROVER_VECTOR_INLINE static void store_elements(std::uint64_t* p, const word* in) {
    const __m512i low = _mm512_setr_epi64(0, 2, 8, 10, 1, 3, 9, 11);
    const __m512i high = _mm512_setr_epi64(4, 6, 12, 14, 5, 7, 13, 15);
    const __m512i even = _mm512_permutex2var_epi64(in[0].v, low, in[2].v);
    const __m512i even2 = _mm512_permutex2var_epi64(in[0].v, high, in[2].v);
    const __m512i odd = _mm512_permutex2var_epi64(in[1].v, low, in[3].v);
    const __m512i odd2 = _mm512_permutex2var_epi64(in[1].v, high, in[3].v);
    store(p, {_mm512_unpacklo_epi64(even, odd)});
    store(p + 8, {_mm512_unpackhi_epi64(even, odd)});
    store(p + 16, {_mm512_unpacklo_epi64(even2, odd2)});
    store(p + 24, {_mm512_unpackhi_epi64(even2, odd2)});
  }

 private:
  // Three rounds of exchanges between rows that are 1, 2 and 4 apart: 24 shuffles.
  PROVER_VECTOR_INLINE static void transpose(const word* in, word* out) {
    __m512i a[8], b[8];
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 8; i += 2) {
      a[i] = _mm512_unpacklo_epi64(in[i].v, in[i + 1].v);
      a[i + 1] = _mm512_unpackhi_epi64(in[i].v, in[i + 1].v);
    }
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 8; i += 4) {
      PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < 2; ++j) {
        b[i + j] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0x88);
        b[i + j + 2] = _mm512_shuffle_i64x2(a[i + j], a[i + j + 2], 0xdd);
      }
    }
    PROVER_VECTOR_UNROLL for (std::size_t j = 0; j < 4; ++j) {
      const __m512i low = _mm512_shuffle_i64x2(b[j], b[j + 4], 0x88);
      const __m512i high = _mm512_shuffle_i64x2(b[j], b[j + 4], 0xdd);
      out[j] = {low};
      out[j + 4] = {high};
    }
  }
};
#endif

}  // namespace prover::vector
