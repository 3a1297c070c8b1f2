// From a parsed .zkey to a key in use.
#include "prover/groth16/key.hpp"

#include <bit>

namespace prover::groth16 {

template <class Curve>
key<Curve>::key(format::zkey<Curve> z, code_path path, thread_pool& pool)
    : header(z.header),
      alpha1(z.alpha1),
      beta1(z.beta1),
      delta1(z.delta1),
      beta2(z.beta2),
      delta2(z.delta2),
      a(std::move(z.a), path, pool),
      b1(std::move(z.b1), path, pool),
      b2(std::move(z.b2), path, pool),
      c(std::move(z.c), path, pool),
      h(std::move(z.h), path, pool),
      a_rows(std::move(z.a_rows)),
      b_rows(std::move(z.b_rows)),
      values(std::move(z.values)),
      quotient(static_cast<unsigned>(std::countr_zero(z.header.domain_size)), path, pool),
      check(std::make_shared<const verifier<Curve>>(
          verification_points<Curve>{z.alpha1, z.beta2, z.gamma2, z.delta2, std::move(z.ic)})) {}

template <class Curve>
std::size_t key<Curve>::bytes() const noexcept {
  const auto of = [](const auto& v) { return v.size() * sizeof(v[0]); };
  return a.bytes() + b1.bytes() + b2.bytes() + c.bytes() + h.bytes() + of(a_rows.starts) + of(a_rows.entries) +
         of(b_rows.starts) + of(b_rows.entries) + of(values) + of(check->points.ic) + sizeof *this;
}

template struct key<bn254>;
template struct key<bls12_381>;

}  // namespace prover::groth16
