// Whether a point on the curve lies in the subgroup of prime order r, by an endomorphism instead of a multiplication
// by r. Each test is exact, not probabilistic:
//   BN254 G1      the cofactor is 1
//   BN254 G2      [x+1]P + psi([x]P) + psi^2([x]P) = psi^3([2x]P)   (El Housni, Guillevic, Piellard, eprint 2022/352)
//   BLS12-381 G1  phi(P) = -[x^2]P, phi(x, y) = (beta x, y)          (Scott, eprint 2021/1130)
//   BLS12-381 G2  psi(P) = [x]P                                      (same)
#pragma once

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"

namespace prover {

// The untwisted Frobenius map on G2: conjugates, and multiplies by the constants that the twist asks for.
template <class Curve>
affine<typename Curve::g2> psi(const affine<typename Curve::g2>& p) noexcept {
  using base = fp2<typename Curve::fp>;
  struct constants {
    base x;
    base y;
  };
  static const constants k = [] {
    const auto& g = fp12<typename Curve::tower>::frobenius_factors();
    if constexpr (Curve::id == curve_id::bn254) return constants{g[2], g[3]};  // D-type: times w^2 and w^3
    return constants{g[2].inverse(), g[3].inverse()};                          // M-type: divided by them
  }();
  return {p.x.conjugate() * k.x, p.y.conjugate() * k.y};
}

template <class Curve>
xyzz<typename Curve::g2> psi(const xyzz<typename Curve::g2>& p) noexcept {
  using g2 = typename Curve::g2;
  const affine<g2> moved = psi<Curve>(affine<g2>{p.x, p.y});
  return {moved.x, moved.y, p.zz.conjugate(), p.zzz.conjugate()};
}

inline bool is_in_subgroup(const affine<bn254::g1>&) noexcept {
  return true;
}

inline bool is_in_subgroup(const affine<bn254::g2>& p) noexcept {
  if (p.is_infinity()) return true;
  const xyzz<bn254::g2> xp = multiply(p, small_integer<1>(bn254::x));
  const xyzz<bn254::g2> psi_xp = psi<bn254>(xp);
  const xyzz<bn254::g2> psi2_xp = psi<bn254>(psi_xp);
  xyzz<bn254::g2> left = xp;
  left += p;
  left += psi_xp;
  left += psi2_xp;
  return left == psi<bn254>(psi2_xp).doubled();
}

inline bool is_in_subgroup(const affine<bls12_381::g1>& p) noexcept {
  if (p.is_infinity()) return true;
  // The cube root of unity that goes with -x^2; the other one is its square. A test compares with [r]P.
  static const bls12_381_fp beta = bls12_381_fp::from_integer(
      from_hex<6>("5f19672fdf76ce51ba69c6076a0f77eaddb3a93be6f89688de17d813620a00022e01fffffffefffe"));
  const integer<1> x = small_integer<1>(bls12_381::x);
  const xyzz<bls12_381::g1> x2p = multiply(multiply(p, x), x);
  return -x2p == xyzz<bls12_381::g1>{beta * p.x, p.y, bls12_381_fp::one(), bls12_381_fp::one()};
}

inline bool is_in_subgroup(const affine<bls12_381::g2>& p) noexcept {
  if (p.is_infinity()) return true;
  const xyzz<bls12_381::g2> xp = -multiply(p, small_integer<1>(bls12_381::x));
  const affine<bls12_381::g2> moved = psi<bls12_381>(p);
  return xp == xyzz<bls12_381::g2>::from_affine(moved);
}

}  // namespace prover
