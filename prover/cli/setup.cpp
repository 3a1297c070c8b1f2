// `prover setup`: a key for tests and benchmarks, from secrets that everybody knows.
#include <cstdio>
#include <memory>
#include <telltale/core/telltale.hpp>

#include "prover/cli/command.hpp"
#include "prover/format/json.hpp"
#include "prover/setup/test_key.hpp"

TELLTALE_MODULE("prover::setup");

namespace prover::cli {

using namespace telltale::literals;

namespace {

struct options {
  bool insecure = false;
  std::string circuit;
  std::string key;
  std::string vkey;
  unsigned threads = 0;
};

telltale::result<void> make_key(const options& o) {
  const auto source = format::byte_source::open(o.circuit, "constraint system");
  if (!source) return source.error();
  auto system = [&] {
    TELLTALE_SPAN("load_circuit", "format"_a = "r1cs", "bytes"_a = source->size());
    return format::read_r1cs(*source);
  }();
  if (!system) return system.error();
  auto sink = format::byte_sink::create(o.key, "key");
  if (!sink) return sink.error();
  thread_pool pool(o.threads);
  return format::with_curve(system->header.curve, [&](auto curve) -> telltale::result<void> {
    const auto vkey = setup::write_test_key<decltype(curve)>(std::move(*system), std::move(*sink), pool);
    if (!vkey) return vkey.error();
    if (o.vkey.empty()) return {};
    return format::write_text(o.vkey, format::write_vkey(*vkey), "verification key");
  });
}

}  // namespace

void add_setup(CLI::App& app, int& code) {
  auto o = std::make_shared<options>();
  auto* command = app.add_subcommand(
      "setup", "Make an INSECURE key for a circuit, for tests and benchmarks: its secrets are public");
  command->add_flag("--insecure-for-testing", o->insecure,
                    "Required: says that you know that anyone can forge proofs for this key");
  command->add_option("circuit", o->circuit, "The circuit (.r1cs)")->required()->option_text("C.r1cs");
  command->add_option("-o,--output", o->key, "Where to write the key")->required()->option_text("K.zkey");
  command->add_option("--vkey", o->vkey, "Where to write its verification key")->option_text("vkey.json");
  add_threads(*command, o->threads);
  command->callback([o, &code] {
    if (auto started = telltale::start(); !started) {
      code = fail(bad_input, started.error());
      return;
    }
    if (!o->insecure) {
      code = fail(bad_input,
                  {"no key was made: whoever makes a key alone can forge proofs for it, and this one's secrets are "
                   "even public. For tests and benchmarks add --insecure-for-testing; for anything else hold a "
                   "ceremony (snarkjs zkey new, snarkjs zkey contribute)."});
      return;
    }
    telltale::result<void> made;
    {
      TELLTALE_SCOPE_AS(root, "setup");
      made = make_key(*o);
      if (!made) root.fail("setup_failed");
    }
    if (!made) {
      code = fail(bad_input, made.error());
      return;
    }
    telltale::flush();
    std::fprintf(stderr,
                 "prover: INSECURE TEST KEY written to \"%s\". Its secrets are public: anyone can forge proofs that it "
                 "accepts. For tests and benchmarks only.\n",
                 o->key.c_str());
  });
}

}  // namespace prover::cli
