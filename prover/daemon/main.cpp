// The program `prover-daemon`: reads its configuration, puts the parts together, and waits for a signal.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <telltale/adapters/grpc.hpp>
#include <telltale/core/serve_metrics.hpp>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "prover/daemon/config.hpp"
#include "prover/daemon/cpu_device.hpp"
#include "prover/daemon/http_routes.hpp"
#include "prover/daemon/journal/journal_sqlite.hpp"
#include "prover/daemon/rpc/server.hpp"
#include "prover/daemon/service.hpp"
#include "prover/daemon/witness_process.hpp"
#include "prover/heap.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

enum exit_code : int { done = 0, failed = 1, bad_configuration = 2 };

int fail(exit_code code, const telltale::error& why) {
  telltale::flush();  // so that the error is the last thing to be seen
  std::fprintf(stderr, "prover-daemon: %s\n", why.message.c_str());
  return code;
}

// What this machine has beside its processors, and what of it is used.
std::string gpu_sentence() {
  std::error_code none;
  const auto gpus = std::distance(std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", none),
                                  std::filesystem::directory_iterator());
  if (none || gpus == 0) return "no NVIDIA GPU here: proofs are made on the processors";
  return std::to_string(gpus) +
         " NVIDIA GPU(s) here, which this build has no kernels for: proofs are made on the "
         "processors";
}

std::string mebibytes(std::size_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

// The signals that end the daemon. Blocked in every thread: the main one waits for them.
sigset_t ending_signals() {
  sigset_t s;
  ::sigemptyset(&s);
  ::sigaddset(&s, SIGTERM);
  ::sigaddset(&s, SIGINT);
  return s;
}
int next_signal(const sigset_t& s) {
  int number = 0;
  while (::sigwait(&s, &number) != 0) {
  }
  return number;
}

int serve(const configuration& c) {
  const sigset_t ending = ending_signals();

  auto journal = journal_sqlite::open(c.journal);
  if (!journal) return fail(failed, journal.error());
  std::map<std::string, generator_program> programs;
  about_daemon about{TELLTALE_VERSION, {}, {}};
  for (const kind_settings& k : c.kinds) {
    about.kinds.push_back(k.registered);
    if (!k.generator.command.empty()) programs.emplace(k.registered.name, k.generator);
  }
  auto generators = witness_process::create(c.generators, std::move(programs));
  if (!generators) return fail(failed, generators.error());
  about.sandbox = (*generators)->sandbox();

  std::vector<std::unique_ptr<device>> devices;
  cpu_device::options cpu;
  cpu.threads = c.threads;
  cpu.cache_folder = c.key_cache;
  devices.push_back(std::make_unique<cpu_device>(cpu));
  const std::string device = devices.front()->description();

  service s(c.limits, about.kinds, std::move(devices), **journal, **generators);
  if (auto started = s.start(); !started) return fail(failed, started.error());
  auto rpc = rpc_server::start(c.server, s, about);
  if (!rpc) return fail(failed, rpc.error());
  std::optional<telltale::result<telltale::metrics_server>> http;
  if (c.server.http != "off") {
    http.emplace(telltale::serve_metrics(c.server.http, {}, http_routes(s, about, is_loopback(c.server.http))));
    if (!*http) return fail(failed, http->error());
  }

  TELLTALE_INFO("{gpus}; {device}", "gpus"_a = telltale::text{gpu_sentence()}, "device"_a = telltale::text{device});
  TELLTALE_INFO("memory budget {budget}", "budget"_a = telltale::text{mebibytes(s.get_status().ledger.budget)});
  TELLTALE_INFO("witness generators: {sandbox}", "sandbox"_a = telltale::text{about.sandbox});
  for (const std::string& a : (*rpc)->addresses()) {
    TELLTALE_INFO("gRPC on {address}", "address"_a = telltale::text{a});
  }
  if (http) TELLTALE_INFO("HTTP on {address}", "address"_a = telltale::text{(*http)->address()});

  int number = next_signal(ending);
  TELLTALE_INFO("signal {number}: no new jobs, and running ones have {seconds} s; a second signal stops at once",
                "number"_a = number, "seconds"_a = std::chrono::duration<double>(c.drain).count());
  // Everything accepted is on the disk; there is nothing that an orderly end would save.
  std::thread([&ending] { ::_exit(128 + next_signal(ending)); }).detach();
  (*rpc)->stop_serving();
  const std::size_t left = s.drain(c.drain);
  (*rpc)->stop(std::chrono::seconds{2});
  s.stop();
  if (left > 0) {
    TELLTALE_INFO("stopped; {jobs} jobs are kept in the journal and run when the daemon is back", "jobs"_a = left);
  } else {
    TELLTALE_INFO("stopped; every accepted job has its answer");
  }
  return done;
}

}  // namespace

int run(int argc, char** argv) {
  std::string file = "/etc/telltale-prover/prover-daemon.toml";
  std::vector<std::string> changes;
  bool check = false;
  bool print = false;
  CLI::App app{
      "A resident prover: keeps keys in memory, and makes Groth16 proofs for whoever asks over gRPC.\n"
      "SIGTERM lets running jobs end (jobs.drain); a second one stops at once. Accepted jobs are never lost.\n"
      "TELLTALE_LOG, TELLTALE_TRACE and TELLTALE_SINKS say what is recorded."};
  app.set_version_flag("--version", "prover-daemon " TELLTALE_VERSION);
  app.add_option("--config", file, "The configuration (default: " + file + ")")->option_text("FILE");
  app.add_option("--set", changes, "Changes one value of it, as memory.budget=4GiB (may be repeated)")
      ->option_text("SECTION.KEY=VALUE")
      ->take_all()
      ->allow_extra_args(false);
  app.add_flag("--check-config", check, "Says what is wrong with the configuration, or nothing, and ends");
  app.add_flag("--print-config", print, "Prints the configuration as it is understood, defaults included, and ends");
  app.footer("Exit codes: 0 stopped in good order, 1 could not run, 2 bad usage or configuration.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "prover-daemon: %s. See prover-daemon --help.\n", e.what());
    return bad_configuration;
  }
  const auto c = load_configuration(file, changes);
  if (!c) return fail(bad_configuration, c.error());
  if (print) {
    std::fputs(to_toml(*c).c_str(), stdout);
    return done;
  }
  if (auto readable = check_files(*c); !readable) return fail(bad_configuration, readable.error());
  if (check) return done;

  const sigset_t ending = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // before any thread
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the journal's, and no end
  keep_freed_memory();
  if (auto started = telltale::start(); !started) return fail(bad_configuration, started.error());
  telltale::name_thread("main");
  telltale::capture_grpc_log();
  const int code = serve(*c);
  telltale::shutdown();
  return code;
}

}  // namespace prover::daemon

int main(int argc, char** argv) {
  try {
    return prover::daemon::run(argc, argv);
  } catch (const std::exception& e) {
    return prover::daemon::fail(prover::daemon::failed, {e.what()});
  }
}
