// The two random numbers that hide the witness in a proof.
#pragma once

#include <optional>

#include "prover/field/integer.hpp"
#include "prover/parallel/secret.hpp"

namespace prover::groth16 {

// Uniform below `modulus`, from the operating system's generator, by rejection. Throws std::system_error where the
// system has no randomness to give.
integer<4> random_below(const integer<4>& modulus);

struct blinding {
  integer<4> r;
  integer<4> s;
};

}  // namespace prover::groth16
