// BLS12-381: y^2 = x^3 + 4 over Fp, its M-type sextic twist y^2 = x^3 + 4 (1 + u) over Fp2, and the tower above it.
// Constants: draft-irtf-cfrg-pairing-friendly-curves, section 4.2.1.
#pragma once

#include "prover/curve/point.hpp"
#include "prover/field/fp12.hpp"
#include "prover/field/parameters.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

struct bls12_381_tower {
  using fp = bls12_381_fp;
  static constexpr fp2<fp> xi() noexcept { return {fp::one(), fp::one()}; }
  static constexpr fp2<fp> times_xi(const fp2<fp>& a) noexcept { return {a.c0 - a.c1, a.c0 + a.c1}; }
};

struct bls12_381 {
  using fp = bls12_381_fp;
  using fr = bls12_381_fr;
  using tower = bls12_381_tower;
  static constexpr curve_id id = curve_id::bls12_381;

  // The curve's parameter is -x: r = x^4 - x^2 + 1.
  static constexpr u64 x = 0xd201000000010000;
  static constexpr bool x_is_negative = true;

  // snarkjs takes its roots of unity from 5, the smallest non-residue; so do we, or keys would not fit.
  static constexpr u64 fr_generator = 5;
  static constexpr unsigned fr_two_adicity = 32;

  struct g1 {
    using curve = bls12_381;
    using coordinate = fp;
    static constexpr const char* name = "G1";
    static constexpr fp b() noexcept { return fp::from_u64(4); }
    static constexpr affine<g1> generator() noexcept {
      return {
          fp::from_integer(from_hex<6>("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1a"
                                       "effb3af00adb22c6bb")),
          fp::from_integer(from_hex<6>("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888a"
                                       "e40caa232946c5e7e1"))};
    }
  };

  struct g2 {
    using curve = bls12_381;
    using coordinate = fp2<fp>;
    static constexpr const char* name = "G2";
    static constexpr coordinate b() noexcept { return {fp::from_u64(4), fp::from_u64(4)}; }
    static constexpr affine<g2> generator() noexcept {
      return {
          {fp::from_integer(from_hex<6>("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bb"
                                        "efd48056c8c121bdb8")),
           fp::from_integer(from_hex<6>("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d"
                                        "57e5ac7d055d042b7e"))},
          {fp::from_integer(from_hex<6>("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca2"
                                        "89e193548608b82801")),
           fp::from_integer(from_hex<6>("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1d"
                                        "a1aaa9075ff05f79be"))}};
    }
  };
};

}  // namespace prover
