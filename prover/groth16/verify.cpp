// The verification equation.
#include "prover/groth16/verify.hpp"

#include <array>

#include "prover/msm/msm.hpp"

namespace prover::groth16 {

template <class Curve>
verifier<Curve>::verifier(verification_points<Curve> p)
    : points(std::move(p)), alpha_beta(pairing<Curve>(points.alpha1, points.beta2)) {}

template <class Curve>
bool verifier<Curve>::accepts(const proof_points<Curve>& proof, std::span<const integer<4>> signals,
                              thread_pool& pool) const {
  using g1 = typename Curve::g1;
  if (signals.size() + 1 != points.ic.size()) return false;
  const msm::point_set<g1> ic(std::vector<affine<g1>>(points.ic.begin() + 1, points.ic.end()));
  xyzz<g1> public_sum = msm::multiply_sum(ic, signals, pool).sum;
  public_sum += points.ic[0];
  const std::array<pairing_input<Curve>, 3> pairs{
      {{proof.a, proof.b}, {-public_sum.to_affine(), points.gamma2}, {-proof.c, points.delta2}}};
  return final_exponentiation<Curve>(miller_product<Curve>(std::span<const pairing_input<Curve>>(pairs))) == alpha_beta;
}

template struct verifier<bn254>;
template struct verifier<bls12_381>;

}  // namespace prover::groth16
