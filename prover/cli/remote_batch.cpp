// `prover batch --daemon`: the batch at a daemon.
#include <cstdio>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "prover/cli/remote.hpp"
#include "prover/cli/report.hpp"

namespace prover::cli {

namespace {

using daemon::answered;
using daemon::call_failure;
using daemon::remote_result;

job_times times_of(const std::string& circuit, const remote_result& r) {
  job_times t{r.id.value, circuit, r.result.how != daemon::outcome::completed, r.result.times.total.count(), {}};
  for (const daemon::phase_time& p : r.result.times.phases) t.walls.emplace_back(p.name, p.wall.count());
  return t;
}

// The witness goes to the daemon; the answer comes, or a sentence about why not.
answered<remote_result> ask_for(daemon::client& c, const job& j) {
  auto content = content_of(j.witness);
  if (!content) return call_failure{"not sent", content.error().message, {}, {}};
  daemon::request r;
  r.kind = j.circuit;
  r.payloads.push_back({daemon::payload_form::wtns, std::move(*content)});
  return ask(c, r, std::nullopt, true);
}

}  // namespace

int batch_remotely(const daemon::client_settings& server, const std::vector<job>& jobs, bool as_json) {
  int code = done;
  const auto c = connect(server, code);
  if (c == nullptr) return code;
  std::vector<answered<remote_result>> answers(jobs.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      threads.emplace_back([&, i] { answers[i] = ask_for(*c, jobs[i]); });
    }
  }
  telltale::flush();
  std::vector<job_times> rows;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (const auto* r = std::get_if<remote_result>(&answers[i])) rows.push_back(times_of(jobs[i].circuit, *r));
  }
  // A table of nothing would hide why.
  if (as_json || !rows.empty()) {
    const batch_report report(std::move(rows));
    std::fputs((as_json ? report.json() : report.table()).c_str(), stdout);
    std::fflush(stdout);
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (const auto* failed = std::get_if<call_failure>(&answers[i])) {
      code = fail(bad_input, {jobs[i].circuit + ": " + failed->message + " (" + failed->code + ")"});
    } else if (auto problem = problem_of(std::get<remote_result>(answers[i])); !problem.empty()) {
      code = std::max<int>(code, fail(refused, {jobs[i].circuit + ": " + problem}));
    }
  }
  return code;
}

}  // namespace prover::cli
