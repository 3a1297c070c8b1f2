// Sums against one multiplication after the other, with every kind of scalar and point.
#include "prover/msm/msm.hpp"

#include <gtest/gtest.h>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/curve/test_points.hpp"

namespace prover::msm {
namespace {

template <class G>
class sums : public ::testing::Test {
 protected:
  using fr = typename G::curve::fr;

  static xyzz<G> naive(const std::vector<affine<G>>& points, const std::vector<integer<4>>& scalars) {
    xyzz<G> sum = xyzz<G>::infinity();
    for (std::size_t i = 0; i < points.size(); ++i) sum += multiply(points[i], scalars[i]);
    return sum;
  }

  static void expect_right(const std::vector<affine<G>>& points, const std::vector<integer<4>>& scalars) {
    const auto expected = naive(points, scalars);
    const point_set<G> set(points);
    for (const unsigned threads : {1U, 3U}) {
      thread_pool pool(threads);
      EXPECT_EQ(multiply_sum(set, std::span<const integer<4>>(scalars), pool).sum, expected) << threads << " threads";
    }
  }

  static std::vector<integer<4>> full_size(std::size_t n) {
    testing::values random(n);
    std::vector<integer<4>> scalars(n);
    for (auto& s : scalars) s = random.element<fr>().limbs;
    return scalars;
  }
};
using groups = ::testing::Types<bn254::g1, bn254::g2, bls12_381::g1, bls12_381::g2>;
TYPED_TEST_SUITE(sums, groups);

TYPED_TEST(sums, of_full_size_scalars_are_right) {
  for (const std::size_t n : {0U, 1U, 2U, 3U, 150U}) {
    this->expect_right(testing::multiples<TypeParam>(n, n), this->full_size(n));
  }
}

TYPED_TEST(sums, of_mixed_scalars_are_right) {
  auto scalars = this->full_size(120);
  const auto r = TypeParam::curve::fr::modulus;
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    auto minus = r;
    switch (i % 8) {
      case 0:
        scalars[i] = {};
        break;
      case 1:
        scalars[i] = small_integer<4>(1);
        break;
      case 2:
        subtract_from(minus, small_integer<4>(1));
        scalars[i] = minus;
        break;
      case 3:
        scalars[i] = small_integer<4>(~u64{0});
        break;
      case 4:
        subtract_from(minus, small_integer<4>(77));
        scalars[i] = minus;
        break;
      case 5:
        shift_right_one(minus);
        scalars[i] = minus;
        break;  // just below r / 2
      default:
        break;
    }
  }
  this->expect_right(testing::multiples<TypeParam>(120, 1), scalars);
}

TYPED_TEST(sums, with_equal_opposite_and_infinite_points_are_right) {
  auto points = testing::multiples<TypeParam>(64, 2);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i % 4 == 0) points[i] = points[0];
    if (i % 4 == 1) points[i] = -points[0];
    if (i % 8 == 2) points[i] = affine<TypeParam>::infinity();
  }
  // Few different scalars, so that equal and opposite points meet in one bucket.
  std::vector<integer<4>> scalars(64);
  const auto big = this->full_size(2);
  for (std::size_t i = 0; i < scalars.size(); ++i)
    scalars[i] = i < 16 ? small_integer<4>(1) : i < 32 ? small_integer<4>(5) : big[i % 2];
  this->expect_right(points, scalars);
  this->expect_right(std::vector(64, affine<TypeParam>::infinity()), scalars);
  this->expect_right(std::vector(64, points[0]), std::vector(64, big[0]));
}

TYPED_TEST(sums, count_what_they_were_made_of) {
  auto points = testing::multiples<TypeParam>(5, 3);
  points[4] = affine<TypeParam>::infinity();
  auto scalars = this->full_size(5);
  scalars[0] = {};
  scalars[1] = small_integer<4>(1);
  scalars[2] = small_integer<4>(9);
  thread_pool pool(1);
  const auto counts = multiply_sum(point_set<TypeParam>(points), std::span<const integer<4>>(scalars), pool).counts;
  EXPECT_EQ(counts.points, 4u);
  EXPECT_EQ(counts.zeros, 1u);
  EXPECT_EQ(counts.ones, 1u);
  EXPECT_EQ(counts.small, 1u);
  EXPECT_EQ(counts.large, 1u);
}

}  // namespace
}  // namespace prover::msm
