// Multi-scalar multiplication, both backends, all groups, against the textbook: ordinary, extreme and awkward inputs.
#include "msm.h"

#include <gtest/gtest.h>

#include <thread>

#include "reference_test.h"

namespace prover::vector {
namespace {

using reference::curve;
using reference::number;
using reference::point;
using reference::random_words;

struct problem {
  std::vector<std::uint64_t> points, scalars;
  number logarithm;  // of the expected sum, to the generator
};

// Points k G for the logarithms k given, and the scalars given.
problem make(const curve& c, const std::vector<number>& logarithms, const std::vector<number>& scalars) {
  problem p;
  const std::size_t words = 2 * c.components * c.words;
  p.points.resize(logarithms.size() * words);
  p.scalars.resize(scalars.size() * 4);
  for (std::size_t i = 0; i < logarithms.size(); ++i) {
    c.write(c.times(logarithms[i] % c.r, c.generator), &p.points[i * words]);
    scalars[i].to_words(&p.scalars[4 * i], 4);
    p.logarithm = (p.logarithm + logarithms[i] * scalars[i]) % c.r;
  }
  return p;
}

executor two_threads() {
  return {2, [](std::size_t count, const std::function<void(std::size_t)>& task) {
            std::thread other([&] {
              for (std::size_t i = 1; i < count; i += 2) task(i);
            });
            for (std::size_t i = 0; i < count; i += 2) task(i);
            other.join();
          }};
}

class Msm : public testing::TestWithParam<std::tuple<group, backend>> {
 protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) == backend::ifma && !available()) GTEST_SKIP() << "no AVX-512 IFMA here";
  }
  void expect_right(const std::vector<number>& logarithms, const std::vector<number>& scalars) {
    const auto [g, b] = GetParam();
    const problem p = make(c, logarithms, scalars);
    const affine_point expected = c.outside(c.times(p.logarithm, c.generator));
    EXPECT_EQ(multiply(bases(g, p.points, executor{}, b), p.scalars, executor{}), expected);
    EXPECT_EQ(multiply(bases(g, p.points, two_threads(), b), p.scalars, two_threads()), expected);
  }
  const curve c{std::get<0>(GetParam())};
};

