// What a run against a daemon gave: percentiles, where the daemon spent its time, memory; as a table and as JSON.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "prover/daemon/job.hpp"

namespace prover::load {

using daemon::nanoseconds;

// Nearest rank: the smallest value that at least `share` of all are not above. Nothing of nothing is 0.
nanoseconds percentile(const std::vector<nanoseconds>& sorted, double share);

// One answer.
struct sample {
  std::string group;       // the kind, or "KIND cold"
  nanoseconds latency{0};  // from when it was to be sent until its answer
  std::string outcome;     // completed, failed, …; or gRPC's code where there was no answer
  std::size_t proofs = 0;
  daemon::timing times = {};  // the daemon's
  std::string problem;        // why there is no proof: a sentence
};

struct figures {
  std::string mode;
  nanoseconds wall{0};
  std::vector<sample> samples;
  bool memory_from_outside =
      false;                      // the kernel's figures of the daemon's process, else what the daemon says of itself
  std::size_t memory_before = 0;  // bytes
  std::size_t memory_peak = 0;
  std::size_t memory_after = 0;
  std::size_t budget = 0;
  std::vector<std::string> findings;  // what doesn't add up: makes the program fail
};

std::string table(const figures& f);
std::string json(const figures& f);

}  // namespace prover::load
