// Sums by every code path against one multiplication after the other, with every kind of scalar and point.
#include <gtest/gtest.h>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/curve/test_points.hpp"
#include "prover/field/instructions.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/vector/kernels.h"

namespace prover::msm {
namespace {

std::vector<code_path> paths_here() {
  std::vector<code_path> paths{code_path::portable};
  if (has_adx()) paths.push_back(code_path::adx);
  if (vector::available()) paths.push_back(code_path::ifma);
  return paths;
}

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
    for (const code_path path : paths_here()) {
      use_multiplications_of(path);
      for (const unsigned threads : {1U, 3U}) {
        thread_pool pool(threads);
        resident_points<G> resident(points, path, pool);
        EXPECT_EQ(resident.sum(scalars, pool), expected) << name_of(path) << ", " << threads << " threads";
        resident.add_tables(std::size_t{1} << 20, pool);
        EXPECT_EQ(resident.sum(scalars, pool), expected) << name_of(path) << " with tables, " << threads << " threads";
      }
    }
    use_multiplications_of(code_path::portable);
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

TYPED_TEST(sums, refuse_scalars_that_are_not_reduced) {
  const auto points = testing::multiples<TypeParam>(1, 3);
  thread_pool pool(1);
  for (const code_path path : paths_here()) {
    const std::vector<integer<4>> scalars{TypeParam::curve::fr::modulus};
    EXPECT_THROW(resident_points<TypeParam>(points, path, pool).sum(scalars, pool), std::invalid_argument);
  }
}

// More points than a chunk of buckets takes at once, and a bucket that is larger than one.
TEST(large_sums, are_right) {
  using fr = bn254::fr;
  constexpr std::size_t n = 20000;
  // The points G, 2 G, 3 G, ..., so that the sum's logarithm is known.
  const auto g = bn254::g1::generator();
  std::vector<affine<bn254::g1>> points(n);
  auto walk = xyzz<bn254::g1>::infinity();
  for (auto& p : points) p = (walk += g).to_affine();
  testing::values random(5);
  for (const bool ones : {true, false}) {
    std::vector<integer<4>> scalars(n);
    fr logarithm = fr::zero();
    for (std::size_t i = 0; i < n; ++i) {
      scalars[i] = ones ? small_integer<4>(1) : random.element<fr>().limbs;
      logarithm += fr::from_integer(scalars[i]) * fr::from_u64(i + 1);
    }
    for (const code_path path : paths_here()) {
      use_multiplications_of(path);
      thread_pool pool(2);
      const resident_points<bn254::g1> resident(points, path, pool);
      EXPECT_EQ(resident.sum(scalars, pool), multiply(g, logarithm.to_integer())) << name_of(path);
    }
  }
  use_multiplications_of(code_path::portable);
}

}  // namespace
}  // namespace prover::msm
