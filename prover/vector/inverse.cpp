// Binary greatest common divisor on 64-bit approximations: T. Pornin, "Optimized binary GCD for modular inversion"
// (eprint 2020/972), algorithm 2 with 31 inner steps.
#include "inverse.h"

#include <bit>

#include "constants.h"

namespace prover::vector {
namespace {

__extension__ using wide = unsigned __int128;
__extension__ using signed_wide = __int128;

constexpr unsigned kSteps = 31;
constexpr std::uint64_t kStepMask = (std::uint64_t{1} << kSteps) - 1;

template <std::size_t W>
struct inversion {
  using number = integer<W>;

  // The factors of one outer round: (a, b) <- (a f0 + b g0, a f1 + b g1) / 2^31.
  struct factors {
    std::int64_t f0, g0, f1, g1;
  };

  static unsigned length(const number& a, const number& b) {
    for (std::size_t i = W; i-- > 0;) {
      const std::uint64_t both = a.w[i] | b.w[i];
      if (both != 0) return static_cast<unsigned>(64 * i) + static_cast<unsigned>(std::bit_width(both));
    }
    return 0;
  }
  // The 33 bits of x below bit `top`, above its lowest 31 bits.
  static std::uint64_t approximate(const number& x, unsigned top) {
    if (top <= 64) return x.w[0];
    const unsigned from = top - 33, word = from / 64, shift = from % 64;
    std::uint64_t high = x.w[word] >> shift;
    if (shift != 0 && word + 1 < W) high |= x.w[word + 1] << (64 - shift);
    return (x.w[0] & kStepMask) | (high << kSteps);
  }
  static factors inner(std::uint64_t a, std::uint64_t b) {
    factors t{1, 0, 0, 1};
    for (unsigned i = 0; i < kSteps; ++i) {
      const bool odd = (a & 1) != 0;
      const bool swap = odd && a < b;
      const std::uint64_t a1 = swap ? b : a, b1 = swap ? a : b;
      const std::int64_t f0 = swap ? t.f1 : t.f0, f1 = swap ? t.f0 : t.f1;
      const std::int64_t g0 = swap ? t.g1 : t.g0, g1 = swap ? t.g0 : t.g1;
      a = (odd ? a1 - b1 : a1) >> 1;
      b = b1;
      t.f0 = odd ? f0 - f1 : f0;
      t.g0 = odd ? g0 - g1 : g0;
      t.f1 = f1 * 2;
      t.g1 = g1 * 2;
    }
    return t;
  }
  // |x f + y g| / 2^31, exact; tells whether the sum was negative.
  static bool combine(const number& x, const number& y, std::int64_t f, std::int64_t g, number& out) {
    std::uint64_t t[W + 1];
    linear(x, y, f, g, t);
    const bool negative = t[W] >> 63 != 0;
    if (negative) negate(t);
    for (std::size_t i = 0; i < W; ++i) out.w[i] = t[i] >> kSteps | t[i + 1] << (64 - kSteps);
    return negative;
  }
  // (x f + y g) / 2^31 mod m
  static number combine_modulo(const number& x, const number& y, std::int64_t f, std::int64_t g, const number& m,
                               std::uint64_t minus_m_inverse) {
    std::uint64_t t[W + 1];
    linear(x, y, f, g, t);
    const std::uint64_t q = (t[0] * minus_m_inverse) & kStepMask;
    wide carry = 0;
    for (std::size_t i = 0; i < W; ++i) {
      carry += static_cast<wide>(m.w[i]) * q + t[i];
      t[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    t[W] += static_cast<std::uint64_t>(carry);
    const bool negative = t[W] >> 63 != 0;
    number r;
    for (std::size_t i = 0; i < W; ++i) r.w[i] = t[i] >> kSteps | t[i + 1] << (64 - kSteps);
    if (negative) return plus(r, m);
    return r >= m ? r.minus(m) : r;
  }

  static number run(const number& x, const number& m) {
    number a = x, b = m, u{}, v{};
    u.w[0] = 1;
    const std::uint64_t minus_m_inverse = 0 - inverse_of_odd(m.w[0]);
    const unsigned rounds = (2 * length(m, m) + kSteps - 2) / kSteps;
    for (unsigned i = 0; i < rounds; ++i) {
      const unsigned top = length(a, b);
      factors t = inner(approximate(a, top), approximate(b, top));
      number next_a, next_b;
      if (combine(a, b, t.f0, t.g0, next_a)) t.f0 = -t.f0, t.g0 = -t.g0;
      if (combine(a, b, t.f1, t.g1, next_b)) t.f1 = -t.f1, t.g1 = -t.g1;
      a = next_a;
      b = next_b;
      const number next_u = combine_modulo(u, v, t.f0, t.g0, m, minus_m_inverse);
      v = combine_modulo(u, v, t.f1, t.g1, m, minus_m_inverse);
      u = next_u;
    }
    return v;
  }

 private:
  static void linear(const number& x, const number& y, std::int64_t f, std::int64_t g, std::uint64_t* t) {
    signed_wide carry = 0;
    for (std::size_t i = 0; i < W; ++i) {
      carry += product(x.w[i], f) + product(y.w[i], g);
      t[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    t[W] = static_cast<std::uint64_t>(carry);
  }
  static signed_wide product(std::uint64_t x, std::int64_t f) {  // |f| <= 2^31
    return static_cast<signed_wide>(x) * f;
  }
  static void negate(std::uint64_t* t) {
    std::uint64_t carry = 1;
    for (std::size_t i = 0; i <= W; ++i) {
      t[i] = ~t[i] + carry;
      carry = std::uint64_t{carry != 0 && t[i] == 0};
    }
  }
  static number plus(const number& x, const number& m) {
    number r;
    wide carry = 0;
    for (std::size_t i = 0; i < W; ++i) {
      carry += static_cast<wide>(x.w[i]) + m.w[i];
      r.w[i] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    return r;
  }
};

template <std::size_t W>
void invert_words(const std::uint64_t* in, const std::uint64_t* modulus, std::uint64_t* out) {
  integer<W> x, m;
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < W; ++i) {
    x.w[i] = in[i];
    m.w[i] = modulus[i];
    any |= in[i];
  }
  const integer<W> r = any == 0 ? integer<W>{} : inversion<W>::run(x, m);
  for (std::size_t i = 0; i < W; ++i) out[i] = r.w[i];
}

}  // namespace

void invert(const std::uint64_t* in, const std::uint64_t* modulus, std::size_t words, std::uint64_t* out) {
  words == 4 ? invert_words<4>(in, modulus, out) : invert_words<6>(in, modulus, out);
}

}  // namespace prover::vector
