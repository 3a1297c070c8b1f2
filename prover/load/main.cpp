// The program `prover-bench`: measures a proving daemon from outside.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <fstream>

#include "prover/cli/server_options.hpp"
#include "prover/load/run.hpp"

namespace prover::load {

namespace {

enum exit_code : int { done = 0, wrong = 1, bad_input = 2 };

struct options {
  daemon::client_settings server;
  std::vector<std::string> jobs;
  std::string json;
  plan p;
};

int fail(const std::string& why) {
  std::fprintf(stderr, "prover-bench: %s\n", why.c_str());
  return bad_input;
}

// "KIND=FILE.wtns"
telltale::result<job> job_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return telltale::error{"\"" + text + "\" is no job: write KIND=WITNESS.wtns"};
  }
  const std::string path = text.substr(equals + 1);
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  if (!file || content.empty()) return telltale::error{"cannot read the witness \"" + path + "\""};
  const auto* begin = reinterpret_cast<const std::byte*>(content.data());
  return job{text.substr(0, equals), {begin, begin + content.size()}};
}

void show_progress(std::size_t n, std::size_t of) {
  constexpr std::size_t width = 40;
  static std::size_t shown = 0;
  const std::size_t full = of == 0 ? width : std::min(width, n * width / of);
  if (n != of && n * 200 / std::max<std::size_t>(of, 1) == shown) return;
  shown = n * 200 / std::max<std::size_t>(of, 1);
  std::fprintf(stderr, "\r[%.*s%.*s] %zu/%zu%s", static_cast<int>(full), "########################################",
               static_cast<int>(width - full), "........................................", n, of, n == of ? "\n" : "");
}

int run(const std::string& mode, options& o) {
  for (const std::string& text : o.jobs) {
    auto j = job_of(text);
    if (!j) return fail(j.error().message);
    o.p.jobs.push_back(std::move(*j));
  }
  if (::isatty(STDERR_FILENO) != 0) o.p.progress = show_progress;
  auto c = daemon::client::open(o.server);
  if (!c) return fail(c.error().message);
  const auto f = mode == "cold" ? run_cold(**c, o.p) : mode == "soak" ? run_soak(**c, o.p) : run_load(**c, o.p, mode);
  if (!f) return fail(f.error().message);
  if (o.json != "-") std::fputs(table(*f).c_str(), stdout);
  if (o.json == "-") std::fputs(json(*f).c_str(), stdout);
  if (!o.json.empty() && o.json != "-") {
    std::ofstream file(o.json);
    file << json(*f);
    if (!file.flush()) return fail("cannot write \"" + o.json + "\"");
  }
  return f->findings.empty() ? done : wrong;
}

}  // namespace

}  // namespace prover::load

int main(int argc, char** argv) {
  namespace load = prover::load;
  load::options o;
  std::string mode;
  CLI::App app{
      "Measures a proving daemon: latency percentiles, where the daemon spent the time, its memory.\n"
      "Exit code 1 where no job was completed, memory exceeded the budget or a soak doesn't add up; 2 for bad usage or "
      "no daemon."};
  app.set_version_flag("--version", "prover-bench " TELLTALE_VERSION);
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what) {
    auto* command = app.add_subcommand(name, what);
    prover::cli::add_server(*command, o.server);
    command->add_option("--job", o.jobs, "What to prove, KIND=WITNESS.wtns; several are taken in turn")
        ->required()
        ->option_text("KIND=W");
    command->add_option("--json", o.json, "The figures as JSON into this file (-: standard output, no table)")
        ->option_text("FILE");
    command->add_option("-n,--count", o.p.count, "How many jobs (default: 10)")->check(CLI::Range(1, 10'000'000));
    command->callback([&mode, name] { mode = name; });
    return command;
  };
  const auto add_payloads = [&](CLI::App* command) {
    command->add_option("--payloads", o.p.payloads, "Witnesses per job (default: 1; batch: 8)")
        ->check(CLI::Range(1, 10'000));
  };
  const auto add_concurrency = [&](CLI::App* command) {
    command->add_option("-c,--concurrency", o.p.concurrency, "Jobs that are asked for at once (default: 1)")
        ->check(CLI::Range(1, 1000));
  };
  add("single", "One job after the other");
  auto* batch = add("batch", "Jobs of several witnesses, whose proofs come together");
  add_payloads(batch);
  auto* loop = add("load", "Many at once: --concurrency that wait (closed loop), or --rate per second (open loop)");
  add_payloads(loop);
  add_concurrency(loop);
  loop->add_option("--rate", o.p.rate, "Jobs per second, whether or not answers come")->check(CLI::Range(0.001, 1e6));
  add("cold", "Each round: the key evicted, then a cold proof, then a warm one");
  auto* soak = add("soak", "Many jobs, some spoiled, some cancelled; counts and memory must add up");
  add_concurrency(soak);
  soak->add_option("--faulty", o.p.faulty, "Share of spoiled witnesses (default: 0.05)")->check(CLI::Range(0.0, 1.0));
  soak->add_option("--cancelled", o.p.cancelled, "Share of cancelled jobs (default: 0.05)")
      ->check(CLI::Range(0.0, 1.0));
  soak->add_option("--seed", o.p.seed, "Of the random choices (default: 1)");
  try {
    app.parse(argc, argv);
    if (mode == "batch" && batch->count("--payloads") == 0) o.p.payloads = 8;
    if (mode == "soak") {
      if (soak->count("--faulty") == 0) o.p.faulty = 0.05;
      if (soak->count("--cancelled") == 0) o.p.cancelled = 0.05;
      if (soak->count("--count") == 0) o.p.count = 2000;
      if (soak->count("--concurrency") == 0) o.p.concurrency = 8;
    }
    return load::run(mode, o);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ParseError& e) {
    std::fprintf(stderr, "prover-bench: %s. See prover-bench --help.\n", e.what());
    return load::bad_input;
  } catch (const std::exception& e) {
    return load::fail(e.what());
  }
}
