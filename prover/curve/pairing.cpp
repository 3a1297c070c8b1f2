// The Miller loop and the final exponentiation.
//
// The loop keeps Q on the twist in homogeneous coordinates and multiplies by sparse lines (Costello, Lange, Naehrig,
// eprint.iacr.org/2009/615; Aranha et al., eprint.iacr.org/2010/526). A D-type twist (BN254) gives lines
// l0 + l3 w + l4 vw, an M-type twist (BLS12-381) l0 + l1 v + l4 vw.
#include "prover/curve/pairing.hpp"

#include <array>
#include <vector>

#include "prover/curve/subgroup.hpp"

namespace prover {
namespace {

template <class Curve>
constexpr bool d_twist = Curve::id == curve_id::bn254;

// One pair on its way through the loop: the fixed points and the running multiple of Q.
template <class Curve>
struct walker {
  using fp = typename Curve::fp;
  using base = fp2<fp>;
  using g2 = typename Curve::g2;

  affine<typename Curve::g1> p;
  affine<g2> q;
  base x;
  base y;
  base z;

  explicit walker(const pairing_input<Curve>& pair) : p(pair.p), q(pair.q), x(q.x), y(q.y), z(base::one()) {}

  // T = 2T, and f times the tangent at T taken at P.
  void double_into(target<Curve>& f) {
    static const fp half = fp::from_u64(2).inverse();
    const base a = x * y * half;
    const base b = y.squared();
    const base c = z.squared();
    const base e = Curve::g2::b() * (c.doubled() + c);
    const base e3 = e.doubled() + e;
    const base g = (b + e3) * half;
    const base h = (y + z).squared() - (b + c);
    const base ee = e.squared();
    const base j = x.squared();
    x = a * (b - e3);
    y = g.squared() - (ee.doubled() + ee);
    z = b * h;
    multiply_line(f, -h, j.doubled() + j, e - b);
  }

  // T = T + R, and f times the line through both taken at P.
  void add_into(target<Curve>& f, const affine<g2>& r) {
    const base theta = y - r.y * z;
    const base lambda = x - r.x * z;
    const base c = theta.squared();
    const base d = lambda.squared();
    const base e = lambda * d;
    const base g = x * d;
    const base h = e + z * c - g.doubled();
    x = lambda * h;
    y = theta * (g - h) - e * y;
    z = z * e;
    multiply_line(f, lambda, -theta, theta * r.x - lambda * r.y);
  }

 private:
  // The line at P is at_y * P.y + at_x * P.x + constant; the type of the twist says which power of w each goes with.
  void multiply_line(target<Curve>& f, const base& at_y, const base& at_x, const base& constant) const {
    if constexpr (d_twist<Curve>) {
      f = f.times_034(at_y * p.y, at_x * p.x, constant);
    } else {
      f = f.times_014(constant, at_x * p.x, at_y * p.y);
    }
  }
};

// 6x + 2 for BN254 in non-adjacent form, x for BLS12-381 in binary, without the leading one, most significant first.
template <class Curve>
const std::vector<signed char>& loop_digits() {
  static const std::vector<signed char> digits = [] {
    std::vector<signed char> low_first;
    u128 n = d_twist<Curve> ? static_cast<u128>(Curve::x) * 6 + 2 : static_cast<u128>(Curve::x);
    while (n != 0) {
      signed char digit = 0;
      if ((n & 1) != 0) {
        digit = (n & 3) == 3 ? -1 : 1;
        n = digit < 0 ? n + 1 : n - 1;
      }
      low_first.push_back(digit);
      n >>= 1;
    }
    low_first.pop_back();
    return std::vector<signed char>(low_first.rbegin(), low_first.rend());
  }();
  return digits;
}

// f^x for the curve's positive x, in the cyclotomic subgroup.
template <class Curve>
target<Curve> power_x(const target<Curve>& f) {
  target<Curve> r = f;
  for (int i = std::bit_width(Curve::x) - 2; i >= 0; --i) {
    r = r.cyclotomic_squared();
    if (((Curve::x >> i) & 1) != 0) r = r * f;
  }
  return r;
}

// The part of the exponent that isn't a polynomial in the Frobenius map: Fuentes-Castaneda, Knapp, Rodriguez-Henriquez,
// "Faster hashing to G2" (SAC 2011), section 4: the exponent 2x (6x^2 + 3x + 1) (p^4 - p^2 + 1) / r.
target<bn254> hard_part(const target<bn254>& f) {
  const auto minus_x = [](const target<bn254>& a) { return power_x<bn254>(a).conjugate(); };
  const auto y0 = minus_x(f);
  const auto y1 = y0.cyclotomic_squared();
  const auto y3 = y1.cyclotomic_squared() * y1;
  const auto y4 = minus_x(y3);
  const auto y6 = minus_x(y4.cyclotomic_squared()).conjugate();
  const auto y8 = y6 * y4 * y3.conjugate();
  const auto y9 = y8 * y1;
  const auto y11 = y8 * y4 * f;
  const auto y13 = y9.frobenius() * y11;
  const auto y14 = y8.frobenius().frobenius() * y13;
  return (f.conjugate() * y9).frobenius().frobenius().frobenius() * y14;
}

// Hayashida, Hayasaka, Teruya, eprint.iacr.org/2020/875: 3 (p^4 - p^2 + 1) / r = (z - 1)^2 (z + p) (z^2 + p^2 - 1) + 3,
// where z = -x is the curve's (negative) parameter.
target<bls12_381> hard_part(const target<bls12_381>& f) {
  const auto power_z = [](const target<bls12_381>& a) { return power_x<bls12_381>(a).conjugate(); };
  auto t = power_z(f) * f.conjugate();
  t = power_z(t) * t.conjugate();
  t = power_z(t) * t.frobenius();
  t = power_z(power_z(t)) * t.frobenius().frobenius() * t.conjugate();
  return t * f.cyclotomic_squared() * f;
}

}  // namespace

template <class Curve>
target<Curve> miller_product(std::span<const pairing_input<Curve>> pairs) {
  std::vector<walker<Curve>> walkers;
  walkers.reserve(pairs.size());
  for (const auto& pair : pairs) {
    if (!pair.p.is_infinity() && !pair.q.is_infinity()) walkers.emplace_back(pair);
  }
  target<Curve> f = target<Curve>::one();
  for (const signed char digit : loop_digits<Curve>()) {
    f = f.squared();
    for (auto& w : walkers) {
      w.double_into(f);
      if (digit != 0) w.add_into(f, digit > 0 ? w.q : -w.q);
    }
  }
  if constexpr (Curve::x_is_negative) f = f.conjugate();
  if constexpr (Curve::id == curve_id::bn254) {
    for (auto& w : walkers) {
      const auto q1 = psi<Curve>(w.q);
      w.add_into(f, q1);
      w.add_into(f, -psi<Curve>(q1));
    }
  }
  return f;
}

template <class Curve>
target<Curve> final_exponentiation(const target<Curve>& f) {
  // The easy part, (p^6 - 1) (p^2 + 1), lands in the cyclotomic subgroup.
  const target<Curve> t = f.conjugate() * f.inverse();
  return hard_part(t.frobenius().frobenius() * t);
}

template target<bn254> miller_product<bn254>(std::span<const pairing_input<bn254>>);
template target<bn254> final_exponentiation<bn254>(const target<bn254>&);
template target<bls12_381> miller_product<bls12_381>(std::span<const pairing_input<bls12_381>>);
template target<bls12_381> final_exponentiation<bls12_381>(const target<bls12_381>&);

}  // namespace prover
