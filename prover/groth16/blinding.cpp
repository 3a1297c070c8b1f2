// Uniform numbers, by rejection.
#include "prover/groth16/blinding.hpp"

#include <span>

#include "prover/field/random.hpp"

namespace prover::groth16 {

integer<4> random_below(const integer<4>& modulus) {
  const std::size_t unused_bits = 256 - bit_length(modulus);
  for (;;) {
    integer<4> candidate{};
    fill_randomly(std::as_writable_bytes(std::span(candidate)));
    candidate[3] >>= unused_bits;
    if (less(candidate, modulus)) return candidate;
  }
}

}  // namespace prover::groth16
