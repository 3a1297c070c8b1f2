// The Miller loop and the final exponentiation.
//
// The loop keeps Q on the twist in homogeneous coordinates and multiplies by sparse lines (Costello, Lange, Naehrig,
// eprint.iacr.org/2009/615; Aranha et al., eprint.iacr.org/2010/526). A D-type twist (BN254) gives lines
// l0 + l3 w + l4 vw, an M-type twist (BLS12-381) l0 + l1 v + l4 vw.
#include "prover/curve/pairing.hpp"

#include <array>
#include <utility>
#include <vector>

#include "prover/curve/subgroup.hpp"
#include "prover/field/batch_inverse.hpp"

namespace prover {
namespace {

template <class Curve>
constexpr bool d_twist = Curve::id == curve_id::bn254;

// The line at (x, y) is at_y y + at_x x + constant.
template <class Curve>
struct line {
  using base = fp2<typename Curve::fp>;
  base at_y;
  base at_x;
  base constant;
};

// The type of the twist says which power of w each part of a line goes with.
template <class Curve>
target<Curve> times_line(const target<Curve>& f, const line<Curve>& l, const affine<typename Curve::g1>& p) {
  if constexpr (d_twist<Curve>) {
    return f.times_034(l.at_y * p.y, l.at_x * p.x, l.constant);
  } else {
    return f.times_014(l.constant, l.at_x * p.x, l.at_y * p.y);
  }
}

// A multiple of Q on its way through the loop.
template <class Curve>
class walker {
 public:
  using fp = typename Curve::fp;
  using base = fp2<fp>;
  using g2 = typename Curve::g2;

  explicit walker(const affine<g2>& q) : q_(q), x_(q.x), y_(q.y), z_(base::one()) {}

  // T = 2T, and the tangent at T.
  line<Curve> twice() {
    static const fp half = fp::from_u64(2).inverse();
    const base a = x_ * y_ * half;
    const base b = y_.squared();
    const base c = z_.squared();
    const base e = Curve::g2::b() * (c.doubled() + c);
    const base e3 = e.doubled() + e;
    const base g = (b + e3) * half;
    const base h = (y_ + z_).squared() - (b + c);
    const base ee = e.squared();
    const base j = x_.squared();
    x_ = a * (b - e3);
    y_ = g.squared() - (ee.doubled() + ee);
    z_ = b * h;
    return {-h, j.doubled() + j, e - b};
  }

  // T = T + Q or T - Q by the digit's sign, and the line through both.
  line<Curve> add(signed char digit) { return add(digit > 0 ? q_ : -q_); }

  // BN254's loop ends with psi(Q) and -psi^2(Q).
  line<Curve> add_psi() {
    q_ = psi<Curve>(q_);
    return add(q_);
  }
  line<Curve> subtract_psi_again() { return add(-psi<Curve>(q_)); }

 private:
  line<Curve> add(const affine<g2>& r) {
    const base theta = y_ - r.y * z_;
    const base lambda = x_ - r.x * z_;
    const base c = theta.squared();
    const base d = lambda.squared();
    const base e = lambda * d;
    const base g = x_ * d;
    const base h = e + z_ * c - g.doubled();
    x_ = lambda * h;
    y_ = theta * (g - h) - e * y_;
    z_ = z_ * e;
    return {lambda, -theta, theta * r.x - lambda * r.y};
  }

