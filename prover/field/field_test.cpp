// The four prime fields: axioms on random and extreme values, and values computed with another big-number library.
#include <gtest/gtest.h>

#include <vector>

#include "prover/field/batch_inverse.hpp"
#include "prover/field/parameters.hpp"
#include "prover/field/test_values.hpp"

namespace prover {
namespace {

template <class F>
class prime_field : public ::testing::Test {
 protected:
  // Zero, one, minus one, the words of R, and random elements.
  static std::vector<F> samples() {
    testing::values random(7);
    std::vector<F> all{F::zero(), F::one(), -F::one(), F{F::r2}, F::from_u64(2), F::from_u64(~u64{0})};
    for (int i = 0; i < 20; ++i) all.push_back(random.element<F>());
    return all;
  }
};

using fields = ::testing::Types<bn254_fp, bn254_fr, bls12_381_fp, bls12_381_fr>;
TYPED_TEST_SUITE(prime_field, fields);

TYPED_TEST(prime_field, obeys_the_axioms) {
  const auto all = this->samples();
  for (const auto& a : all) {
    EXPECT_EQ(a + TypeParam::zero(), a);
    EXPECT_EQ(a * TypeParam::one(), a);
    EXPECT_EQ(a * TypeParam::zero(), TypeParam::zero());
    EXPECT_EQ(a + (-a), TypeParam::zero());
    EXPECT_EQ(a.squared(), a * a);
    EXPECT_EQ(a.doubled(), a + a);
    for (const auto& b : all) {
      EXPECT_EQ(a + b, b + a);
      EXPECT_EQ(a * b, b * a);
      EXPECT_EQ((a - b) + b, a);
      EXPECT_TRUE((a * b).is_reduced());
      const auto& c = all[9];
      EXPECT_EQ((a + b) * c, a * c + b * c);
      EXPECT_EQ((a * b) * c, a * (b * c));
    }
  }
}

TYPED_TEST(prime_field, inverts_everything_but_zero) {
  for (const auto& a : this->samples()) {
    EXPECT_EQ(a * a.inverse(), a.is_zero() ? TypeParam::zero() : TypeParam::one());
  }
}

TYPED_TEST(prime_field, inverts_many_at_once_and_leaves_zeros) {
  auto all = this->samples();
  const auto before = all;
  std::vector<TypeParam> scratch;
  invert_all(std::span(all), scratch);
  for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], before[i].inverse());
}

TYPED_TEST(prime_field, goes_to_plain_integers_and_back) {
  for (const auto& a : this->samples()) EXPECT_EQ(TypeParam::from_integer(a.to_integer()), a);
  EXPECT_EQ(TypeParam::from_u64(42).to_integer()[0], 42u);
}

TYPED_TEST(prime_field, fermat_holds) {
  auto exponent = TypeParam::modulus;
  exponent[0] -= 1;
  EXPECT_TRUE(testing::values(3).element<TypeParam>().power(exponent).is_one());
}

// The rest of this file multiplies portably; whether carries of every kind are right is told by many products.
TYPED_TEST(prime_field, multiplies_with_adx_as_without) {
  if (!has_adx()) GTEST_SKIP() << "SKIPPED: this processor has no ADX";
  auto all = this->samples();
  for (u64 i = 2; i < 6; ++i) all.push_back(-TypeParam{small_integer<TypeParam::limb_count>(i)});
  for (std::size_t limb = 0; limb < TypeParam::limb_count; ++limb) {
    // One word and its neighbours full, the others at their largest or empty.
    for (const u64 fill : {u64{0}, ~u64{0}}) {
      TypeParam a{};
      for (std::size_t j = 0; j + 1 < TypeParam::limb_count; ++j) a.limbs[j] = j == limb ? ~fill : fill;
      a.limbs.back() = TypeParam::modulus.back() - 1;
      all.push_back(a);
    }
  }
  testing::values random(11);
  for (int i = 0; i < 100; ++i) all.push_back(random.element<TypeParam>());
  for (const auto& a : all) {
    for (const auto& b : all) {
      const auto portable = a * b;
      multiply_with_adx = true;
      const auto adx = a * b;
      multiply_with_adx = false;
      ASSERT_EQ(adx, portable);
    }
  }
}

TEST(bn254_fp_vectors, match_another_library) {
  // Python: a, b fixed, a * b % p.
  const auto a =
      bn254_fp::from_integer(from_hex<4>("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
  const auto b =
      bn254_fp::from_integer(from_hex<4>("0fedcba987654321fedcba9876543210fedcba9876543210fedcba9876543210"));
  EXPECT_EQ((a * b).to_integer(), from_hex<4>("279f1d745d38aef589166ae1959bb310f9d13e6ac97c5e5cd1184040e77f4353"));
  EXPECT_EQ(a.inverse().to_integer(), from_hex<4>("1dd2a19f2db3a11aabc48d0d59e2d21a3fef90767c2c030a5747f3540969f152"));
}

TEST(bls12_381_fp_vectors, match_another_library) {
  const auto a = bls12_381_fp::from_integer(
      from_hex<6>("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"));
  const auto b = bls12_381_fp::from_integer(
      from_hex<6>("0fedcba987654321fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"));
  EXPECT_EQ(
      (a * b).to_integer(),
      from_hex<6>("17387d586faa36e58bb7bdacafc2d9e4a0fee9a3ce8dd3e499906b0172541ecb37c5294ca7f56357e86ef3ba3e947800"));
  EXPECT_EQ(
      a.inverse().to_integer(),
      from_hex<6>("0e7e4eb917a5a86c29e29eb7f00bc281c87d6f89a88f674d1f382eb4c28268c598052cc012c9cfb877e6e59b569c1163"));
}

}  // namespace
}  // namespace prover
