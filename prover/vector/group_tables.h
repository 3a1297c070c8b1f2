// Instantiates the kernels of all groups for one backend; included by one source file per backend, which is compiled
// with that backend's processor flags.
#pragma once
#include "affine_addition.h"
#include "combination.h"
#include "kernels.h"
#include "twin.h"

namespace prover::vector::detail {

template <class F>
constexpr group_kernels make_table() {
  return {records<F>::words,       records<F>::outside_words,
          F::vector::lanes,        affine_addition<F>::workspace_words,
          import_points<F>,        copy_points<F>,
          affine_addition<F>::add, combination<F>::run};
}

template <class V>
const group_kernels& table_of(group g) {
  // BN254's small field leaves registers free for a second chain; the others have chains enough in one product.
  static constexpr group_kernels kBn1 = make_table<field<twin<V>, bn254_base>>();
  static constexpr group_kernels kBn2 = make_table<quadratic<field<V, bn254_base>>>();
  static constexpr group_kernels kBls1 = make_table<field<V, bls12_381_base>>();
  static constexpr group_kernels kBls2 = make_table<quadratic<field<V, bls12_381_base>>>();
  switch (g) {
    case group::bn254_g1:
      return kBn1;
    case group::bn254_g2:
      return kBn2;
    case group::bls12_381_g1:
      return kBls1;
    case group::bls12_381_g2:
      break;
  }
  return kBls2;
}

}  // namespace prover::vector::detail
