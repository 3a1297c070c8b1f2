// The transforms against their definition.
#include "prover/ntt/domain.hpp"

#include <gtest/gtest.h>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/field/test_values.hpp"

namespace prover::ntt {
namespace {

template <class Curve>
class transforms : public ::testing::Test {
 protected:
  using fr = typename Curve::fr;
  static std::vector<fr> random_elements(std::size_t n) {
    testing::values random(n);
    std::vector<fr> all(n);
    for (auto& a : all) a = random.element<fr>();
    return all;
  }
  static fr horner(const std::vector<fr>& coefficients, const fr& at) {
    fr r = fr::zero();
    for (std::size_t i = coefficients.size(); i-- > 0;) r = r * at + coefficients[i];
    return r;
  }
};
using curves = ::testing::Types<bn254, bls12_381>;
TYPED_TEST_SUITE(transforms, curves);

TYPED_TEST(transforms, root_has_exactly_its_order) {
  for (unsigned k = 1; k <= TypeParam::fr_two_adicity; ++k) {
    auto w = root_of_unity<TypeParam>(k);
    for (unsigned i = 1; i < k; ++i) w = w.squared();
    EXPECT_EQ(w, -TypeParam::fr::one());
  }
}

// Polynomial with chosen coefficients: its values on the roots of unity, by Horner, must come out on the odd roots.
TYPED_TEST(transforms, take_values_to_the_odd_roots) {
  for (const unsigned threads : {1U, 3U}) {
    thread_pool pool(threads);
    for (unsigned k = 0; k <= 6; ++k) {
      const domain<TypeParam> d(k, pool);
      const auto coefficients = this->random_elements(d.size());
      const auto w = root_of_unity<TypeParam>(k);
      const auto w2 = root_of_unity<TypeParam>(k + 1);
      auto values = coefficients;
      for (std::size_t i = 0; i < d.size(); ++i) values[i] = this->horner(coefficients, w.power(small_integer<1>(i)));
      d.interpolate(values, pool);
      d.shift(values, pool);
      d.evaluate(values, pool);
      for (std::size_t i = 0; i < d.size(); ++i) {
        EXPECT_EQ(values[i], this->horner(coefficients, w2 * w.power(small_integer<1>(i))));
      }
    }
  }
}

// Larger than a block, so that the layers above the blocks run too: checked at a few points.
TYPED_TEST(transforms, hold_across_blocks) {
  thread_pool pool(2);
  const domain<TypeParam> d(14, pool);
  auto values = this->random_elements(d.size());
  const auto original = values;
  d.interpolate(values, pool);
  d.evaluate(values, pool);
  const auto n = TypeParam::fr::from_u64(d.size());
  for (std::size_t i = 0; i < d.size(); ++i) ASSERT_EQ(values[i], n * original[i]);

  values.assign(d.size(), TypeParam::fr::zero());
  values[1] = TypeParam::fr::one();  // after bit reversal: the coefficient of x^(n/2)
  d.evaluate(values, pool);
  for (std::size_t i = 0; i < d.size(); ++i) {
    ASSERT_EQ(values[i], i % 2 == 0 ? TypeParam::fr::one() : -TypeParam::fr::one());
  }
}

TYPED_TEST(transforms, share_tables_in_use) {
  thread_pool pool(1);
  const auto a = domain<TypeParam>::shared(5, pool);
  EXPECT_EQ(a, domain<TypeParam>::shared(5, pool));
  EXPECT_NE(a, domain<TypeParam>::shared(6, pool));
}

}  // namespace
}  // namespace prover::ntt