  affine<g2> q_;
  base x_;
  base y_;
  base z_;
};

// n in signed digits, zero or odd and below 2^(width - 1), most significant first: no `width` digits in a row have two
// that are not zero.
std::vector<signed char> signed_digits(u128 n, unsigned width) {
  std::vector<signed char> low_first;
  for (; n != 0; n >>= 1) {
    signed char digit = 0;
    if ((n & 1) != 0) {
      const int low = static_cast<int>(n & ((u128{1} << width) - 1));
      digit = static_cast<signed char>(low >> (width - 1) != 0 ? low - (1 << width) : low);
      n -= static_cast<u128>(digit);
    }
    low_first.push_back(digit);
  }
  return {low_first.rbegin(), low_first.rend()};
}

// 6x + 2 for BN254, x for BLS12-381, without the leading one.
template <class Curve>
const std::vector<signed char>& loop_digits() {
  static const std::vector<signed char> digits = [] {
    auto all = signed_digits(d_twist<Curve> ? static_cast<u128>(Curve::x) * 6 + 2 : static_cast<u128>(Curve::x), 2);
    all.erase(all.begin());
    return all;
  }();
  return digits;
}

// f^x for the curve's positive x, in the cyclotomic subgroup, where squarings are cheap and inverses free.
template <class Curve>
target<Curve> power_x(const target<Curve>& f) {
  static const std::vector<signed char> digits = signed_digits(Curve::x, 4);
  std::array<target<Curve>, 4> odd;  // f, f^3, f^5, f^7
  odd[0] = f;
  const target<Curve> square = f.cyclotomic_squared();
  for (std::size_t i = 1; i < odd.size(); ++i) odd[i] = odd[i - 1] * square;
  const auto power = [&](signed char digit) {
    return digit > 0 ? odd[static_cast<std::size_t>(digit / 2)] : odd[static_cast<std::size_t>(-digit / 2)].conjugate();
  };
  target<Curve> r = power(digits.front());
  for (std::size_t i = 1; i < digits.size(); ++i) {
    r = r.cyclotomic_squared();
    if (digits[i] != 0) r = r * power(digits[i]);
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
prepared_g2<Curve>::prepared_g2(const affine<typename Curve::g2>& q) {
  if (q.is_infinity()) return;
  std::vector<prover::line<Curve>> all;
  walker<Curve> w(q);
  for (const signed char digit : loop_digits<Curve>()) {
    all.push_back(w.twice());
    if (digit != 0) all.push_back(w.add(digit));
  }
  if constexpr (Curve::id == curve_id::bn254) {
    all.push_back(w.add_psi());
    all.push_back(w.subtract_psi_again());
  }
  std::vector<fp2<typename Curve::fp>> inverses;
  std::vector<fp2<typename Curve::fp>> scratch;
  for (const auto& l : all) inverses.push_back(l.at_y);
  invert_all(std::span(inverses), scratch);
  for (std::size_t i = 0; i < all.size(); ++i) {
    lines_.push_back({all[i].at_x * inverses[i], all[i].constant * inverses[i]});
  }
}

namespace {

// A pair whose lines are known: at (x, y), divided by y, they are 1 + at_x (x / y) + constant (1 / y).
template <class Curve>
struct prepared_walker {
  using fp = typename Curve::fp;
  std::span<const typename prepared_g2<Curve>::line> lines;
  fp over_y;
  fp x_over_y;

  target<Curve> times_line(const target<Curve>& f, std::size_t step) const {
    const auto& l = lines[step];
    if constexpr (d_twist<Curve>) {
      return f.times_1_34(l.at_x * x_over_y, l.constant * over_y);
    } else {
      return f.times_01_1(l.constant * over_y, l.at_x * x_over_y);
    }
  }
};

}  // namespace

template <class Curve>
target<Curve> miller_product(std::span<const pairing_input<Curve>> pairs,
                             std::span<const prepared_pairing_input<Curve>> prepared) {
  std::vector<std::pair<walker<Curve>, affine<typename Curve::g1>>> walkers;
  std::vector<prepared_walker<Curve>> known;
  for (const auto& [p, q] : pairs) {
    if (!p.is_infinity() && !q.is_infinity()) walkers.emplace_back(q, p);
  }
  for (const auto& [p, q] : prepared) {
    if (p.is_infinity() || q->lines().empty()) continue;
    const auto over_y = p.y.inverse();
    known.push_back({q->lines(), over_y, p.x * over_y});
  }
  target<Curve> f = target<Curve>::one();
  std::size_t step = 0;
  const auto multiply_lines = [&](auto next) {
    for (auto& [w, p] : walkers) f = times_line<Curve>(f, next(w), p);
    for (const auto& k : known) f = k.times_line(f, step);
    ++step;
  };
  for (const signed char digit : loop_digits<Curve>()) {
    f = f.squared();
    multiply_lines([](walker<Curve>& w) { return w.twice(); });
    if (digit != 0) multiply_lines([&](walker<Curve>& w) { return w.add(digit); });
  }
  if constexpr (Curve::x_is_negative) f = f.conjugate();
  if constexpr (Curve::id == curve_id::bn254) {
    multiply_lines([](walker<Curve>& w) { return w.add_psi(); });
    multiply_lines([](walker<Curve>& w) { return w.subtract_psi_again(); });
  }
  return f;
}

template <class Curve>
target<Curve> final_exponentiation(const target<Curve>& f) {
  // The easy part, (p^6 - 1) (p^2 + 1), lands in the cyclotomic subgroup.
  const target<Curve> t = f.conjugate() * f.inverse();
  return hard_part(t.frobenius().frobenius() * t);
}

template class prepared_g2<bn254>;
template class prepared_g2<bls12_381>;
template target<bn254> miller_product<bn254>(std::span<const pairing_input<bn254>>,
                                             std::span<const prepared_pairing_input<bn254>>);
template target<bn254> final_exponentiation<bn254>(const target<bn254>&);
template target<bls12_381> miller_product<bls12_381>(std::span<const pairing_input<bls12_381>>,
                                                     std::span<const prepared_pairing_input<bls12_381>>);
template target<bls12_381> final_exponentiation<bls12_381>(const target<bls12_381>&);

}  // namespace prover
