// What stands behind the public classes: one curve's type out of two.
#pragma once

#include <memory>
#include <optional>
#include <variant>

#include "prover/format/r1cs.hpp"
#include "prover/format/wtns.hpp"
#include "prover/groth16/key.hpp"
#include "telltale/prover/engine.hpp"

namespace prover {

template <template <class> class T>
using either_curve = std::variant<T<bn254>, T<bls12_381>>;

template <class Curve>
using shared_verifier = std::shared_ptr<const groth16::verifier<Curve>>;

struct verification_key::state {
  either_curve<shared_verifier> verifier;
};

struct proving_key::state {
  template <class Curve>
  state(groth16::key_content<Curve> content, thread_pool& pool)
      : key(std::in_place_type<groth16::key<Curve>>, std::move(content), pool) {}
  either_curve<groth16::key> key;
};

struct witness::state {
  format::wtns values;
};

struct circuit::state {
  format::r1cs system;
  std::optional<format::byte_source> names;
};

struct proof::state {
  either_curve<groth16::proof_points> points;
};

template <class Variant>
curve_id curve_at(const Variant& v) noexcept {
  return v.index() == 0 ? curve_id::bn254 : curve_id::bls12_381;
}

}  // namespace prover
