// The inverse of one number modulo an odd prime: the only scalar step of a batch inversion.
#pragma once
#include <cstddef>
#include <cstdint>

namespace prover::vector {

// out = 1 / in mod modulus; all are little-endian words, in < modulus, words is 4 or 6. The inverse of 0 is 0.
// Takes a time that depends on the number. Allocates nothing.
void invert(const std::uint64_t* in, const std::uint64_t* modulus, std::size_t words, std::uint64_t* out);

}  // namespace prover::vector
