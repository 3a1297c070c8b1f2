// Values for tests and benchmarks: the same on every run, spread over the whole field.
#pragma once

#include <random>

#include "prover/field/field.hpp"
#include "prover/field/fp12.hpp"

namespace prover::testing {

class values {
 public:
  explicit values(u64 seed) : generator_(seed) {}

  u64 word() { return generator_(); }

  template <std::size_t N>
  integer<N> number() {
    integer<N> r{};
    for (auto& limb : r) limb = generator_();
    return r;
  }

  template <class F>
  F element() {
    F r{};
    do {
      r.limbs = number<F::limb_count>();
      r.limbs[F::limb_count - 1] >>= 64 * F::limb_count - F::modulus_bits;
    } while (!r.is_reduced());
    return r;
  }

  template <class F>
  fp2<F> pair() {
    return {element<F>(), element<F>()};
  }

  template <class T>
  fp6<T> triple() {
    return {pair<typename T::fp>(), pair<typename T::fp>(), pair<typename T::fp>()};
  }

  template <class T>
  fp12<T> twelve() {
    return {triple<T>(), triple<T>()};
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace prover::testing
