// What the subcommands of `prover` share: their options, and how they end.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <telltale/core/result.hpp>

#include "telltale/prover/key.hpp"

namespace prover::cli {

enum exit_code : int {
  done = 0,
  refused = 1,    // the proof is invalid, or the witness yields none
  bad_input = 2,  // wrong usage, or a file that can't be read or written
};

// Prints the error as the one line that a failed command leaves on stderr.
int fail(exit_code code, const telltale::error& why);

// "--key-checks full|on-curve|none"
void add_key_checks(CLI::App& command, key_checks& into);
// "--sym C.sym"
void add_names(CLI::App& command, std::string& into);
// "--key-cache DIR", "--table-memory SIZE"
void add_key_storage(CLI::App& command, key_storage& into);
// "--threads N"
void add_threads(CLI::App& command, unsigned& into);

// Each adds its subcommand; `code` becomes the program's exit code when it runs.
void add_prove(CLI::App& app, int& code);
void add_verify(CLI::App& app, int& code);
void add_check(CLI::App& app, int& code);
void add_info(CLI::App& app, int& code);
void add_batch(CLI::App& app, int& code);
void add_setup(CLI::App& app, int& code);
void add_circuit(CLI::App& app, int& code);

}  // namespace prover::cli
