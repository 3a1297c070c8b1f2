// `prover verify`: is this proof right?
#include <cstdio>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "prover/cli/command.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::cli {

void add_verify(CLI::App& app, int& code) {
  struct options {
    std::string key;
    std::string proof;
    std::string signals;
  };
  auto o = std::make_shared<options>();
  auto* command = app.add_subcommand("verify", "Verify a proof");
  command->add_option("--key", o->key, "The verification key")->required()->option_text("vkey.json");
  command->add_option("--proof", o->proof, "The proof")->required()->option_text("proof.json");
  command->add_option("--public", o->signals, "The public signals")->required()->option_text("public.json");
  command->callback([o, &code] {
    if (auto started = telltale::start(); !started) {
      code = fail(bad_input, started.error());
      return;
    }
    const auto key = verification_key::load(o->key);
    if (!key) {
      code = fail(bad_input, key.error());
      return;
    }
    const auto p = proof::load(o->proof, key->curve());
    if (!p) {
      code = fail(bad_input, p.error());
      return;
    }
    const auto signals = public_signals::load(o->signals, key->curve());
    if (!signals) {
      code = fail(bad_input, signals.error());
      return;
    }
    engine e(1);
    const auto verdict = e.verify(*key, *p, *signals);
    if (!verdict) {
      code = fail(bad_input, verdict.error());
    } else if (*verdict != engine::verdict::valid) {
      code = fail(refused, {"the proof is not valid for these public signals and this key."});
    } else {
      std::puts("valid");
    }
  });
}

}  // namespace prover::cli
