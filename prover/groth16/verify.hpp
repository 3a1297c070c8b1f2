// Groth16 verification: e(A, B) = e(alpha, beta) e(sum of signal_i * IC_i, gamma) e(C, delta).
#pragma once

#include <span>

#include "prover/curve/pairing.hpp"
#include "prover/groth16/points.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::groth16 {

// A verification key with what is the same for every proof computed once.
template <class Curve>
struct verifier {
  explicit verifier(verification_points<Curve> p);

  // Whether the proof is right for these public signals, one for every point of IC but the first, each below r.
  // The proof's points must be on the curve and in the subgroup; the readers see to that.
  bool accepts(const proof_points<Curve>& proof, std::span<const integer<4>> signals, thread_pool& pool) const;

  verification_points<Curve> points;
  target<Curve> alpha_beta;
  prepared_g2<Curve> gamma;
  prepared_g2<Curve> delta;
  msm::resident_points<typename Curve::g1> signal_points;
};

}  // namespace prover::groth16
