// Groth16 proving with snarkjs' keys, phase by phase.
//
// With w the witness: a = A w and b = B w on the n-th roots of unity, c = a b there. All three polynomials are
// evaluated on the odd 2n-th roots, where h = a b - c are the scalars of the key's H points (Lagrange basis of those
// odd roots), so nothing is ever divided by the vanishing polynomial.
//   pi_a = alpha + sum w_i A_i + r delta
//   pi_b = beta + sum w_i B_i + s delta                       (in G2; the same in G1 as b1)
//   pi_c = sum w_i C_i + sum h_i H_i + s pi_a + r b1 - r s delta
#pragma once

#include <optional>
#include <string>

#include "prover/format/wtns.hpp"
#include "prover/groth16/blinding.hpp"
#include "prover/groth16/key.hpp"
#include "telltale/core/result.hpp"
#include "telltale/prover/stages.hpp"

namespace prover::groth16 {

// The proof, verified. An error, and never a proof, where the witness does not satisfy the circuit or does not belong
// to the key, or where `stages` says to stop. Uses the pool's threads; any number of calls may run at once with one
// key. `fixed` replaces the random blinding, for tests only: such a proof hides nothing.
template <class Curve>
telltale::result<proof_points<Curve>> prove(const key<Curve>& k, const format::wtns& witness, thread_pool& pool,
                                            const std::optional<blinding>& fixed = std::nullopt,
                                            stage_listener* stages = nullptr);

}  // namespace prover::groth16
