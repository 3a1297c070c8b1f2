// `prover check`: does a witness satisfy its circuit?
#include <cstdio>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "prover/cli/command.hpp"
#include "prover/cli/job.hpp"
#include "prover/format/text.hpp"

TELLTALE_MODULE("prover");

namespace prover::cli {

using namespace telltale::literals;

void add_check(CLI::App& app, int& code) {
  struct options {
    std::string r1cs;
    std::string names;
    std::string witness;
    unsigned threads = 0;
  };
  auto o = std::make_shared<options>();
  auto* command = app.add_subcommand("check", "Check that a witness satisfies a circuit, without a key");
  command->add_option("--r1cs", o->r1cs, "The circuit (.r1cs)")->required()->option_text("C.r1cs");
  command->add_option("--witness", o->witness, "The witness (.wtns)")->required()->option_text("W.wtns");
  add_names(*command, o->names);
  add_threads(*command, o->threads);
  command->callback([o, &code] {
    if (auto started = telltale::start(); !started) {
      code = fail(bad_input, started.error());
      return;
    }
    const auto values = witness::load(o->witness);
    if (!values) {
      code = fail(bad_input, values.error());
      return;
    }
    const auto c = circuit::load(o->r1cs, o->names);
    if (!c) {
      code = fail(bad_input, c.error());
      return;
    }
    engine e(o->threads);
    const auto found = e.check(*c, *values);
    if (!found) {
      code = fail(bad_input, found.error());
    } else if (*found) {
      code = fail(refused, violated(*c, **found));
    } else {
      std::puts("satisfied");
    }
  });
}

}  // namespace prover::cli
