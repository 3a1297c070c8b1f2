// `prover circuit synthetic`: circuits of any size for tests and benchmarks.
#include <map>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "prover/circuits/synthetic.hpp"
#include "prover/cli/command.hpp"

namespace prover::cli {
namespace {

struct options {
  circuits::synthetic_request wanted;
  std::string name;
};

telltale::result<void> write(const options& o) {
  auto r1cs = format::byte_sink::create(o.name + ".r1cs", "constraint system");
  if (!r1cs) return r1cs.error();
  auto wtns = format::byte_sink::create(o.name + ".wtns", "witness");
  if (!wtns) return wtns.error();
  return circuits::write_synthetic(o.wanted, std::move(*r1cs), std::move(*wtns));
}

}  // namespace

void add_circuit(CLI::App& app, int& code) {
  using circuits::synthetic_kind;
  static const std::map<std::string, synthetic_kind> kinds{
      {"chain", synthetic_kind::chain}, {"bits", synthetic_kind::bits}, {"mixed", synthetic_kind::mixed}};
  static const std::map<std::string, curve_id> curves{{"bn254", curve_id::bn254}, {"bls12-381", curve_id::bls12_381}};
  auto o = std::make_shared<options>();
  auto* circuit = app.add_subcommand("circuit", "Make circuits for tests and benchmarks");
  circuit->require_subcommand(1);
  auto* command = circuit->add_subcommand(
      "synthetic", "Write NAME.r1cs, a circuit that means nothing, and NAME.wtns, a witness that satisfies it");
  command->add_option("--constraints", o->wanted.constraints, "How many")->required()->option_text("N");
  command
      ->add_option("--kind", o->wanted.kind,
                   "What the witness is made of: chain (full-size values; default), bits (zeros and ones), or mixed")
      ->transform(CLI::CheckedTransformer(kinds).description(""))
      ->option_text("chain|bits|mixed");
  command->add_option("--curve", o->wanted.curve, "The curve (default: bn254)")
      ->transform(CLI::CheckedTransformer(curves).description(""))
      ->option_text("bn254|bls12-381");
  command->add_option("--seed", o->wanted.seed, "Another seed gives another circuit (default: 1)")->option_text("S");
  command->add_option("-o,--output", o->name, "Where to write, without ending")->required()->option_text("NAME");
  command->callback([o, &code] {
    if (auto written = write(*o); !written) code = fail(bad_input, written.error());
  });
}

}  // namespace prover::cli
