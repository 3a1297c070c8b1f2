// Sums of points and transforms on one thread, against the crates arkworks and blst.
#include <functional>
#include <memory>

#include "prover/bench/alternating.hpp"
#include "prover/bench/figures.hpp"
#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/curve/test_points.hpp"
#include "prover/msm/resident_points.hpp"
#include "prover/ntt/domain.hpp"
#include "prover/parallel/vector_executor.hpp"
#include "prover/vector/ntt.h"

namespace prover::bench {
namespace {

using telltale::bench::ratio_at_most;
using run = std::function<void()>;

struct peer_bar {
  const char* peer;
  telltale::bench::bar bar;
};
struct kernel {
  const char* name;     // for people
  const char* request;  // for the peer's program, after the peer's name
  run (*make)(thread_pool&);
  std::vector<peer_bar> peers;
};

template <class G, unsigned LogSize>
run sum_of_points(thread_pool& pool) {
  const std::size_t n = std::size_t{1} << LogSize;
  testing::values random(2);
  std::vector<integer<4>> scalars(n);
  for (auto& s : scalars) s = random.element<typename G::curve::fr>().limbs;
  const auto points =
      std::make_shared<const msm::resident_points<G>>(testing::multiples<G>(n, 1), choose_code_path(), pool);
  return [=, &pool] { points->sum(scalars, pool); };
}

// From values to coefficients, and to values on the coset.
template <class Curve, vector::scalar_field Field, unsigned LogSize>
run both_transforms(thread_pool& pool) {
  using fr = typename Curve::fr;
  testing::values random(3);
  auto values = std::make_shared<std::vector<fr>>(std::size_t{1} << LogSize);
  for (auto& v : *values) v = random.element<fr>();
  if (choose_code_path() == code_path::portable) {
    const auto domain = ntt::domain<Curve>::shared(LogSize, pool);
    return [=, &pool] {
      domain->interpolate(*values, pool);
      domain->shift(*values, pool);
      domain->evaluate(*values, pool);
    };
  }
  const auto plan = std::make_shared<const vector::ntt_plan>(Field, LogSize, executor_of(pool));
  return [=, &pool] {
    const std::span words(reinterpret_cast<u64*>(values->data()), 4 * values->size());
    plan->interpolate(words, executor_of(pool));
    plan->evaluate(words, executor_of(pool));
  };
}

const std::vector<kernel>& kernels() {
  static const std::vector<kernel> all{
      {"G1 sum 2^18, BN254", "msm bn254 g1 18", sum_of_points<bn254::g1, 18>, {{"arkworks", ratio_at_most(0.4)}}},
      {"G2 sum 2^16, BN254", "msm bn254 g2 16", sum_of_points<bn254::g2, 16>, {{"arkworks", {}}}},
      {"G1 sum 2^18, BLS12-381",
       "msm bls12-381 g1 18",
       sum_of_points<bls12_381::g1, 18>,
       {{"arkworks", ratio_at_most(0.4)}, {"blst", ratio_at_most(0.5)}}},
      {"G2 sum 2^16, BLS12-381",
       "msm bls12-381 g2 16",
       sum_of_points<bls12_381::g2, 16>,
       {{"arkworks", ratio_at_most(0.4)}, {"blst", ratio_at_most(0.4)}}},
      {"transforms there and back 2^18, BN254",
       "ntt bn254 18",
       both_transforms<bn254, vector::scalar_field::bn254, 18>,
       {{"arkworks", ratio_at_most(0.5)}}},
      {"transforms there and back 2^18, BLS12-381",
       "ntt bls12-381 18",
       both_transforms<bls12_381, vector::scalar_field::bls12_381, 18>,
       {{"arkworks", ratio_at_most(0.5)}}},
  };
  return all;
}

}  // namespace

void add_kernel_figures(telltale::bench::report& r) {
  const std::string program = last_line_of(PROVER_SOURCE_DIR "/bench/peers/build");
  if (program.empty()) {
    r.absent("sums and transforms beside arkworks and blst", "their program could not be built, see above");
    return;
  }
  peer theirs({program});
  thread_pool pool(1);
  for (const auto& k : kernels()) {
    const run ours = k.make(pool);
    for (const auto& [name, bar] : k.peers) {
      const std::string request = std::string(name) + " " + k.request;
      const auto p = alternate(&milliseconds::cpu, [&] { return taken_by(ours); }, [&] { return theirs.ask(request); });
      r.add(figure_of(p, k.name, name, bar));
    }
  }
}

}  // namespace prover::bench
