// What telemetry at its default takes of the daemon's work, by account: records at their measured cost, and the
// processor time of telemetry's threads. Beside it, as a check, throughput with and without.
#include <condition_variable>
#include <fstream>
#include <telltale/core/telltale.hpp>

#include "core/otlp/tests/receiver.hpp"
#include "prover/bench/alternating.hpp"
#include "prover/bench/daemon_figures.hpp"
#include "prover/bench/daemon_under_test.hpp"

TELLTALE_MODULE("prover::bench");

namespace prover::bench {
namespace {

using namespace telltale::literals;
using telltale::bench::value_at_most;

// Seconds of processor time: of the process, or of its threads that telemetry owns.
double cpu_of(pid_t pid, bool telemetry_only) {
  double sum = 0;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
    std::string name;
    std::getline(std::ifstream(thread.path() / "comm"), name);
    double ns = 0;
    std::ifstream(thread.path() / "schedstat") >> ns;
    if (!telemetry_only || name.starts_with("telltale")) sum += 1e-9 * ns;
  }
  return sum;
}

// Nanoseconds that a record takes on the thread that writes it: a span with three attributes, with a live drain.
double cost_of_a_record() {
  std::vector<double> costs;
  for (int i = 0; i < 9; ++i) {
    costs.push_back(telltale::bench::timed(
        [](std::uint64_t n) { TELLTALE_SPAN("span", "n"_a = n, "share"_a = 0.5, "device"_a = "cpu"); }, 2000));
    telltale::flush();
  }
  return telltale::bench::spread_of(costs).median;
}

// A collector that takes requests and never answers.
class hanging_collector {
 public:
  hanging_collector()
      : receiver_([this](const telltale::testing::received&) {
          std::unique_lock lock(mutex_);
          ended_.wait(lock, [&] { return over_; });
          return std::string();
        }) {}
  ~hanging_collector() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    ended_.notify_all();
  }
  std::string url() const { return receiver_.url(); }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  telltale::testing::receiver receiver_;
};

std::vector<std::string> sending_to(const std::string& url) {
  return {"TELLTALE_SINKS=text:stderr;otlp:" + url + "?protocol=http/protobuf"};
}

void add_account(telltale::bench::report& r, const std::vector<real_circuit>& circuits, const std::string& collector,
                 const std::string& url) {
  daemon_under_test d(circuits, {}, sending_to(url));
  d.warm_up();
  const double cost = cost_of_a_record();
  const double records = d.metric("telltale_records_written_total");
  const double telemetry = cpu_of(d.pid(), true);
  const double all = cpu_of(d.pid(), false);
  for (int i = 0; i < 20; ++i) d.prove(1);
  const double written = d.metric("telltale_records_written_total") - records;
  const double spent = cpu_of(d.pid(), true) - telemetry + 1e-9 * cost * written;
  r.add({.name = "telemetry, by account, the collector " + collector,
         .value = 100 * spent / (cpu_of(d.pid(), false) - all),
         .unit = "%",
         .bar = value_at_most(1)});
}

}  // namespace

void add_telemetry_figures(telltale::bench::report& r) {
  const auto circuits = find_circuits(r, {"semaphore-20", "merkle12", "sha15", "sha17"});
  if (circuits.empty()) return;
  const telltale::testing::receiver up;
  add_account(r, circuits, "up", up.url());
  add_account(r, circuits, "down", "http://127.0.0.1:9");
  {
    const hanging_collector hanging;
    add_account(r, circuits, "hanging", hanging.url());
  }
  daemon_under_test with(circuits, {}, sending_to(up.url()));
  daemon_under_test without(circuits, {}, {"TELLTALE_LOG=off,prover::daemon=info", "TELLTALE_TRACE=off"});
  for (auto* d : {&with, &without}) d->warm_up();
  const auto p = alternate(
      &milliseconds::wall, [&] { return taken_by([&] { with.prove(2); }); },
      [&] { return taken_by([&] { without.prove(2); }); }, 15);
  r.add(figure_of(p, "the same jobs with telemetry, the collector up", "without"));
}

}  // namespace prover::bench
