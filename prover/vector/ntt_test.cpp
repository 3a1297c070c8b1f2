// Transforms of all sizes, both fields and backends, against Horner's rule and Lagrange's formula on GMP's integers.
#include "ntt.h"

#include <gtest/gtest.h>

#include "reference_test.h"

namespace prover::vector {
namespace {

using reference::number;
using reference::random_words;

struct domain {
  number r, w, g;
  std::size_t n;
};

domain domain_of(scalar_field f, unsigned log_size) {
  domain d;
  d.r = reference::curve(f == scalar_field::bn254 ? group::bn254_g1 : group::bls12_381_g1).r;
  d.n = std::size_t{1} << log_size;
  d.g = number(5).power((d.r - 1).divided(2 * d.n), d.r);
  d.w = d.g * d.g % d.r;
  return d;
}

std::vector<std::uint64_t> outside(const std::vector<number>& x, const number& r) {
  std::vector<std::uint64_t> words(4 * x.size());
  for (std::size_t i = 0; i < x.size(); ++i) (x[i].shifted(256) % r).to_words(&words[4 * i], 4);
  return words;
}

// The coefficients of the polynomial with the given values on the domain: the inverse transform by its definition.
std::vector<number> interpolate(const domain& d, const std::vector<number>& values) {
  std::vector<number> coefficients(d.n);
  const number inverse_w = d.w.inverse(d.r), inverse_n = number(d.n).inverse(d.r);
  number step = 1;
  for (std::size_t i = 0; i < d.n; ++i) {
    number sum, x = 1;
    for (std::size_t j = 0; j < d.n; ++j) {
      sum = sum + values[j] * x;
      x = x * step % d.r;
    }
    coefficients[i] = sum * inverse_n % d.r;
    step = step * inverse_w % d.r;
  }
  return coefficients;
}
number evaluate(const domain& d, const std::vector<number>& coefficients, const number& x) {
  number y;
  for (std::size_t i = coefficients.size(); i-- > 0;) y = (y * x + coefficients[i]) % d.r;
  return y;
}

// Random values, and some at both ends of the field.
std::vector<number> values(const domain& d, std::uint64_t seed) {
  random_words random(seed);
  std::vector<number> v(d.n);
  for (std::size_t i = 0; i < d.n; ++i) {
    const std::uint64_t kind = random() % 8;
    v[i] = kind == 0 ? number(0) : kind == 1 ? d.r - 1 : kind == 2 ? number(random() % 3) : random.below(d.r);
  }
  return v;
}

// All steps of a quotient, from values on the domain.
std::vector<std::uint64_t> quotient(const ntt_plan& plan, std::vector<std::uint64_t> a, std::vector<std::uint64_t> b) {
  std::vector<std::uint64_t> c(a.size(), 77), h(a.size());
  plan.interpolate_products(a, b, c, executor{});
  for (auto* p : {&a, &b}) plan.interpolate(*p, executor{});
  for (auto* p : {&a, &b, &c}) plan.evaluate(*p, executor{});
  plan.quotient(a, b, c, h, executor{});
  return h;
}

class Ntt : public testing::TestWithParam<std::tuple<scalar_field, backend>> {
 protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) == backend::ifma && !available()) GTEST_SKIP() << "no AVX-512 IFMA here";
  }
  const scalar_field field = std::get<0>(GetParam());
  const backend which = std::get<1>(GetParam());
};

TEST_P(Ntt, TakesValuesToTheCoset) {
  for (unsigned k = 0; k <= 9; ++k) {
    const domain d = domain_of(field, k);
    const std::vector<number> v = values(d, k), c = interpolate(d, v);
    std::vector<std::uint64_t> data = outside(v, d.r);
    const ntt_plan plan(field, k, executor{}, which);
    plan.interpolate(data, executor{});
    plan.evaluate(data, executor{});
    number x = d.g;
    for (std::size_t i = 0; i < d.n; ++i, x = x * d.w % d.r) {
      const number got = number::from_words(&data[4 * i], 4);
      ASSERT_TRUE(got % d.r == evaluate(d, c, x).shifted(260) % d.r) << "2^" << k << ", " << i;
    }
  }
}
TEST_P(Ntt, MakesTheQuotientsScalars) {
  for (unsigned k = 0; k <= 8; ++k) {
    const domain d = domain_of(field, k);
    const std::vector<number> a = values(d, 2 * k), b = values(d, 2 * k + 1);
    std::vector<number> c(d.n);
    for (std::size_t i = 0; i < d.n; ++i) c[i] = a[i] * b[i] % d.r;
    const auto scalars = quotient(ntt_plan(field, k, executor{}, which), outside(a, d.r), outside(b, d.r));
    const std::vector<number> pa = interpolate(d, a), pb = interpolate(d, b), pc = interpolate(d, c);
    number x = d.g;
    for (std::size_t i = 0; i < d.n; ++i, x = x * d.w % d.r) {
      const number h = (evaluate(d, pa, x) * evaluate(d, pb, x) - evaluate(d, pc, x)) % d.r;
      ASSERT_TRUE(number::from_words(&scalars[4 * i], 4) == h) << "2^" << k << ", " << i;
    }
  }
}
TEST_P(Ntt, RefusesTheWrongLength) {
  std::vector<std::uint64_t> right(4 * 16), wrong(4 * 8);
  const ntt_plan plan(field, 4, executor{}, which);
  EXPECT_THROW(plan.interpolate(wrong, executor{}), std::invalid_argument);
  EXPECT_THROW(plan.interpolate_products(right, right, wrong, executor{}), std::invalid_argument);
  EXPECT_THROW(plan.evaluate(wrong, executor{}), std::invalid_argument);
  EXPECT_THROW(plan.quotient(right, right, right, wrong, executor{}), std::invalid_argument);
}
TEST_P(Ntt, RefusesADomainWithoutACoset) {
  EXPECT_THROW(ntt_plan(field, field == scalar_field::bn254 ? 28 : 32, executor{}, which), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(BothFields, Ntt,
                         testing::Combine(testing::Values(scalar_field::bn254, scalar_field::bls12_381),
                                          testing::Values(backend::emulated, backend::ifma)));

class NttBackends : public testing::TestWithParam<scalar_field> {};

TEST_P(NttBackends, AgreeOnALargeSize) {
  if (!available()) GTEST_SKIP() << "no AVX-512 IFMA here, so only one backend";
  const domain d = domain_of(GetParam(), 13);
  const std::vector<std::uint64_t> a = outside(values(d, 1), d.r), b = outside(values(d, 2), d.r);
  EXPECT_EQ(quotient(ntt_plan(GetParam(), 13, executor{}, backend::ifma), a, b),
            quotient(ntt_plan(GetParam(), 13, executor{}, backend::emulated), a, b));
}

INSTANTIATE_TEST_SUITE_P(BothFields, NttBackends, testing::Values(scalar_field::bn254, scalar_field::bls12_381));

}  // namespace
}  // namespace prover::vector