TEST_P(Msm, TheReferenceGeneratorIsOnTheCurveAndHasOrderR) {
  EXPECT_TRUE(c.contains(c.generator));
  EXPECT_TRUE(c.times(c.r, c.generator).infinite);
}
TEST_P(Msm, OfNothingIsInfinity) {
  expect_right({}, {});
}
TEST_P(Msm, OfOnePoint) {
  expect_right({5}, {7});
}
TEST_P(Msm, OfScalarsAtTheEdges) {
  const number r = c.r, half = r.divided(2);
  expect_right({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
               {0, 1, 2, r - 1, r - 2, half, half + 1, half - 1, number(1).shifted(64), number(1).shifted(253) % r,
                number(1).shifted(128) - 1});
}
TEST_P(Msm, OfRandomScalars) {
  random_words random(1);
  for (const std::size_t n : {2u, 3u, 15u, 17u, 100u, 400u}) {
    std::vector<number> logarithms, scalars;
    for (std::size_t i = 0; i < n; ++i) {
      logarithms.push_back(random.below(c.r));
      scalars.push_back(random.below(c.r));
    }
    expect_right(logarithms, scalars);
  }
}
TEST_P(Msm, OfBitsAndSmallNumbersOfEitherSign) {
  random_words random(2);
  std::vector<number> logarithms, scalars;
  for (std::size_t i = 0; i < 300; ++i) {
    logarithms.push_back(random.below(c.r));
    const number small(random() % 100);
    scalars.push_back(i % 3 == 0 ? number(random() % 2) : i % 3 == 1 ? small : (c.r - small) % c.r);
  }
  expect_right(logarithms, scalars);
}
TEST_P(Msm, WithPointsAtInfinity) {
  random_words random(3);
  std::vector<number> logarithms, scalars;
  for (std::size_t i = 0; i < 100; ++i) {
    logarithms.push_back(i % 3 == 0 ? number(0) : random.below(c.r));
    scalars.push_back(random.below(c.r));
  }
  expect_right(logarithms, scalars);
}
TEST_P(Msm, OfEqualPoints) {
  random_words random(4);
  std::vector<number> scalars(60, number(1)), logarithms(60, number(9));
  expect_right(logarithms, scalars);
  for (number& s : scalars) s = random.below(c.r);
  expect_right(logarithms, scalars);
}
TEST_P(Msm, OfOppositePointsThatCancel) {
  std::vector<number> scalars, logarithms;
  for (unsigned long i = 0; i < 64; ++i) {
    logarithms.push_back(i % 2 == 0 ? number(5) : c.r - 5);
    scalars.push_back(1);
  }
  expect_right(logarithms, scalars);
  logarithms.push_back(77);
  scalars.push_back(1);
  expect_right(logarithms, scalars);
}
TEST_P(Msm, OfPointsWhoseSumsMeet) {
  // Small logarithms and scalars make equal, opposite and infinite operands at every level of the trees.
  random_words random(5);
  for (int round = 0; round < 3; ++round) {
    std::vector<number> logarithms, scalars;
    for (std::size_t i = 0; i < 200; ++i) {
      logarithms.push_back((c.r + number(random() % 5) - number(2)) % c.r);
      scalars.push_back((c.r + number(random() % 7) - number(3)) % c.r);
    }
    expect_right(logarithms, scalars);
  }
}
TEST_P(Msm, WithTablesIsTheSame) {
  const auto [g, b] = GetParam();
  random_words random(7);
  std::vector<number> logarithms, scalars;
  for (std::size_t i = 0; i < 150; ++i) {
    logarithms.push_back(i % 11 == 0 ? number(0) : i % 11 == 1 ? number(9) : random.below(c.r));
    scalars.push_back(random.below(c.r));
  }
  const problem p = make(c, logarithms, scalars);
  const affine_point expected = c.outside(c.times(p.logarithm, c.generator));
  for (const executor& threads : {executor{}, two_threads()}) {
    bases points(g, p.points, threads, b);
    const std::size_t before = points.bytes(), budget = 10 * before;
    points.add_tables(budget, threads);
    EXPECT_GT(points.tabled().slices, 1u);
    EXPECT_GE(points.tabled().windows_per_slice, threads.threads);
    EXPECT_GT(points.bytes(), before);
    EXPECT_LE(points.bytes(), before + budget);
    EXPECT_EQ(multiply(points, p.scalars, threads), expected);
  }
}
TEST_P(Msm, WithTablesOfShortScalarsIsTheSame) {
  const auto [g, b] = GetParam();
  random_words random(8);
  std::vector<number> logarithms, scalars;
  for (std::size_t i = 0; i < 60; ++i) {
    logarithms.push_back(random.below(c.r));
    scalars.push_back(i % 2 == 0 ? number(random() % 3) : (c.r - number(random())) % c.r);
  }
  const problem p = make(c, logarithms, scalars);
  bases points(g, p.points, executor{}, b);
  points.add_tables(std::size_t{1} << 30, executor{});
  EXPECT_GT(points.tabled().slices, 1u);
  EXPECT_EQ(multiply(points, p.scalars, executor{}), c.outside(c.times(p.logarithm, c.generator)));
}
TEST_P(Msm, HasNoTablesWithoutMemoryForThem) {
  const auto [g, b] = GetParam();
  const problem p = make(c, {3, 4}, {1, 2});
  bases points(g, p.points, executor{}, b);
  points.add_tables(10, executor{});
  EXPECT_EQ(points.tabled().slices, 1u);
  EXPECT_EQ(multiply(points, p.scalars, executor{}), c.outside(c.times(number(11), c.generator)));
}
TEST_P(Msm, RefusesAScalarThatIsNotReduced) {
  const auto [g, b] = GetParam();
  problem p = make(c, {3}, {c.r});
  EXPECT_THROW(multiply(bases(g, p.points, executor{}, b), p.scalars, executor{}), std::invalid_argument);
  for (auto& w : p.scalars) w = ~std::uint64_t{0};
  EXPECT_THROW(multiply(bases(g, p.points, executor{}, b), p.scalars, executor{}), std::invalid_argument);
}
TEST_P(Msm, RefusesTheWrongNumberOfScalars) {
  const auto [g, b] = GetParam();
  problem p = make(c, {3, 4}, {1, 2});
  p.scalars.resize(4);
  EXPECT_THROW(multiply(bases(g, p.points, executor{}, b), p.scalars, executor{}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(AllGroups, Msm,
                         testing::Combine(testing::Values(group::bn254_g1, group::bn254_g2, group::bls12_381_g1,
                                                          group::bls12_381_g2),
                                          testing::Values(backend::emulated, backend::ifma)));

// Chunks that overflow, buckets larger than a chunk, and wide windows: many points with logarithms 1, 2, 3, ...
TEST(LargeMsm, OfThePointsOneToN) {
  if (!available()) GTEST_SKIP() << "no AVX-512 IFMA here";
  const curve c(group::bn254_g1);
  constexpr std::size_t kPoints = 40000;
  std::vector<std::uint64_t> points(8 * kPoints), random_scalars(4 * kPoints), ones(4 * kPoints);
  number expected, sum;
  point p = c.generator;
  random_words random(6);
  for (std::size_t i = 0; i < kPoints; ++i) {
    c.write(p, &points[8 * i]);
    const number s = random.below(c.r);
    s.to_words(&random_scalars[4 * i], 4);
    ones[4 * i] = 1;
    expected = (expected + s * number(i + 1)) % c.r;
    sum = sum + number(i + 1);
    p = c.add(p, c.generator);
  }
  const bases b(group::bn254_g1, points, two_threads());
  EXPECT_EQ(multiply(b, random_scalars, two_threads()), c.outside(c.times(expected, c.generator)));
  EXPECT_EQ(multiply(b, ones, two_threads()), c.outside(c.times(sum % c.r, c.generator)));
}

}  // namespace
}  // namespace prover::vector
