// Points of short Weierstrass curves y^2 = x^3 + b. A group G (G1 or G2 of a curve) names its coordinate field and b:
// G::coordinate, G::b(). All operations are complete: equal, opposite and infinite operands give the right sum.
//
// affine<G> is what keys and proofs hold; infinity is (0, 0), as in a .zkey, which is never on these curves (b != 0).
// xyzz<G> is what sums accumulate in: x = X / ZZ, y = Y / ZZZ, ZZ^3 = ZZZ^2, infinity where ZZ = 0
// (hyperelliptic.org/EFD/g1p/auto-shortw-xyzz.html).
#pragma once

#include <span>
#include <vector>

#include "prover/field/batch_inverse.hpp"
#include "prover/field/integer.hpp"

namespace prover {

template <class G>
struct affine {
  using coordinate = typename G::coordinate;
  coordinate x;
  coordinate y;

  static constexpr affine infinity() noexcept { return {coordinate::zero(), coordinate::zero()}; }
  constexpr bool is_infinity() const noexcept { return x.is_zero() && y.is_zero(); }
  friend constexpr bool operator==(const affine&, const affine&) noexcept = default;
  constexpr affine operator-() const noexcept { return {x, -y}; }

  // True for infinity too.
  bool is_on_curve() const noexcept { return is_infinity() || y.squared() == x.squared() * x + G::b(); }
};

template <class G>
struct xyzz {
  using coordinate = typename G::coordinate;
  coordinate x;
  coordinate y;
  coordinate zz;
  coordinate zzz;

  static constexpr xyzz infinity() noexcept {
    return {coordinate::zero(), coordinate::zero(), coordinate::zero(), coordinate::zero()};
  }
  static constexpr xyzz from_affine(const affine<G>& p) noexcept {
    if (p.is_infinity()) return infinity();
    return {p.x, p.y, coordinate::one(), coordinate::one()};
  }
  constexpr bool is_infinity() const noexcept { return zz.is_zero(); }
  constexpr xyzz operator-() const noexcept { return {x, -y, zz, zzz}; }

  // dbl-2008-s-1
  constexpr xyzz doubled() const noexcept {
    if (is_infinity()) return *this;
    const coordinate u = y.doubled();
    const coordinate v = u.squared();
    const coordinate w = u * v;
    const coordinate s = x * v;
    const coordinate xx = x.squared();
    const coordinate m = xx.doubled() + xx;
    const coordinate x3 = m.squared() - s.doubled();
    return {x3, m * (s - x3) - w * y, v * zz, w * zzz};
  }

  // madd-2008-s
  constexpr xyzz& operator+=(const affine<G>& p) noexcept {
    if (p.is_infinity()) return *this;
    if (is_infinity()) return *this = from_affine(p);
    const coordinate h = p.x * zz - x;
    const coordinate r = p.y * zzz - y;
    if (h.is_zero()) return *this = r.is_zero() ? doubled() : infinity();
    const coordinate hh = h.squared();
    const coordinate hhh = h * hh;
    const coordinate q = x * hh;
    const coordinate x3 = r.squared() - hhh - q.doubled();
    return *this = {x3, r * (q - x3) - y * hhh, zz * hh, zzz * hhh};
  }

  // add-2008-s
  constexpr xyzz& operator+=(const xyzz& p) noexcept {
    if (p.is_infinity()) return *this;
    if (is_infinity()) return *this = p;
    const coordinate u = x * p.zz;
    const coordinate s = y * p.zzz;
    const coordinate h = p.x * zz - u;
    const coordinate r = p.y * zzz - s;
    if (h.is_zero()) return *this = r.is_zero() ? doubled() : infinity();
    const coordinate hh = h.squared();
    const coordinate hhh = h * hh;
    const coordinate q = u * hh;
    const coordinate x3 = r.squared() - hhh - q.doubled();
    return *this = {x3, r * (q - x3) - s * hhh, zz * p.zz * hh, zzz * p.zzz * hhh};
  }

  affine<G> to_affine() const noexcept {
    if (is_infinity()) return affine<G>::infinity();
    // 1 / ZZZ gives both: 1 / ZZ = (ZZ / ZZZ)^2, because ZZ^3 = ZZZ^2.
    const coordinate inverse = zzz.inverse();
    return {x * (zz * inverse).squared(), y * inverse};
  }

  // Whether both stand for the same point.
  friend bool operator==(const xyzz& a, const xyzz& b) noexcept {
    if (a.is_infinity() || b.is_infinity()) return a.is_infinity() == b.is_infinity();
    return a.x * b.zz == b.x * a.zz && a.y * b.zzz == b.y * a.zzz;
  }
};

template <class G>
constexpr xyzz<G> operator+(xyzz<G> a, const xyzz<G>& b) noexcept {
  return a += b;
}

// scalar * p, by doubling and adding; for single points. Sums of many are msm/'s work.
template <class G, std::size_t N>
constexpr xyzz<G> multiply(const affine<G>& p, const integer<N>& scalar) noexcept {
  xyzz<G> r = xyzz<G>::infinity();
  for (std::size_t i = bit_length(scalar); i-- > 0;) {
    r = r.doubled();
    if (bit(scalar, i)) r += p;
  }
  return r;
}

template <class G, std::size_t N>
constexpr xyzz<G> multiply(const xyzz<G>& p, const integer<N>& scalar) noexcept {
  xyzz<G> r = xyzz<G>::infinity();
  for (std::size_t i = bit_length(scalar); i-- > 0;) {
    r = r.doubled();
    if (bit(scalar, i)) r += p;
  }
  return r;
}

}  // namespace prover
