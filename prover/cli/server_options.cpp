// The options that name a daemon.
#include "prover/cli/server_options.hpp"

namespace prover::cli {

void add_server(CLI::App& command, daemon::client_settings& into) {
  command.add_option("--server", into.server, "The daemon: HOST:PORT or unix:/path (default: " + into.server + ")")
      ->envname("PROVER_SERVER")
      ->option_text("ADDRESS");
  command.add_option("--token-file", into.token_file, "The token that the daemon wants")->option_text("FILE");
  command.add_option("--tls-ca", into.tls_ca, "Connect with TLS; the daemon's authority (PEM)")->option_text("FILE");
  command.add_option("--tls-certificate", into.tls_certificate, "This client's certificate")->option_text("FILE");
  command.add_option("--tls-key", into.tls_key, "Its key")->option_text("FILE");
}

}  // namespace prover::cli
