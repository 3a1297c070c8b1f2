// A proving key, ready for use: points prepared for the sums, rows, and the verifier that checks every proof.
#pragma once

#include <memory>

#include "prover/format/zkey.hpp"
#include "prover/groth16/verify.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/ntt/quotient.hpp"

namespace prover::groth16 {

// What a key consists of, in the layout of one code path.
template <class Curve>
struct key_content {
  using g1 = typename Curve::g1;
  using g2 = typename Curve::g2;

  format::zkey_header header;
  code_path path;
  affine<g1> alpha1, beta1, delta1;
  affine<g2> beta2, gamma2, delta2;
  std::vector<affine<g1>> ic;
  msm::resident_points<g1> a;
  msm::resident_points<g1> b1;
  msm::resident_points<g2> b2;
  msm::resident_points<g1> c;
  msm::resident_points<g1> h;
  format::sparse_rows a_rows;
  format::sparse_rows b_rows;
  std::vector<typename Curve::fr> values;
};

// Takes the points over, so that no second copy of a large key exists.
template <class Curve>
key_content<Curve> prepare(format::zkey<Curve> z, code_path path, thread_pool& pool);

// Spends up to `bytes` on tables of multiples, shared out to the sums in proportion to their points.
template <class Curve>
void add_tables(key_content<Curve>& content, std::size_t bytes, thread_pool& pool);

template <class Curve>
struct key : key_content<Curve> {
  key(key_content<Curve> content, thread_pool& pool);
  key(format::zkey<Curve> z, code_path layout, thread_pool& pool) : key(prepare(std::move(z), layout, pool), pool) {}

  ntt::quotient<Curve> quotient;
  std::shared_ptr<const verifier<Curve>> check;

  std::size_t bytes() const noexcept;
};

}  // namespace prover::groth16
