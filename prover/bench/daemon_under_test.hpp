// A prover-daemon of the benchmark's own: real circuits, a journal in a directory that goes with it, a client.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "prover/bench/figures.hpp"
#include "prover/daemon/rpc/client.hpp"
#include "prover/daemon/tests/daemon_process.hpp"
#include "prover/load/run.hpp"

namespace prover::bench {

// NAME.zkey and NAME.wtns: beside the repository (shared_data()), or in data/.
struct real_circuit {
  std::string name;
  std::string key;
  std::string witness;
};
// Nothing where it isn't there.
std::optional<real_circuit> find_circuit(const std::string& name);
// Those of the names that are there; what isn't is said as left out.
std::vector<real_circuit> find_circuits(telltale::bench::report& r, const std::vector<std::string>& names);

class daemon_under_test {
 public:
  // `sections` are further lines of its configuration; `environment` as NAME=VALUE. Throws where it doesn't start.
  explicit daemon_under_test(const std::vector<real_circuit>& circuits, const std::string& sections = {},
                             const std::vector<std::string>& environment = {}, const std::string& journal = {});

  daemon::client& client() { return *client_; }
  pid_t pid() const { return process_.pid(); }
  // What /metrics has under this name, summed over its labels.
  double metric(const std::string& name) const;

  // All keys resident, and each has made proofs.
  void warm_up();
  // One request per circuit and round, all at once; returns when all are answered. Throws where one has no proof.
  void prove(std::size_t rounds);
  daemon::request request_for(std::size_t circuit) const;
  const std::vector<load::job>& jobs() const { return jobs_; }

 private:
  daemon::testing::daemon_process process_;
  std::unique_ptr<daemon::client> client_;
  std::vector<load::job> jobs_;
};

// What an answer is, or an exception with its sentence.
template <class T>
T answer_of(daemon::answered<T> a) {
  if (const auto* failed = std::get_if<daemon::call_failure>(&a)) throw std::runtime_error(failed->message);
  return std::get<T>(std::move(a));
}

}  // namespace prover::bench
