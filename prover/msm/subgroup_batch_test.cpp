// One point outside the subgroup is found among many inside it, wherever it is and whatever its part outside.
#include "prover/msm/subgroup_batch.hpp"

#include <gtest/gtest.h>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/curve/test_points.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/vector/kernels.h"

namespace prover::msm {
namespace {

std::vector<code_path> paths_here() {
  if (vector::available()) return {code_path::portable, code_path::ifma};
  return {code_path::portable};
}

template <class G>
class subgroup_batch : public ::testing::Test {
 protected:
  static auto find(const std::vector<affine<G>>& points, code_path path, thread_pool& pool) {
    return find_outside_subgroup<G>(points, path, pool);
  }
  thread_pool pool{2};
};
using groups_with_cofactor = ::testing::Types<bn254::g2, bls12_381::g1, bls12_381::g2>;
TYPED_TEST_SUITE(subgroup_batch, groups_with_cofactor);

TYPED_TEST(subgroup_batch, accepts_points_of_the_subgroup) {
  auto points = testing::multiples<TypeParam>(700, 1);
  points[3] = points[600] = affine<TypeParam>::infinity();
  points[4] = points[5] = -points[6];
  for (const auto path : paths_here()) EXPECT_EQ(this->find(points, path, this->pool), std::nullopt);
  points.resize(20);
  for (const auto path : paths_here()) EXPECT_EQ(this->find(points, path, this->pool), std::nullopt);
  points.clear();
  for (const auto path : paths_here()) EXPECT_EQ(this->find(points, path, this->pool), std::nullopt);
}

TYPED_TEST(subgroup_batch, finds_the_first_of_the_points_outside) {
  const auto inside = testing::multiples<TypeParam>(300, 2);
  for (const auto path : paths_here()) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{17}, std::size_t{299}}) {
      auto points = inside;
      points[at] = points[299] = testing::any_point<TypeParam>(at);
      EXPECT_EQ(this->find(points, path, this->pool), at);
    }
  }
}

// The parts outside cancel in a plain sum, and in any whose coefficients don't tell the points apart.
TYPED_TEST(subgroup_batch, finds_points_whose_parts_outside_cancel) {
  auto points = testing::multiples<TypeParam>(300, 3);
  const auto any = testing::any_point<TypeParam>(4);
  points[100] = any;
  points[200] = -any;
  for (const auto path : paths_here()) EXPECT_EQ(this->find(points, path, this->pool), 100u);
}

// The cofactor without its smallest prime, which BLS12-381's G2 has twice and as the order of a whole plane of points.
template <class G>
struct cofactor;
template <>
struct cofactor<bn254::g2> {
  static constexpr u64 prime = 10069;
  static constexpr auto rest = from_hex<4>("13af7a58fce699e28bcf65b5681da207142f7671af4486c3cd334915f1659");
};
template <>
struct cofactor<bls12_381::g1> {
  static constexpr u64 prime = 3;
  static constexpr auto rest = from_hex<2>("13242eaac71ca0722eaae38e55558e39");
};
template <>
struct cofactor<bls12_381::g2> {
  static constexpr u64 prime = 13;
  static constexpr auto rest = from_hex<8>(
      "8d5fc7522f6c4d5a3c5663541d68b60a5f9bdc250555d81be2a9b0c6483045a5b213dcb71085945e0aef29c5e8629edf4046db80"
      "0a8373336b3150941cfdd");
};

// One random combination of the points would accept such a point once in `prime` times.
TYPED_TEST(subgroup_batch, finds_points_whose_order_is_the_smallest_prime) {
  const auto any = multiply(testing::any_point<TypeParam>(5), cofactor<TypeParam>::rest);
  const auto small = multiply(any, TypeParam::curve::fr::modulus).to_affine();
  ASSERT_FALSE(small.is_infinity());
  ASSERT_TRUE(multiply(small, small_integer<1>(cofactor<TypeParam>::prime)).is_infinity());
  const auto inside = testing::multiples<TypeParam>(256, 6);
  for (const auto path : paths_here()) {
    for (std::size_t at = 0; at < 8; ++at) {
      auto points = inside;
      points[at] = small;
      EXPECT_EQ(this->find(points, path, this->pool), at);
    }
  }
}

template <class G>
void digit_sums_determine_the_sum(code_path path, thread_pool& pool) {
  // Pieces as wide as any window: one sum per window, and scalars of one window only.
  const auto points = testing::multiples<G>(40, 7);
  std::vector<integer<4>> scalars(points.size());
  xyzz<G> expected = xyzz<G>::infinity();
  for (std::size_t i = 0; i < points.size(); ++i) {
    scalars[i] = small_integer<4>(i % 2);
    if (i % 2 == 1) expected += points[i];
  }
  const resident_points<G> resident(points, path, pool);
  const auto sums = resident.digit_sums(scalars, 32, pool);
  ASSERT_FALSE(sums.empty());
  EXPECT_EQ(sums[0], expected.to_affine());
  for (std::size_t i = 1; i < sums.size(); ++i) EXPECT_TRUE(sums[i].is_infinity());
}
TYPED_TEST(subgroup_batch, stands_on_digit_sums_that_are_right) {
  for (const auto path : paths_here()) digit_sums_determine_the_sum<TypeParam>(path, this->pool);
}

}  // namespace
}  // namespace prover::msm
