// Field and tower arithmetic, one operation after the other (latency, as in a sum of points).
#include <benchmark/benchmark.h>

#include "prover/curve/pairing.hpp"
#include "prover/curve/test_points.hpp"
#include "prover/field/parameters.hpp"
#include "prover/field/test_values.hpp"

namespace prover {
namespace {

template <class F>
void field_multiply(benchmark::State& state) {
  testing::values random(1);
  F a = random.element<F>();
  const F b = random.element<F>();
  for (auto _ : state) benchmark::DoNotOptimize(a *= b);
}
BENCHMARK(field_multiply<bn254_fp>);
BENCHMARK(field_multiply<bls12_381_fp>);
BENCHMARK(field_multiply<bn254::fr>);
BENCHMARK(field_multiply<bls12_381::fr>);

template <class F>
void field_square(benchmark::State& state) {
  F a = testing::values(1).element<F>();
  for (auto _ : state) benchmark::DoNotOptimize(a = a.squared());
}
BENCHMARK(field_square<bn254_fp>);
BENCHMARK(field_square<bls12_381_fp>);

template <class F>
void field_add(benchmark::State& state) {
  testing::values random(1);
  F a = random.element<F>();
  const F b = random.element<F>();
  for (auto _ : state) benchmark::DoNotOptimize(a += b);
}
BENCHMARK(field_add<bn254_fp>);

template <class F>
void field_invert(benchmark::State& state) {
  F a = testing::values(1).element<F>();
  for (auto _ : state) benchmark::DoNotOptimize(a = a.inverse() + F::one());
}
BENCHMARK(field_invert<bn254_fp>);
BENCHMARK(field_invert<bls12_381_fp>);

template <class G>
void point_add(benchmark::State& state) {
  const auto p = testing::multiples<G>(2, 1);
  auto sum = xyzz<G>::from_affine(p[0]);
  for (auto _ : state) benchmark::DoNotOptimize(sum += p[1]);
}
BENCHMARK(point_add<bn254::g1>);
BENCHMARK(point_add<bn254::g2>);
BENCHMARK(point_add<bls12_381::g1>);
BENCHMARK(point_add<bls12_381::g2>);

template <class G>
void point_double(benchmark::State& state) {
  auto p = xyzz<G>::from_affine(testing::multiples<G>(1, 1)[0]);
  for (auto _ : state) benchmark::DoNotOptimize(p = p.doubled());
}
BENCHMARK(point_double<bn254::g1>);
BENCHMARK(point_double<bn254::g2>);
BENCHMARK(point_double<bls12_381::g1>);
BENCHMARK(point_double<bls12_381::g2>);

template <class Curve>
void one_pairing(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(pairing<Curve>(Curve::g1::generator(), Curve::g2::generator()));
}
BENCHMARK(one_pairing<bn254>)->Unit(benchmark::kMicrosecond);
BENCHMARK(one_pairing<bls12_381>)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace prover
