// The program `prover`: Groth16 proofs from snarkjs files, in one process or by asking a daemon.
#include <cstdio>
#include <exception>
#include <map>
#include <telltale/core/telltale.hpp>

#include "prover/cli/command.hpp"
#include "prover/cli/remote.hpp"

namespace prover::cli {

int fail(exit_code code, const telltale::error& why) {
  // What was recorded comes first, so that the error is the last thing to be seen.
  telltale::flush();
  std::fprintf(stderr, "prover: %s\n", why.message.c_str());
  return code;
}

void add_key_checks(CLI::App& command, key_checks& into) {
  static const std::map<std::string, key_checks> names{
      {"full", key_checks::full}, {"on-curve", key_checks::on_curve}, {"none", key_checks::none}};
  command
      .add_option("--key-checks", into,
                  "What to check about the key's points: full (on the curve and in the subgroup; default), on-curve, "
                  "or none, for a key that was checked before")
      ->transform(CLI::CheckedTransformer(names).description(""))
      ->option_text("full|on-curve|none");
}

void add_names(CLI::App& command, std::string& into) {
  command.add_option("--sym", into, "The circuit's signal names (.sym), to name a violated constraint's signals")
      ->option_text("C.sym");
}

void add_key_storage(CLI::App& command, key_storage& into) {
  command
      .add_option("--key-cache", into.cache_folder,
                  "A folder for checked keys in the layout of this processor's kernels: the next start with the same "
                  "key takes them from there (default: none)")
      ->option_text("DIR");
  command
      .add_option(
          "--table-memory", into.table_bytes,
          "Memory for tables of the key's points, as 512MB or 2GB: pays where many proofs are made with one key "
          "(default: 0)")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->option_text("SIZE");
}

void add_threads(CLI::App& command, unsigned& into) {
  command.add_option("--threads", into, "Threads to compute with (default: one per processor)")
      ->check(CLI::Range(1U, 1024U).description(""))
      ->option_text("N");
}

}  // namespace prover::cli

int main(int argc, char** argv) {
  namespace cli = prover::cli;
  int code = cli::done;
  CLI::App app{
      "Proves and verifies circom circuits with Groth16 over BN254 and BLS12-381, from snarkjs' files.\n"
      "Every proof is verified before it is written. TELLTALE_LOG, TELLTALE_TRACE and TELLTALE_SINKS say what is "
      "recorded."};
  app.set_version_flag("--version", "prover " TELLTALE_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 fine, 1 proof invalid or refused, 2 bad usage or input.");
  cli::add_prove(app, code);
  cli::add_verify(app, code);
  cli::add_batch(app, code);
  cli::add_check(app, code);
  cli::add_info(app, code);
  cli::add_setup(app, code);
  cli::add_circuit(app, code);
  cli::add_remote_commands(app, code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "prover: %s. See prover --help.\n", e.what());
    return cli::bad_input;
  } catch (const std::bad_alloc&) {
    return cli::fail(cli::bad_input, {"there is not enough memory. Use a smaller circuit or a larger machine."});
  } catch (const std::exception& e) {
    return cli::fail(cli::bad_input, {e.what()});
  }
  return code;
}
