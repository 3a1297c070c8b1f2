// What the subcommands that ask a daemon share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "prover/cli/command.hpp"
#include "prover/cli/server_options.hpp"
#include "prover/daemon/rpc/client.hpp"

namespace prover::cli {

// Connects, or says why not and gives nothing; `code` becomes the exit code then.
std::unique_ptr<daemon::client> connect(const daemon::client_settings& settings, int& code);

// The line about a call that has no answer, with when to come again.
int fail(const daemon::call_failure& why);

// What `prover prove --kind` asks for.
struct remote_job {
  daemon::client_settings server;
  std::string kind;
  std::string witness;
  std::string inputs;
  std::string idempotency_key;
  std::string priority;
  std::string deadline;
  std::string timeout;
  std::string proof;
  std::string signals;
  bool cancel_on_disconnect = false;
  bool breakdown = false;
};
void add_remote_options(CLI::App& command, remote_job& into);
int prove_remotely(const remote_job& j);

// status, jobs, cancel, preload, evict, watch
void add_remote_commands(CLI::App& app, int& code);

}  // namespace prover::cli
