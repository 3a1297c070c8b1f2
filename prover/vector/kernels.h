// The tables of kernels by curve group and backend, and which backends this processor runs.
#pragma once
#include "group_kernels.h"

namespace prover::vector {

enum class group { bn254_g1, bn254_g2, bls12_381_g1, bls12_381_g2 };
enum class backend { emulated, ifma };

// Whether this processor has the instructions of the IFMA backend and this build contains them.
bool available();

// Throws std::runtime_error for a backend that cannot run here.
const group_kernels& kernels_of(group g, backend b);

namespace detail {
const group_kernels& emulated_kernels(group g);
const group_kernels& ifma_kernels(group g);
}  // namespace detail

}  // namespace prover::vector
