// The curves that the prover knows.
#pragma once

#include <cstdint>

namespace prover {

enum class curve_id : std::uint8_t { bn254, bls12_381 };

// The name for people: "BN254", "BLS12-381".
constexpr const char* name_of(curve_id curve) noexcept {
  return curve == curve_id::bn254 ? "BN254" : "BLS12-381";
}

// The name that snarkjs writes into JSON: "bn128", "bls12381".
constexpr const char* json_name_of(curve_id curve) noexcept {
  return curve == curve_id::bn254 ? "bn128" : "bls12381";
}

}  // namespace prover
