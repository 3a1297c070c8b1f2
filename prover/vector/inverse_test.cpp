// Inversion modulo the two base fields, against GMP.
#include "inverse.h"

#include <gtest/gtest.h>

#include "constants.h"
#include "reference_test.h"

namespace prover::vector {
namespace {

using reference::number;

template <class M>
void check(const number& x, const number& p) {
  std::uint64_t in[M::words], out[M::words];
  (x % p).to_words(in, M::words);
  invert(in, M::modulus.w, M::words, out);
  const number y = number::from_words(out, M::words);
  ASSERT_TRUE(y < p);
  ASSERT_TRUE(x * y % p == number(1));
}

template <class M>
void check_field() {
  const number p = number::from_words(M::modulus.w, M::words);
  reference::random_words random(7);
  for (unsigned long i = 1; i < 200; ++i) {
    check<M>(i, p);
    check<M>(p - i, p);
    check<M>(p.divided(2) + i - number(100), p);
    check<M>(number(1).shifted(i), p);
    check<M>(number(1).shifted(i) - number(1) + p, p);
  }
  for (int i = 0; i < 2000; ++i) check<M>(random.below(p - number(1)) + number(1), p);
}

TEST(Inverse, OfNumbersModuloTheBaseFieldOfBn254) {
  check_field<bn254_base>();
}
TEST(Inverse, OfNumbersModuloTheBaseFieldOfBls12381) {
  check_field<bls12_381_base>();
}
TEST(Inverse, OfZeroIsZero) {
  std::uint64_t in[4] = {}, out[4] = {1, 1, 1, 1};
  invert(in, bn254_base::modulus.w, 4, out);
  for (const std::uint64_t w : out) EXPECT_EQ(w, 0u);
}

}  // namespace
}  // namespace prover::vector
