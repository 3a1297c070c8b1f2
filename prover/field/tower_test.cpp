// The extension towers of both curves.
#include <gtest/gtest.h>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/field/test_values.hpp"

namespace prover {
namespace {

template <class T>
class tower : public ::testing::Test {};
using towers = ::testing::Types<bn254_tower, bls12_381_tower>;
TYPED_TEST_SUITE(tower, towers);

TYPED_TEST(tower, multiplies_like_a_ring) {
  testing::values random(11);
  for (int i = 0; i < 8; ++i) {
    const auto a = random.twelve<TypeParam>();
    const auto b = random.twelve<TypeParam>();
    const auto c = random.twelve<TypeParam>();
    EXPECT_EQ((a * b) * c, a * (b * c));
    EXPECT_EQ(a * b, b * a);
    EXPECT_EQ(a.squared(), a * a);
    EXPECT_EQ(a * a.inverse(), fp12<TypeParam>::one());
    EXPECT_EQ(a.c0.squared(), a.c0 * a.c0);
    EXPECT_EQ(a.c0.c0.squared(), a.c0.c0 * a.c0.c0);
    EXPECT_EQ(TypeParam::times_xi(a.c0.c1), a.c0.c1 * TypeParam::xi());
  }
}

TYPED_TEST(tower, sparse_products_equal_full_ones) {
  testing::values random(12);
  using base = fp2<typename TypeParam::fp>;
  const auto f = random.twelve<TypeParam>();
  const auto a = random.pair<typename TypeParam::fp>();
  const auto b = random.pair<typename TypeParam::fp>();
  const auto c = random.pair<typename TypeParam::fp>();
  const auto zero = base::zero();
  EXPECT_EQ(f.times_034(a, b, c), (f * fp12<TypeParam>{{a, zero, zero}, {b, c, zero}}));
  EXPECT_EQ(f.times_014(a, b, c), (f * fp12<TypeParam>{{a, b, zero}, {zero, c, zero}}));
  EXPECT_EQ(f.times_1_34(b, c), f.times_034(base::one(), b, c));
  EXPECT_EQ(f.times_01_1(a, b), f.times_014(a, b, base::one()));
}

TYPED_TEST(tower, frobenius_is_the_power_p) {
  const auto f = testing::values(13).twelve<TypeParam>();
  auto power = fp12<TypeParam>::one();
  const auto p = TypeParam::fp::modulus;
  for (std::size_t i = bit_length(p); i-- > 0;) {
    power = power.squared();
    if (bit(p, i)) power = power * f;
  }
  EXPECT_EQ(f.frobenius(), power);
}

TYPED_TEST(tower, cyclotomic_squaring_is_squaring_there) {
  const auto f = testing::values(14).twelve<TypeParam>();
  const auto t = f.conjugate() * f.inverse();
  const auto g = t.frobenius().frobenius() * t;
  EXPECT_EQ(g.cyclotomic_squared(), g * g);
  EXPECT_EQ(g * g.conjugate(), fp12<TypeParam>::one());
}

}  // namespace
}  // namespace prover
