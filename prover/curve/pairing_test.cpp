// Pairings: bilinear, non-degenerate, products in one go, and equal to a value computed by snarkjs.
#include "prover/curve/pairing.hpp"

#include <gtest/gtest.h>

#include "prover/curve/test_points.hpp"

namespace prover {
namespace {

template <class Curve>
class pairings : public ::testing::Test {};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(pairings, curves);

TYPED_TEST(pairings, are_bilinear_and_not_degenerate) {
  using g1 = typename TypeParam::g1;
  using g2 = typename TypeParam::g2;
  const auto a = small_integer<1>(1234567);
  const auto b = small_integer<1>(7654321);
  const auto ab = small_integer<1>(u64{1234567} * 7654321);
  const auto p = g1::generator();
  const auto q = g2::generator();
  const auto e = pairing<TypeParam>(multiply(p, a).to_affine(), multiply(q, b).to_affine());
  EXPECT_EQ(e, (pairing<TypeParam>(multiply(p, ab).to_affine(), q)));
  EXPECT_EQ(e, (pairing<TypeParam>(p, multiply(q, ab).to_affine())));
  EXPECT_NE(e, target<TypeParam>::one());
}

TYPED_TEST(pairings, of_infinity_are_one) {
  using g1 = typename TypeParam::g1;
  using g2 = typename TypeParam::g2;
  EXPECT_EQ((pairing<TypeParam>(affine<g1>::infinity(), g2::generator())), target<TypeParam>::one());
  EXPECT_EQ((pairing<TypeParam>(g1::generator(), affine<g2>::infinity())), target<TypeParam>::one());
}

TYPED_TEST(pairings, multiply_in_one_go) {
  using g1 = typename TypeParam::g1;
  using g2 = typename TypeParam::g2;
  const auto p = testing::multiples<g1>(2, 1);
  const auto q = testing::multiples<g2>(2, 2);
  const std::vector<pairing_input<TypeParam>> pairs{{p[0], q[0]}, {p[1], q[1]}, {-p[0], q[0]}, {-p[1], q[1]}};
  const auto all = std::span<const pairing_input<TypeParam>>(pairs);
  EXPECT_EQ(final_exponentiation<TypeParam>(miller_product<TypeParam>(all)), target<TypeParam>::one());
  EXPECT_EQ((pairing<TypeParam>(p[0], q[0]) * pairing<TypeParam>(p[1], q[1])),
            final_exponentiation<TypeParam>(miller_product<TypeParam>(all.first(2))));
}

TYPED_TEST(pairings, with_a_prepared_point_are_the_same) {
  using g1 = typename TypeParam::g1;
  using g2 = typename TypeParam::g2;
  const auto p = testing::multiples<g1>(3, 3);
  const auto q = testing::multiples<g2>(3, 4);
  const prepared_g2<TypeParam> q1(q[1]);
  const prepared_g2<TypeParam> q2(q[2]);
  const prepared_g2<TypeParam> infinity(affine<g2>::infinity());
  const std::vector<pairing_input<TypeParam>> plain{{p[0], q[0]}, {p[1], q[1]}, {p[2], q[2]}};
  const std::vector<prepared_pairing_input<TypeParam>> prepared{
      {p[1], &q1}, {p[2], &q2}, {p[0], &infinity}, {affine<g1>::infinity(), &q1}};
  const auto all = std::span<const pairing_input<TypeParam>>(plain);
  EXPECT_EQ(final_exponentiation<TypeParam>(miller_product<TypeParam>(all.first(1), prepared)),
            final_exponentiation<TypeParam>(miller_product<TypeParam>(all)));
  EXPECT_EQ(final_exponentiation<TypeParam>(miller_product<TypeParam>({}, std::span(prepared).first(1))),
            pairing<TypeParam>(p[1], q[1]));
}

}  // namespace
}  // namespace prover
