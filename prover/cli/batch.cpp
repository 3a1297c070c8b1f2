// `prover batch`: several circuits, each as a job with its own id, and where the time of all went; here, or at a
// daemon.
#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "prover/cli/command.hpp"
#include "prover/cli/job.hpp"
#include "prover/cli/remote.hpp"
#include "prover/cli/report.hpp"

TELLTALE_MODULE("prover");

namespace prover::cli {

using namespace telltale::literals;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t max_jobs = 256;

// Lets the jobs through one at a time, in the order of their numbers.
class turnstile {
 public:
  void wait_for(std::size_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return next_ == number; });
  }
  void pass() {
    {
      const std::lock_guard lock(mutex_);
      ++next_;
    }
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t next_ = 0;
};

telltale::result<std::vector<fs::path>> find_keys(const std::string& where) {
  std::vector<fs::path> keys;
  std::error_code failed;
  if (fs::is_directory(where, failed)) {
    for (fs::directory_iterator i(where, failed), end; !failed && i != end; i.increment(failed)) {
      if (i->path().extension() == ".zkey") keys.push_back(i->path());
    }
    if (failed)
      return telltale::error{"cannot read folder \"" + where + "\": " + failed.message() + ". Check its permissions."};
    std::sort(keys.begin(), keys.end());
  } else {
    std::ifstream list(where);
    if (!list)
      return telltale::error{"cannot read jobs \"" + where +
                             "\": it is neither a folder nor a list of keys. Check the path."};
    for (std::string line; std::getline(list, line);) {
      if (!line.empty() && line.front() != '#') keys.emplace_back(line);
    }
  }
  if (keys.empty())
    return telltale::error{"there is no .zkey in \"" + where + "\". Give a folder with NAME.zkey and NAME.wtns."};
  if (keys.size() > max_jobs) {
    return telltale::error{"\"" + where + "\" has " + std::to_string(keys.size()) + " keys, and a batch has at most " +
                           std::to_string(max_jobs) + ". Divide it."};
  }
  return keys;
}

job job_for(const fs::path& key) {
  const auto beside = [&](const char* ending) { return fs::path(key).replace_extension(ending).string(); };
  const auto where_there = [&](const char* ending) {
    auto path = beside(ending);
    return fs::exists(path) ? path : std::string();
  };
  job j;
  j.id = new_job_id();
  j.circuit = key.stem().string();
  j.key = key.string();
  j.witness = beside(".wtns");
  j.vkey = where_there(".vkey.json");
  j.r1cs = where_there(".r1cs");
  j.names = where_there(".sym");
  return j;
}

// One job from the queue to its end, as one span.
void run_one(const job& j, std::size_t number, turnstile& turn, engine& e, key_checks checks,
             const key_storage& storage, job_result& result) {
  TELLTALE_SCOPE_AS(root, "prove_groth16", "job_id"_a = telltale::text{j.id}, "kind"_a = telltale::text{j.circuit},
                    "proof.kind"_a = "groth16");
  {
    TELLTALE_SPAN("queue", "ahead"_a = number);
    turn.wait_for(number);
  }
  try {
    result = run(j, e, checks, storage);
  } catch (const std::bad_alloc&) {
    result.problem = {false, {"there is not enough memory for \"" + j.key + "\". Use a larger machine."}};
  }
  if (!result.good) root.fail("prove_failed");
}

// All jobs are accepted at once and wait for their turn, each on a thread of its own, so that its span shows the wait.
// A proof uses all of the engine's threads; two at a time would only be in each other's way.
std::vector<job_result> run_all(const std::vector<job>& jobs, engine& e, key_checks checks,
                                const key_storage& storage) {
  std::vector<job_result> results(jobs.size());
  turnstile turn;
  std::vector<std::thread> threads;
  threads.reserve(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    threads.emplace_back([&, i] {
      run_one(jobs[i], i, turn, e, checks, storage, results[i]);
      // After the job's span has ended: what the next one does is not this one's time.
      turn.pass();
    });
  }
  for (auto& thread : threads) thread.join();
  return results;
}

}  // namespace

void add_batch(CLI::App& app, int& code) {
  struct options {
    std::string jobs;
    unsigned threads = 0;
    key_checks checks = key_checks::full;
    key_storage storage;
    std::string format = "table";
    bool at_daemon = false;
    daemon::client_settings server;
  };
  auto o = std::make_shared<options>();
  auto* command =
      app.add_subcommand("batch", "Prove several circuits, here or at a daemon, and say where the time went");
  command
      ->add_option("--jobs", o->jobs,
                   "A folder of NAME.zkey with NAME.wtns, or a file that lists keys, one a line. Where they lie beside "
                   "it: NAME.vkey.json to verify with as well; NAME.r1cs and NAME.sym to say which constraint a wrong "
                   "witness violates")
      ->required()
      ->option_text("DIR|LIST");
  command->add_option("--format", o->format, "How to print: a table and the tree of one job (default), or JSON")
      ->check(CLI::IsMember({"table", "json"}).description(""))
      ->option_text("table|json");
  add_threads(*command, o->threads);
  add_key_checks(*command, o->checks);
  add_key_storage(*command, o->storage);
  auto* at_daemon = command->add_flag("--daemon", o->at_daemon,
                                      "Let a daemon prove them: each circuit is a kind there, named as its key's file");
  for (const char* here : {"--threads", "--key-checks", "--key-cache", "--table-memory"}) {
    at_daemon->excludes(command->get_option(here));
  }
  add_server(*command, o->server);
  command->callback([o, &code] {
    if (auto started = telltale::start(); !started) {
      code = fail(bad_input, started.error());
      return;
    }
    const auto keys = find_keys(o->jobs);
    if (!keys) {
      code = fail(bad_input, keys.error());
      return;
    }
    std::vector<job> jobs;
    for (const auto& key : *keys) jobs.push_back(job_for(key));
    if (o->at_daemon) {
      code = batch_remotely(o->server, jobs, o->format == "json");
      return;
    }

    const auto recording = std::make_shared<telltale::recording>();
    telltale::add_sink(recording);
    engine e(o->threads);
    const auto results = run_all(jobs, e, o->checks, o->storage);
    telltale::flush();
    telltale::remove_sink(recording);
    const batch_report report(recording->take());
    if (o->format == "json") {
      std::fputs(report.json().c_str(), stdout);
    } else {
      std::printf("%s\n%s", report.table().c_str(), report.tree().c_str());
    }
    std::fflush(stdout);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (results[i].good) continue;
      const auto& problem = results[i].problem;
      code = std::max<int>(code, fail(problem.is_refusal ? refused : bad_input,
                                      {"job " + jobs[i].id + " (" + jobs[i].circuit + "): " + problem.why.message}));
    }
  });
}

}  // namespace prover::cli
