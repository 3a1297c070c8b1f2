// `prover prove`: one key, one witness, one proof.
#include <filesystem>
#include <memory>
#include <random>
#include <telltale/core/telltale.hpp>

#include "prover/cli/command.hpp"
#include "prover/cli/job.hpp"
#include "prover/cli/remote.hpp"

TELLTALE_MODULE("prover");

namespace prover::cli {

using namespace telltale::literals;

std::string new_job_id() {
  std::random_device device;
  const unsigned number = device();
  std::string id(8, '0');
  for (std::size_t i = 0; i < id.size(); ++i) id[i] = "0123456789abcdef"[(number >> (4 * i)) & 15];
  return id;
}

namespace {

// Why this witness, of the key's curve and length, yields no proof: looked up in the circuit.
job_result explain(const job& j, const witness& values, engine& e) {
  // Checking the constraints belongs to the job's verification.
  TELLTALE_SPAN("verify", "format"_a = "r1cs");
  const auto c = circuit::load(j.r1cs, j.names);
  if (!c) return {false, {false, c.error()}};
  const auto found = e.check(*c, values);
  if (!found) return {false, {false, found.error()}};
  if (*found) return {false, {true, {"cannot prove: " + violated(*c, **found).message}}};
  return {false,
          {true,
           {"cannot prove: the witness satisfies \"" + j.r1cs + "\", and yet its proof is not valid under \"" + j.key +
            "\". The key belongs to another circuit; use the one that was made from this .r1cs."}}};
}

}  // namespace

job_result run(const job& j, engine& e, key_checks checks, const key_storage& storage) {
  const auto bad = [](const telltale::error& why) { return job_result{false, {false, why}}; };
  const auto refusal = [](const telltale::error& why) { return job_result{false, {true, why}}; };

  auto key = e.load_key(j.key, checks, storage);
  if (!key) return bad(key.error());
  auto values = witness::load(j.witness);
  if (!values) return bad(values.error());
  const auto made = e.prove(*key, *values);
  if (!made) {
    const bool fits = values->curve() == key->curve() && values->size() == key->variables();
    return fits && !j.r1cs.empty() ? explain(j, *values, e) : refusal(made.error());
  }
  if (!j.vkey.empty()) {
    const auto vkey = [&] {
      TELLTALE_SPAN("load_vkey", "format"_a = "json");
      return verification_key::load(j.vkey);
    }();
    if (!vkey) return bad(vkey.error());
    const auto verdict = e.verify(*vkey, made->proof, made->signals);
    if (!verdict) return bad(verdict.error());
    if (*verdict != engine::verdict::valid) {
      return refusal({"the proof is not valid under \"" + j.vkey + "\". Export the verification key from \"" + j.key +
                      "\" again."});
    }
  }
  {
    TELLTALE_SPAN("write", "format"_a = "json");
    if (!j.proof.empty()) {
      if (auto saved = made->proof.save(j.proof); !saved) return bad(saved.error());
    }
    if (!j.signals.empty()) {
      if (auto saved = made->signals.save(j.signals); !saved) return bad(saved.error());
    }
  }
  // Giving a key's memory back and wiping the witness take time too; it belongs to the job.
  TELLTALE_SPAN("release", "bytes"_a = key->bytes());
  key = telltale::error{};
  values = telltale::error{};
  return {true, {}};
}

void add_prove(CLI::App& app, int& code) {
  struct options {
    job j;
    remote_job remote;
    unsigned threads = 0;
    key_checks checks = key_checks::full;
    key_storage storage;
  };
  auto o = std::make_shared<options>();
  auto* command = app.add_subcommand(
      "prove", "Prove, here or at a daemon: a key and a witness give a proof and its public signals");
  command->add_option("--key", o->j.key, "The proving key (.zkey), to prove here")->option_text("K.zkey");
  command->add_option("--witness", o->j.witness, "The witness (.wtns)")->option_text("W.wtns");
  command->add_option("--proof", o->j.proof, "Where to write the proof")->required()->option_text("proof.json");
  command->add_option("--public", o->j.signals, "Where to write the public signals")
      ->required()
      ->option_text("public.json");
  command->add_option("--r1cs", o->j.r1cs, "The circuit (.r1cs), to say which constraint a wrong witness violates")
      ->option_text("C.r1cs");
  add_names(*command, o->j.names);
  add_threads(*command, o->threads);
  add_key_checks(*command, o->checks);
  add_key_storage(*command, o->storage);
  add_remote_options(*command, o->remote);
  command->callback([o, &code] {
    const bool here = !o->j.key.empty();
    if (here != o->remote.kind.empty()) {
      throw CLI::ValidationError("prove", "needs --key, to prove here, or --kind, to let a daemon prove");
    }
    if (o->j.witness.empty() == (here || o->remote.inputs.empty())) {
      throw CLI::ValidationError("prove", here ? "needs --witness" : "needs one of --witness and --inputs");
    }
    if (auto started = telltale::start(); !started) {
      code = fail(bad_input, started.error());
      return;
    }
    if (!here) {
      o->remote.witness = o->j.witness;
      o->remote.proof = o->j.proof;
      o->remote.signals = o->j.signals;
      code = prove_remotely(o->remote);
      return;
    }
    engine e(o->threads);
    o->j.id = new_job_id();
    o->j.circuit = std::filesystem::path(o->j.key).stem().string();
    job_result r;
    {
      TELLTALE_SCOPE_AS(root, "prove_groth16", "job_id"_a = telltale::text{o->j.id},
                        "kind"_a = telltale::text{o->j.circuit}, "proof.kind"_a = "groth16");
      r = run(o->j, e, o->checks, o->storage);
      if (!r.good) root.fail("prove_failed");
    }
    if (!r.good) code = fail(r.problem.is_refusal ? refused : bad_input, r.problem.why);
  });
}

}  // namespace prover::cli
