// The four prime fields: BN254 (EIP-196; circom calls it bn128) and BLS12-381
// (draft-irtf-cfrg-pairing-friendly-curves).
#pragma once

#include "prover/field/field.hpp"

namespace prover {

struct bn254_fp_parameters {
  static constexpr integer<4> modulus = from_hex<4>("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47");
};

struct bn254_fr_parameters {
  static constexpr integer<4> modulus = from_hex<4>("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001");
};

struct bls12_381_fp_parameters {
  static constexpr integer<6> modulus =
      from_hex<6>("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab");
};

struct bls12_381_fr_parameters {
  static constexpr integer<4> modulus = from_hex<4>("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001");
};

using bn254_fp = field<bn254_fp_parameters>;
using bn254_fr = field<bn254_fr_parameters>;
using bls12_381_fp = field<bls12_381_fp_parameters>;
using bls12_381_fr = field<bls12_381_fr_parameters>;

}  // namespace prover
