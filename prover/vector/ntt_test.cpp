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

class Ntt : public testing::TestWithParam<std::tuple<scalar_field, backend>> {
 protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) == backend::ifma && !available()) GTEST_SKIP() << "no AVX-512 IFMA here";
  }
  // Random values, and some at both ends of the field.
  std::vector<number> values(const domain& d, std::uint64_t seed) const {
    random_words random(seed);
    std::vector<number> v(d.n);
    for (std::size_t i = 0; i < d.n; ++i) {
      const std::uint64_t kind = random() % 8;
      v[i] = kind == 0 ? number(0) : kind == 1 ? d.r - 1 : kind == 2 ? number(random() % 3) : random.below(d.r);
    }
    return v;
  }
  const scalar_field field = std::get<0>(GetParam());
  const backend which = std::get<1>(GetParam());
};

TEST_P(Ntt, ExtendsToTheCoset) {
  for (unsigned k = 0; k <= 9; ++k) {
    const domain d = domain_of(field, k);
    const std::vector<number> v = values(d, k), c = interpolate(d, v);
    std::vector<std::uint64_t> data = outside(v, d.r);
    ntt_plan(field, k, executor{}, which).extend(data, executor{});
    std::vector<number> expected(d.n);
    number x = d.g;
    for (std::size_t i = 0; i < d.n; ++i, x = x * d.w % d.r) expected[i] = evaluate(d, c, x);
    ASSERT_EQ(data, outside(expected, d.r)) << "2^" << k;
  }
}
TEST_P(Ntt, MakesTheQuotientsScalars) {
  for (unsigned k = 0; k <= 8; ++k) {
    const domain d = domain_of(field, k);
    const std::vector<number> a = values(d, 2 * k), b = values(d, 2 * k + 1);
    std::vector<number> c(d.n);
    for (std::size_t i = 0; i < d.n; ++i) c[i] = a[i] * b[i] % d.r;
    std::vector<std::uint64_t> a_words = outside(a, d.r), b_words = outside(b, d.r), c_words(4 * d.n, 77),
                               h_words(4 * d.n);
    ntt_plan(field, k, executor{}, which).quotient(a_words, b_words, c_words, h_words, executor{});
    const std::vector<number> pa = interpolate(d, a), pb = interpolate(d, b), pc = interpolate(d, c);
    number x = d.g;
    for (std::size_t i = 0; i < d.n; ++i, x = x * d.w % d.r) {
      const number h = (evaluate(d, pa, x) * evaluate(d, pb, x) - evaluate(d, pc, x)) % d.r;
      ASSERT_TRUE(number::from_words(&h_words[4 * i], 4) == h) << "2^" << k << ", " << i;
    }
  }
}
TEST_P(Ntt, ForwardLeavesBitReversedOrder) {
  for (unsigned k = 6; k <= 9; ++k) {
    const domain d = domain_of(field, k);
    const std::vector<number> c = values(d, 40 + k);
    std::vector<std::uint64_t> data = outside(c, d.r);
    ntt_plan(field, k, executor{}, which).forward(data, executor{});
    number x = 1;
    for (std::size_t i = 0; i < d.n; ++i, x = x * d.w % d.r) {
      std::size_t position = 0;
      for (unsigned bit = 0; bit < k; ++bit) position |= (i >> bit & 1) << (k - 1 - bit);
      const number got = number::from_words(&data[4 * position], 4) % d.r;
      ASSERT_TRUE(got == evaluate(d, c, x).shifted(256) % d.r) << "2^" << k << ", " << i;
    }
  }
}
TEST_P(Ntt, RefusesTheWrongLength) {
  std::vector<std::uint64_t> data(4 * 8);
  EXPECT_THROW(ntt_plan(field, 4, executor{}, which).extend(data, executor{}), std::invalid_argument);
}
TEST_P(Ntt, RefusesADomainWithoutACoset) {
  EXPECT_THROW(ntt_plan(field, field == scalar_field::bn254 ? 28 : 32, executor{}, which), std::invalid_argument);
}
TEST_P(Ntt, BothBackendsAgreeOnALargeSize) {
  if (!available() || which == backend::emulated) GTEST_SKIP();
  const domain d = domain_of(field, 13);
  std::vector<std::uint64_t> a = outside(values(d, 1), d.r), b = outside(values(d, 2), d.r), c(a.size()), h(a.size());
  std::vector<std::uint64_t> a2 = a, b2 = b, c2 = c, h2 = h;
  ntt_plan(field, 13, executor{}, backend::ifma).quotient(a, b, c, h, executor{});
  ntt_plan(field, 13, executor{}, backend::emulated).quotient(a2, b2, c2, h2, executor{});
  EXPECT_EQ(h, h2);
}

INSTANTIATE_TEST_SUITE_P(BothFields, Ntt,
                         testing::Combine(testing::Values(scalar_field::bn254, scalar_field::bls12_381),
                                          testing::Values(backend::emulated, backend::ifma)));

}  // namespace
}  // namespace prover::vector
