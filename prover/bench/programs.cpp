// Whole programs, from start to end with all that they load, by the processor time of their processes.
#include <stdexcept>

#include "core/bench/child.hpp"
#include "prover/bench/alternating.hpp"
#include "prover/bench/figures.hpp"

namespace prover::bench {
namespace {

using telltale::bench::ratio_at_most;

milliseconds whole_run(const std::vector<std::string>& words) {
  const auto ended = telltale::bench::run_child(words);
  if (ended.code != 0) throw std::runtime_error(words.front() + " failed: " + ended.output);
  return {1e3 * ended.cpu_seconds, 0};
}

}  // namespace

void add_program_figures(telltale::bench::report& r) {
  const std::string snarkjs = PROVER_SOURCE_DIR "/../scripts/snarkjs";
  if (last_line_of(snarkjs + " --where").empty()) {
    r.absent("whole programs beside snarkjs", "snarkjs could not be installed, see above");
    return;
  }
  const telltale::bench::scratch_directory scratch;
  const std::string proof = scratch / "proof.json";
  const std::string signals = scratch / "public.json";
  for (const auto& [name, bar] :
       {std::pair{"merkle12", telltale::bench::bar{}}, {"merkle12bls", ratio_at_most(0.05)}}) {
    const std::string stem = shared_data() / name;
    if (!std::filesystem::exists(stem + ".zkey")) {
      r.absent(std::string(name) + " beside snarkjs", "no " + stem + ".zkey");
      continue;
    }
    const auto p = alternate(
        &milliseconds::cpu,
        [&] {
          return whole_run({telltale::bench::beside("../prover"), "prove", "--key", stem + ".zkey", "--witness",
                            stem + ".wtns", "--proof", proof, "--public", signals, "--key-checks", "none"});
        },
        [&] { return whole_run({snarkjs, "groth16", "prove", stem + ".zkey", stem + ".wtns", proof, signals}); });
    r.add(figure_of(p, std::string(name) + ", the whole program", "snarkjs", bar));
  }
}

}  // namespace prover::bench
