// The verification equation.
#include "prover/groth16/verify.hpp"

#include <array>

namespace prover::groth16 {
namespace {

// Public signals are few: sums of them are made with the portable kernels on any processor.
template <class G>
msm::resident_points<G> all_but_the_first(const std::vector<affine<G>>& points) {
  thread_pool none(1);
  return {{points.begin() + 1, points.end()}, code_path::portable, none};
}

// Up to here the sum is faster bit by bit than as sums are in msm/, which are made for thousands.
constexpr std::size_t few = 32;

// The bits of all signals together, so that they share their doublings.
template <class G>
xyzz<G> sum_bit_by_bit(std::span<const affine<G>> points, std::span<const integer<4>> signals) {
  auto sum = xyzz<G>::infinity();
  for (std::size_t i = G::curve::fr::modulus_bits; i-- > 0;) {
    sum = sum.doubled();
    for (std::size_t k = 0; k < signals.size(); ++k) {
      if (bit(signals[k], i)) sum += points[k];
    }
  }
  return sum;
}

}  // namespace

template <class Curve>
verifier<Curve>::verifier(verification_points<Curve> p)
    : points(std::move(p)),
      alpha_beta(pairing<Curve>(points.alpha1, points.beta2)),
      gamma(points.gamma2),
      delta(points.delta2),
      signal_points(all_but_the_first(points.ic)) {}

template <class Curve>
bool verifier<Curve>::accepts(const proof_points<Curve>& proof, std::span<const integer<4>> signals,
                              thread_pool& pool) const {
  if (signals.size() + 1 != points.ic.size()) return false;
  auto public_sum = signals.size() <= few ? sum_bit_by_bit<typename Curve::g1>(std::span(points.ic).subspan(1), signals)
                                          : signal_points.sum(signals, pool);
  public_sum += points.ic[0];
  const pairing_input<Curve> a_b{proof.a, proof.b};
  const std::array<prepared_pairing_input<Curve>, 2> others{{{-public_sum.to_affine(), &gamma}, {-proof.c, &delta}}};
  return final_exponentiation<Curve>(miller_product<Curve>(
             std::span(&a_b, 1), std::span<const prepared_pairing_input<Curve>>(others))) == alpha_beta;
}

template struct verifier<bn254>;
template struct verifier<bls12_381>;

}  // namespace prover::groth16
