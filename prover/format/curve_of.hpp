// Which curve a file's primes belong to.
#pragma once

#include <optional>
#include <span>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/format/sections.hpp"

namespace prover::format {

// The curve whose scalar field has this modulus, given as little-endian bytes.
inline std::optional<curve_id> curve_with_scalars(std::span<const std::byte> prime) {
  if (prime.size() != 32) return std::nullopt;
  const auto r = byte_cursor(prime).number<4>();
  if (r == bn254_fr::modulus) return curve_id::bn254;
  if (r == bls12_381_fr::modulus) return curve_id::bls12_381;
  return std::nullopt;
}

// The same by the base field.
inline std::optional<curve_id> curve_with_coordinates(std::span<const std::byte> prime) {
  if (prime.size() == 32 && byte_cursor(prime).number<4>() == bn254_fp::modulus) return curve_id::bn254;
  if (prime.size() == 48 && byte_cursor(prime).number<6>() == bls12_381_fp::modulus) return curve_id::bls12_381;
  return std::nullopt;
}

// Calls f with the curve's type as a value: with_curve(id, [](auto curve) { using c = decltype(curve); ... }).
template <class F>
auto with_curve(curve_id id, F&& f) {
  return id == curve_id::bn254 ? f(bn254{}) : f(bls12_381{});
}

}  // namespace prover::format
