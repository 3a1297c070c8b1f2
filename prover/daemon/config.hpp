// The daemon's configuration: a TOML file, and what the command line changes about it.
//
// Strict: an unknown key, a value of the wrong type, a size or duration that can't be read, and values that contradict
// each other are errors with file, line and column, all of them at once. Circuits are registered here as data; nothing
// about one is compiled in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "prover/daemon/job.hpp"
#include "prover/daemon/limits.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

// Who may connect, and how.
struct server_settings {
  std::vector<std::string> listen{"127.0.0.1:9820"};  // HOST:PORT, [IPV6]:PORT, or unix:/path/to/socket
  std::string http = "127.0.0.1:9821";                // metrics, health and status; "off" for none
  std::string token_file;                             // a caller must send what stands in it
  std::string tls_certificate;                        // PEM, with tls_key
  std::string tls_key;
  std::string tls_client_ca;                             // a caller must have a certificate of this authority
  bool allow_anonymous = false;                          // beyond loopback without a token or client certificates
  std::uint64_t max_request = std::uint64_t{256} << 20;  // bytes
};

struct journal_settings {
  std::string directory = "/var/lib/telltale-prover";
  std::chrono::milliseconds keep = std::chrono::hours{24};  // results
  std::uint64_t keep_bytes = std::uint64_t{1} << 30;        // results, all together
};

enum class sandbox_choice : std::uint8_t {
  bubblewrap,  // no network, read-only, a directory of its own
  none,        // resource limits only
};

struct generator_settings {
  sandbox_choice sandbox = sandbox_choice::bubblewrap;
  std::string directory = "/tmp";  // where each run gets a directory of its own
};

// The program that computes a kind's witnesses from inputs; called with two more arguments, the inputs (.json) and
// where to write the witness (.wtns). What it may use beside: kind::witness_source_memory.
struct generator_program {
  std::vector<std::string> command;  // empty: jobs of this kind bring witnesses
  std::chrono::milliseconds time = std::chrono::minutes{1};
};

struct kind_settings {
  kind registered;
  generator_program generator;
};

struct configuration {
  server_settings server;
  daemon::limits limits;
  unsigned threads = 0;                                        // that compute; 0: one per processor
  std::chrono::milliseconds drain = std::chrono::seconds{30};  // how long SIGTERM lets running jobs go on
  std::string key_cache;                                       // key_storage::cache_folder
  journal_settings journal;
  generator_settings generators;
  std::vector<kind_settings> kinds;
};

// Reads the text of a configuration. `name` is the file's, for messages; relative paths in it are relative to
// `directory`. `changes` are SECTION.KEY=VALUE from the command line and win; a value that isn't TOML is taken as a
// string. The error has a line for each thing that is wrong.
telltale::result<configuration> parse_configuration(std::string_view text, const std::string& name,
                                                    const std::string& directory,
                                                    const std::vector<std::string>& changes = {});
telltale::result<configuration> load_configuration(const std::string& path,
                                                   const std::vector<std::string>& changes = {});

// Whether the files that it names can be read. A line for each that can't.
telltale::result<void> check_files(const configuration& c);

// Whether an address of `listen` or `http` is reachable from this machine only.
bool is_loopback(std::string_view address);

// As TOML, defaults included: reading it again gives the same.
std::string to_toml(const configuration& c);

}  // namespace prover::daemon
