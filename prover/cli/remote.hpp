// What the subcommands that ask a daemon share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "prover/cli/command.hpp"
#include "prover/cli/job.hpp"
#include "prover/cli/server_options.hpp"
#include "prover/daemon/rpc/client.hpp"

namespace prover::cli {

// Connects, or says why not and gives nothing; `code` becomes the exit code then.
std::unique_ptr<daemon::client> connect(const daemon::client_settings& settings, int& code);

// The line about a call that has no answer, with when to come again.
int fail(const daemon::call_failure& why);

// A file's content; an error where it can't be read.
telltale::result<std::vector<std::byte>> content_of(const std::string& path);

// Asks for a proof and waits for it, below a span of its own: the daemon continues its trace, and the answer's job is
// its job_id.
daemon::answered<daemon::remote_result> ask(daemon::client& c, const daemon::request& r,
                                            std::optional<std::chrono::nanoseconds> timeout, bool cancel_on_disconnect);

// Why an answer has no proof: "job 1f… failed (unsatisfied): …". Empty where it has one.
std::string problem_of(const daemon::remote_result& r);

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

// `prover batch --daemon`: each circuit's witness goes to the kind of its name, all at once; the answers are printed as
// a table or, with `as_json`, as JSON.
int batch_remotely(const daemon::client_settings& server, const std::vector<job>& jobs, bool as_json);

// status, jobs, cancel, preload, evict, watch
void add_remote_commands(CLI::App& app, int& code);

}  // namespace prover::cli
