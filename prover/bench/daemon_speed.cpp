// What the daemon's residency saves, what the daemon itself costs, and how long a submission takes.
#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "core/bench/child.hpp"
#include "prover/bench/alternating.hpp"
#include "prover/bench/daemon_figures.hpp"
#include "prover/bench/daemon_under_test.hpp"
#include "telltale/prover/engine.hpp"

namespace prover::bench {
namespace {

using telltale::bench::ratio_at_least;
using telltale::bench::ratio_at_most;
using telltale::bench::spread_of;
using telltale::bench::value_at_most;

template <class T>
T value_or_throw(telltale::result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

double quantile(std::vector<double> values, double share) {
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(share * static_cast<double>(values.size()));
  return values[std::min(rank, values.size() - 1)];
}

// One disk write that is on the disk, as the journal makes three of: the floor of a submission.
double sync_ms(const std::string& folder, int n) {
  const std::string path = folder + "/floor";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  const double from = ms_on(CLOCK_MONOTONIC);
  (void)!::pwrite(fd, page.data(), page.size(), 4096 * static_cast<off_t>(n));
  ::fdatasync(fd);
  const double took = ms_on(CLOCK_MONOTONIC) - from;
  ::close(fd);
  return took;
}

// Keys of one kind are loaded and evicted as long as it lives.
class always_loading {
 public:
  always_loading(daemon::client& c, std::string kind)
      : thread_([&c, kind = std::move(kind), this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (const auto a = c.preload(kind); std::holds_alternative<bool>(a) && std::get<bool>(a)) {
              (void)c.evict(kind);
              ++loads_;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
          }
        }) {}
  std::size_t loads() const { return loads_; }

 private:
  std::atomic<std::size_t> loads_{0};
  std::jthread thread_;
};

}  // namespace

void add_cold_figures(telltale::bench::report& r) {
  for (const auto& [name, bar] : {std::pair{"semaphore-20", telltale::bench::bar{}},
                                  {"sha15", telltale::bench::bar{}},
                                  {"eddsa15", telltale::bench::bar{}},
                                  {"sha17", ratio_at_most(0.8)}}) {
    const auto circuits = find_circuits(r, {name});
    if (circuits.empty()) continue;
    daemon_under_test d(circuits);
    d.warm_up();
    load::plan p;
    p.jobs = d.jobs();
    p.count = 9;
    const auto f = value_or_throw(load::run_cold(d.client(), p));
    telltale::bench::paired pairs;
    for (std::size_t i = 0; i + 1 < f.samples.size(); i += 2) {
      pairs.floor.push_back(1e-6 * static_cast<double>(f.samples[i].latency.count()));
      pairs.ours.push_back(1e-6 * static_cast<double>(f.samples[i + 1].latency.count()));
    }
    r.add(figure_of(pairs, std::string(name) + ", key resident", "its key cold", bar));
  }
}

void add_throughput_figure(telltale::bench::report& r) {
  const auto circuits = find_circuits(r, {"semaphore-20", "merkle12", "sha15", "eddsa15", "sha17"});
  if (circuits.empty()) return;
  const std::size_t rounds = (20 + circuits.size() - 1) / circuits.size();
  const double jobs = static_cast<double>(rounds * circuits.size());
  daemon_under_test d(circuits);
  d.warm_up();
  engine e;  // as many threads as the daemon's
  std::vector<proving_key> keys;
  std::vector<witness> values;
  for (const real_circuit& c : circuits) {
    keys.push_back(value_or_throw(e.load_key(c.key, key_checks::none)));
    values.push_back(value_or_throw(witness::load(c.witness)));
  }
  telltale::bench::paired p;
  for (int i = -1; i < 9; ++i) {
    const double from = ms_on(CLOCK_MONOTONIC);
    for (std::size_t k = 0; k < rounds * circuits.size(); ++k) {
      (void)value_or_throw(e.prove(keys[k % keys.size()], values[k % keys.size()]));
    }
    const double between = ms_on(CLOCK_MONOTONIC);
    d.prove(rounds);
    const double to = ms_on(CLOCK_MONOTONIC);
    if (i < 0) continue;
    p.floor.push_back(1e3 * jobs / (between - from));
    p.ours.push_back(1e3 * jobs / (to - between));
  }
  auto f = p.as_figure("20 mixed jobs at once", "the engine alone, in turn", ratio_at_least(0.95));
  f.unit = "/s";
  r.add(f);
}

void add_submit_figures(telltale::bench::report& r) {
  const auto circuits = find_circuits(r, {"semaphore-20", "semaphore-1", "sha17"});
  if (circuits.size() < 3) return;
  const bool memory = std::filesystem::exists("/dev/shm");
  for (const bool on_disk : {false, true}) {
    if (!on_disk && !memory) continue;
    const telltale::bench::scratch_directory disk;
    std::string journal = disk / "journal";
    if (!on_disk) journal = "/dev/shm/prover-bench-" + std::to_string(::getpid());
    std::vector<double> took;
    std::vector<double> floor;
    std::size_t loads = 0;
    {
      daemon_under_test d(circuits, "[jobs]\nmax_queued = 5000\n", {}, journal);
      d.warm_up();
      daemon::client& c = d.client();
      std::vector<daemon::job_id> jobs;
      while (jobs.size() < 1200) jobs.push_back(answer_of(c.submit(d.request_for(0))).id);
      const always_loading loading(c, "sha17");
      std::mt19937 random(1);
      daemon::request own = d.request_for(1);
      own.priority = daemon::priority::low;
      for (int i = 0; i < 500; ++i) {
        // Each another content: nothing is on the disk already. They wait behind all others, and are not proved.
        for (std::size_t k = 0; k < 16; ++k)
          own.payloads[0].content[own.payloads[0].content.size() - 1 - 16 * k] = std::byte(random());
        const double from = ms_on(CLOCK_MONOTONIC);
        jobs.push_back(answer_of(c.submit(own)).id);
        took.push_back(ms_on(CLOCK_MONOTONIC) - from);
        floor.push_back(sync_ms(on_disk ? disk / "" : journal, i));
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
      const auto status = answer_of(c.list({}, false, 10'000));
      if (status.size() < 1000) throw std::runtime_error("fewer than 1,000 jobs were left in the queue");
      loads = loading.loads();
      for (const auto& id : jobs) (void)c.cancel(id);
    }
    if (!on_disk) std::filesystem::remove_all(journal);
    if (loads == 0) throw std::runtime_error("no key was loaded meanwhile");
    const std::string what =
        "submit, 1,000 queued, a key loading, journal " + std::string(on_disk ? "on the disk" : "in memory");
    r.add({.name = what + ", p50",
           .value = quantile(took, 0.5),
           .unit = "ms",
           .reference = "one write to the journal's disk",
           .reference_value = quantile(floor, 0.5)});
    r.add({.name = what + ", p99",
           .value = quantile(took, 0.99),
           .unit = "ms",
           .reference = "one write to the journal's disk",
           .reference_value = quantile(floor, 0.99),
           .bar = value_at_most(2)});
  }
}

}  // namespace prover::bench
