// Sums, transforms and whole proofs, by the code path that TELLTALE_PROVER_KERNELS names or the processor has. Proofs
// need real keys: $TELLTALE_SHARED_DATA/NAME.zkey, else they are left out.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "prover/curve/test_points.hpp"
#include "prover/groth16/key.hpp"
#include "telltale/prover/engine.hpp"

namespace prover {
namespace {

// Arguments: log2 of the size, threads.
void up_to_18(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMillisecond)->UseRealTime()->ArgsProduct({{12, 14, 16, 18}, {1, 2}});
}
void up_to_16(benchmark::internal::Benchmark* b) {
  b->Unit(benchmark::kMillisecond)->UseRealTime()->ArgsProduct({{12, 14, 16}, {1, 2}});
}

template <class G>
void sum_of_points(benchmark::State& state) {
  const std::size_t n = std::size_t{1} << state.range(0);
  thread_pool pool(static_cast<unsigned>(state.range(1)));
  const msm::resident_points<G> points(testing::multiples<G>(n, 1), choose_code_path(), pool);
  testing::values random(2);
  std::vector<integer<4>> scalars(n);
  for (auto& s : scalars) s = random.element<typename G::curve::fr>().limbs;
  for (auto _ : state) benchmark::DoNotOptimize(points.sum(scalars, pool));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}

BENCHMARK(sum_of_points<bn254::g1>)->Apply(up_to_18);
BENCHMARK(sum_of_points<bn254::g2>)->Apply(up_to_16);
BENCHMARK(sum_of_points<bls12_381::g1>)->Apply(up_to_18);
BENCHMARK(sum_of_points<bls12_381::g2>)->Apply(up_to_16);

// Six transforms, the coset and the products.
template <class Curve>
void six_transforms(benchmark::State& state) {
  thread_pool pool(static_cast<unsigned>(state.range(1)));
  const ntt::quotient<Curve> q(static_cast<unsigned>(state.range(0)), choose_code_path(), pool);
  testing::values random(3);
  secret_vector<typename Curve::fr> values(q.size());
  for (auto& v : values) v = random.element<typename Curve::fr>();
  for (auto _ : state) benchmark::DoNotOptimize(q.scalars(values, values, pool));
}
BENCHMARK(six_transforms<bn254>)->Apply(up_to_18);
BENCHMARK(six_transforms<bls12_381>)->Apply(up_to_18);

void prove_circuit(benchmark::State& state, const std::string& name, unsigned threads) {
  const std::filesystem::path folder = std::getenv("TELLTALE_SHARED_DATA");
  engine e(threads);
  const auto key = e.load_key((folder / (name + ".zkey")).string(), key_checks::none);
  const auto values = witness::load((folder / (name + ".wtns")).string());
  if (!key || !values) {
    state.SkipWithError((!key ? key.error() : values.error()).message.c_str());
    return;
  }
  for (auto _ : state) {
    if (const auto made = e.prove(*key, *values); !made) state.SkipWithError(made.error().message.c_str());
  }
}

const bool registered = [] {
  const char* folder = std::getenv("TELLTALE_SHARED_DATA");
  if (folder == nullptr) return false;
  for (const char* name : {"merkle12", "merkle12bls", "semaphore-20", "sha15", "eddsa15", "sha17", "chain20"}) {
    if (!std::filesystem::exists(std::filesystem::path(folder) / (std::string(name) + ".zkey"))) continue;
    for (const unsigned threads : {1U, 2U}) {
      benchmark::RegisterBenchmark(("prove/" + std::string(name) + "/" + std::to_string(threads)).c_str(),
                                   [=](benchmark::State& state) { prove_circuit(state, name, threads); })
          ->Unit(benchmark::kMillisecond)
          ->UseRealTime();
    }
  }
  return true;
}();

}  // namespace
}  // namespace prover
