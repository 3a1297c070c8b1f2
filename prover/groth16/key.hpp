// A proving key, ready for use: points prepared for the sums, rows, and the verifier that checks every proof.
#pragma once

#include <memory>

#include "prover/format/zkey.hpp"
#include "prover/groth16/verify.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/ntt/quotient.hpp"

namespace prover::groth16 {

template <class Curve>
struct key {
  using g1 = typename Curve::g1;
  using g2 = typename Curve::g2;

  // Takes the points over, so that no second copy of a large key exists.
  key(format::zkey<Curve> z, code_path path, thread_pool& pool);

  format::zkey_header header;
  affine<g1> alpha1, beta1, delta1;
  affine<g2> beta2, delta2;
  msm::resident_points<g1> a;
  msm::resident_points<g1> b1;
  msm::resident_points<g2> b2;
  msm::resident_points<g1> c;
  msm::resident_points<g1> h;
  format::sparse_rows a_rows;
  format::sparse_rows b_rows;
  std::vector<typename Curve::fr> values;
  ntt::quotient<Curve> quotient;
  std::shared_ptr<const verifier<Curve>> check;

  std::size_t bytes() const noexcept;
};

}  // namespace prover::groth16
