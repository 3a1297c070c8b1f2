// The options that name a daemon.
#pragma once

#include <CLI/CLI.hpp>

#include "prover/daemon/rpc/client.hpp"

namespace prover::cli {

// "--server ADDRESS", "--token-file", "--tls-…"
void add_server(CLI::App& command, daemon::client_settings& into);

}  // namespace prover::cli
