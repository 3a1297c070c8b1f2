// What a proof and a verification key consist of.
#pragma once

#include <vector>

#include "prover/curve/point.hpp"

namespace prover::groth16 {

template <class Curve>
struct proof_points {
  affine<typename Curve::g1> a;
  affine<typename Curve::g2> b;
  affine<typename Curve::g1> c;
  friend bool operator==(const proof_points&, const proof_points&) = default;
};

template <class Curve>
struct verification_points {
  affine<typename Curve::g1> alpha1;
  affine<typename Curve::g2> beta2;
  affine<typename Curve::g2> gamma2;
  affine<typename Curve::g2> delta2;
  std::vector<affine<typename Curve::g1>> ic;  // for the constant one and every public signal
};

}  // namespace prover::groth16
