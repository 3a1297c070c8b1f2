// How long the vector kernels take: MSM by group, size, kind of scalars and threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <random>
#include <thread>

#include "msm.h"
#include "ntt.h"

namespace prover::vector {
namespace {

// Threads made for each run: what a pool would do, and 20 us more.
executor threads(std::size_t n) {
  return {n, [n](std::size_t count, const std::function<void(std::size_t)>& task) {
            std::atomic<std::size_t> next{0};
            const auto work = [&] {
              for (std::size_t i = next++; i < count; i = next++) task(i);
            };
            std::vector<std::thread> others;
            for (std::size_t i = 1; i < n; ++i) others.emplace_back(work);
            work();
            for (std::thread& t : others) t.join();
          }};
}

// The kernels never look at the curve's constant, and any (x, y) lies on some curve y^2 = x^3 + b, but two of them not
// on the same one: sums of such points are as much work as others, and stay as random.
std::vector<std::uint64_t> some_points(group g, std::size_t n) {
  std::vector<std::uint64_t> p(n * words_per_point(g));
  std::mt19937_64 random(1);
  const std::size_t words = g == group::bn254_g1 || g == group::bn254_g2 ? 4 : 6;
  for (std::size_t i = 0; i < p.size(); ++i) p[i] = i % words == words - 1 ? random() >> 4 : random();
  return p;
}
std::vector<std::uint64_t> some_scalars(std::size_t n) {
  std::vector<std::uint64_t> s(4 * n);
  std::mt19937_64 random(2);
  for (std::size_t i = 0; i < s.size(); ++i) s[i] = i % 4 == 3 ? random() % 0x30644e72e131a029 : random();
  return s;
}

void multi_scalar(benchmark::State& state, group g) {
  const auto n = std::size_t{1} << state.range(0);
  const executor pool = threads(static_cast<std::size_t>(state.range(1)));
  const bases b(g, some_points(g, n), pool);
  const std::vector<std::uint64_t> scalars = some_scalars(n);
  for (auto _ : state) benchmark::DoNotOptimize(multiply(b, scalars, pool));
  state.counters["ns/point"] = benchmark::Counter(
      static_cast<double>(n) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
// The same with tables of the points' multiples, as many as pay; MiB is what they take.
void multi_scalar_tabled(benchmark::State& state, group g) {
  const auto n = std::size_t{1} << state.range(0);
  const executor pool = threads(static_cast<std::size_t>(state.range(1)));
  bases b(g, some_points(g, n), pool);
  const std::size_t before = b.bytes();
  b.add_tables(std::size_t{1} << 30, pool);
  const std::vector<std::uint64_t> scalars = some_scalars(n);
  for (auto _ : state) benchmark::DoNotOptimize(multiply(b, scalars, pool));
  state.counters["MiB"] = static_cast<double>(b.bytes() - before) / (1 << 20);
}
BENCHMARK_CAPTURE(multi_scalar_tabled, bn254_g1, group::bn254_g1)
    ->ArgsProduct({{12, 16}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(multi_scalar, bn254_g1, group::bn254_g1)
    ->ArgsProduct({{12, 16, 18}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(multi_scalar, bn254_g2, group::bn254_g2)
    ->ArgsProduct({{12, 16}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(multi_scalar, bls12_381_g1, group::bls12_381_g1)
    ->ArgsProduct({{16, 18}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(multi_scalar, bls12_381_g2, group::bls12_381_g2)
    ->ArgsProduct({{16}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// A transform to coefficients and one back to values: half of it is what one takes.
void both_transforms(benchmark::State& state, scalar_field f) {
  const auto k = static_cast<unsigned>(state.range(0));
  const executor pool = threads(static_cast<std::size_t>(state.range(1)));
  const ntt_plan plan(f, k, pool);
  std::vector<std::uint64_t> data = some_scalars(plan.size());
  for (auto _ : state) {
    plan.interpolate(data, pool);
    plan.evaluate(data, pool);
  }
}
BENCHMARK_CAPTURE(both_transforms, bn254, scalar_field::bn254)
    ->ArgsProduct({{12, 16, 18, 20}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_transforms, bls12_381, scalar_field::bls12_381)
    ->ArgsProduct({{18}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

// Six transforms, the coset and the products: all of a proof's polynomial arithmetic.
void quotient(benchmark::State& state, scalar_field f) {
  const auto k = static_cast<unsigned>(state.range(0));
  const executor pool = threads(static_cast<std::size_t>(state.range(1)));
  const ntt_plan plan(f, k, pool);
  std::vector<std::uint64_t> a = some_scalars(plan.size()), b = a, c = a, h = a;
  for (auto _ : state) {
    plan.interpolate_products(a, b, c, pool);
    for (auto* p : {&a, &b}) plan.interpolate(*p, pool);
    for (auto* p : {&a, &b, &c}) plan.evaluate(*p, pool);
    plan.quotient(a, b, c, h, pool);
  }
}
BENCHMARK_CAPTURE(quotient, bn254, scalar_field::bn254)
    ->ArgsProduct({{12, 16, 18}, {1, 2}})
    ->UseRealTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace prover::vector

BENCHMARK_MAIN();
