// Group laws with every awkward pair of operands, and the subgroup tests against multiplication by the order.
#include <gtest/gtest.h>

#include "prover/curve/subgroup.hpp"
#include "prover/curve/test_points.hpp"

namespace prover {
namespace {

template <class G>
class group : public ::testing::Test {};
using groups = ::testing::Types<bn254::g1, bn254::g2, bls12_381::g1, bls12_381::g2>;
TYPED_TEST_SUITE(group, groups);

TYPED_TEST(group, generator_is_on_the_curve_and_of_order_r) {
  const auto g = TypeParam::generator();
  EXPECT_TRUE(g.is_on_curve());
  EXPECT_FALSE(g.is_infinity());
  EXPECT_TRUE(multiply(g, TypeParam::curve::fr::modulus).is_infinity());
  EXPECT_TRUE(is_in_subgroup(g));
}

TYPED_TEST(group, adds_equal_opposite_and_infinite_points) {
  using point = xyzz<TypeParam>;
  const auto p = testing::multiples<TypeParam>(2, 5);
  const auto a = point::from_affine(p[0]);
  const auto infinity = affine<TypeParam>::infinity();

  auto sum = a;
  EXPECT_EQ(sum += p[0], a.doubled());
  sum = a;
  EXPECT_TRUE((sum += -p[0]).is_infinity());
  sum = a;
  EXPECT_EQ(sum += infinity, a);
  sum = point::infinity();
  EXPECT_EQ(sum += p[0], a);
  EXPECT_EQ(a + a, a.doubled());
  EXPECT_TRUE((a + -a).is_infinity());
  EXPECT_EQ(a + point::infinity(), a);
  EXPECT_EQ(point::infinity() + a, a);
  EXPECT_TRUE(point::infinity().doubled().is_infinity());
  EXPECT_TRUE(point::infinity().to_affine().is_infinity());
}

TYPED_TEST(group, is_commutative_and_associative) {
  const auto p = testing::multiples<TypeParam>(3, 6);
  using point = xyzz<TypeParam>;
  const auto a = point::from_affine(p[0]).doubled();
  const auto b = point::from_affine(p[1]).doubled();
  const auto c = point::from_affine(p[2]);
  EXPECT_EQ(a + b, b + a);
  EXPECT_EQ((a + b) + c, a + (b + c));
  EXPECT_TRUE((a + b).to_affine().is_on_curve());
  auto mixed = a;
  mixed += p[2];
  EXPECT_EQ(mixed, a + c);
}

TYPED_TEST(group, multiplies_like_repeated_addition) {
  const auto p = TypeParam::generator();
  auto sum = xyzz<TypeParam>::infinity();
  for (u64 k = 0; k < 20; ++k) {
    EXPECT_EQ(multiply(p, small_integer<1>(k)), sum);
    sum += p;
  }
}

TYPED_TEST(group, subgroup_test_agrees_with_multiplying_by_the_order) {
  for (u64 seed = 0; seed < 4; ++seed) {
    const auto p = testing::any_point<TypeParam>(seed);
    ASSERT_TRUE(p.is_on_curve());
    EXPECT_EQ(is_in_subgroup(p), multiply(p, TypeParam::curve::fr::modulus).is_infinity());
  }
  for (const auto& p : testing::multiples<TypeParam>(4, 9)) EXPECT_TRUE(is_in_subgroup(p));
}

TYPED_TEST(group, sees_a_point_off_the_curve) {
  auto p = TypeParam::generator();
  p.y = p.y + p.y;
  EXPECT_FALSE(p.is_on_curve());
}

}  // namespace
}  // namespace prover
