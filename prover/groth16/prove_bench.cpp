// Sums, transforms and whole proofs. Proofs need real keys: $TELLTALE_SHARED_DATA/NAME.zkey, else they are left out.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>

#include "prover/curve/test_points.hpp"
#include "prover/groth16/key.hpp"
#include "telltale/prover/engine.hpp"

namespace prover {
namespace {

// Arguments: log2 of the number of points, threads.
template <class G>
void msm_full_size(benchmark::State& state) {
  const std::size_t n = std::size_t{1} << state.range(0);
  thread_pool pool(static_cast<unsigned>(state.range(1)));
  const msm::point_set<G> points(testing::multiples<G>(n, 1));
  testing::values random(2);
  std::vector<integer<4>> scalars(n);
  for (auto& s : scalars) s = random.element<typename G::curve::fr>().limbs;
  for (auto _ : state) benchmark::DoNotOptimize(msm::multiply_sum(points, std::span<const integer<4>>(scalars), pool));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(n));
}
BENCHMARK(msm_full_size<bn254::g1>)->Unit(benchmark::kMillisecond)->UseRealTime()->ArgsProduct({{12, 16, 18}, {1, 2}});
BENCHMARK(msm_full_size<bn254::g2>)->Unit(benchmark::kMillisecond)->UseRealTime()->ArgsProduct({{12, 16}, {1, 2}});
BENCHMARK(msm_full_size<bls12_381::g1>)->Unit(benchmark::kMillisecond)->UseRealTime()->Args({16, 1});
BENCHMARK(msm_full_size<bls12_381::g2>)->Unit(benchmark::kMillisecond)->UseRealTime()->Args({14, 1});

template <class Curve>
void ntt_forward(benchmark::State& state) {
  thread_pool pool(static_cast<unsigned>(state.range(1)));
  const ntt::domain<Curve> domain(static_cast<unsigned>(state.range(0)), pool);
  testing::values random(3);
  std::vector<typename Curve::fr> values(domain.size());
  for (auto& v : values) v = random.element<typename Curve::fr>();
  for (auto _ : state) domain.evaluate(values, pool);
}
BENCHMARK(ntt_forward<bn254>)->Unit(benchmark::kMillisecond)->UseRealTime()->ArgsProduct({{12, 16, 18}, {1, 2}});
BENCHMARK(ntt_forward<bls12_381>)->Unit(benchmark::kMillisecond)->UseRealTime()->Args({16, 1});

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
