// That memory stays inside its budget, and comes back.
#include "prover/bench/daemon_figures.hpp"
#include "prover/bench/daemon_under_test.hpp"
#include "prover/load/process_memory.hpp"

namespace prover::bench {
namespace {

using telltale::bench::ratio_at_most;
using telltale::bench::value_at_most;

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

load::figures value_or_throw(telltale::result<load::figures> f) {
  if (!f) throw std::runtime_error(f.error().message);
  return std::move(*f);
}

}  // namespace

void add_memory_figure(telltale::bench::report& r) {
  // Too little for all keys at once, and enough for the largest with its job: keys come and go.
  const auto circuits = find_circuits(r, {"semaphore-20", "merkle12", "sha15", "eddsa15", "sha17"});
  if (circuits.empty()) return;
  daemon_under_test d(circuits, "[memory]\nbudget = \"512MiB\"\n");
  load::plan p;
  p.jobs = d.jobs();
  p.count = 60;
  p.concurrency = 8;
  const auto f = value_or_throw(load::run_load(d.client(), p, "load"));
  for (const load::sample& s : f.samples) {
    if (s.outcome != "completed") throw std::runtime_error("a job was not completed: " + s.outcome);
  }
  r.add({.name = "peak memory, 60 mixed jobs, 8 at once",
         .value = mib(f.memory_peak),
         .unit = "MiB",
         .reference = "the budget",
         .reference_value = mib(f.budget),
         .bar = ratio_at_most(1)});
}

void add_soak_figures(telltale::bench::report& r) {
  const auto circuits = find_circuits(r, {"semaphore-1", "merkle12"});
  if (circuits.empty()) return;
  daemon_under_test d(circuits);
  load::plan p;
  p.jobs = d.jobs();
  p.count = 2000;
  p.concurrency = 8;
  p.faulty = p.cancelled = 0.05;
  const auto f = value_or_throw(load::run_soak(d.client(), p));
  std::size_t differing = 0;
  for (const std::string& finding : f.findings) differing += finding.starts_with("the daemon counts") ? 1U : 0U;
  r.add({.name = "memory after 2,000 jobs, 5 % spoiled, 5 % cancelled",
         .value = mib(f.memory_after),
         .unit = "MiB",
         .reference = "before",
         .reference_value = mib(f.memory_before),
         .bar = ratio_at_most(1.05)});
  r.add({.name = "counts of outcomes that differ between daemon and client",
         .value = static_cast<double>(differing),
         .unit = "",
         .bar = value_at_most(0)});
}

}  // namespace prover::bench
