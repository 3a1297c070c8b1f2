// Montgomery's trick: n inverses for one inversion and 3 (n - 1) multiplications.
#pragma once

#include <span>
#include <vector>

namespace prover {

// Replaces every value by its inverse; zeros stay zero. `scratch` is kept by callers that come back often.
template <class F>
void invert_all(std::span<F> values, std::vector<F>& scratch) {
  scratch.resize(values.size());
  F product = F::one();
  for (std::size_t i = 0; i < values.size(); ++i) {
    scratch[i] = product;
    if (!values[i].is_zero()) product *= values[i];
  }
  F inverse = product.inverse();
  for (std::size_t i = values.size(); i-- > 0;) {
    if (values[i].is_zero()) continue;
    const F next = inverse * values[i];
    values[i] = inverse * scratch[i];
    inverse = next;
  }
}

}  // namespace prover
