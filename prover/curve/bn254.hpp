// BN254: y^2 = x^3 + 3 over Fp, its D-type sextic twist y^2 = x^3 + 3 / (9 + u) over Fp2, and the tower above it.
// Constants: EIP-196 and EIP-197.
#pragma once

#include "prover/curve/point.hpp"
#include "prover/field/fp12.hpp"
#include "prover/field/parameters.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

struct bn254_tower {
  using fp = bn254_fp;
  static constexpr fp2<fp> xi() noexcept { return {fp::from_u64(9), fp::one()}; }
  static constexpr fp2<fp> times_xi(const fp2<fp>& a) noexcept {
    const fp2<fp> nine = a.doubled().doubled().doubled() + a;
    return {nine.c0 - a.c1, nine.c1 + a.c0};
  }
};

struct bn254 {
  using fp = bn254_fp;
  using fr = bn254_fr;
  using tower = bn254_tower;
  static constexpr curve_id id = curve_id::bn254;

  // The curve's parameter x: p = 36x^4 + 36x^3 + 24x^2 + 6x + 1.
  static constexpr u64 x = 0x44e992b44a6909f1;
  static constexpr bool x_is_negative = false;

  // The multiplicative group of Fr: 5 generates it, and 2^28 divides its order.
  static constexpr u64 fr_generator = 5;
  static constexpr unsigned fr_two_adicity = 28;

  struct g1 {
    using curve = bn254;
    using coordinate = fp;
    static constexpr const char* name = "G1";
    static constexpr fp b() noexcept { return fp::from_u64(3); }
    static constexpr affine<g1> generator() noexcept { return {fp::one(), fp::from_u64(2)}; }
  };

  struct g2 {
    using curve = bn254;
    using coordinate = fp2<fp>;
    static constexpr const char* name = "G2";
    static coordinate b() noexcept {
      static const coordinate value = tower::xi().inverse() * fp::from_u64(3);
      return value;
    }
    static constexpr affine<g2> generator() noexcept {
      constexpr auto element = [](const integer<4>& plain) { return fp::from_integer(plain); };
      return {{element(from_hex<4>("1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed")),
               element(from_hex<4>("198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"))},
              {element(from_hex<4>("12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa")),
               element(from_hex<4>("090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"))}};
    }
  };
};

}  // namespace prover
