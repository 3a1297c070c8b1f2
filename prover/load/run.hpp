// The ways of asking a daemon for proofs and measuring it.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "prover/daemon/rpc/client.hpp"
#include "prover/load/report.hpp"

namespace prover::load {

// What is asked for: a kind and a witness for it.
struct job {
  std::string kind;
  std::vector<std::byte> witness;
};

struct plan {
  std::vector<job> jobs;     // taken in turn
  std::size_t count = 10;    // of jobs (of rounds, where a mode has rounds)
  unsigned concurrency = 1;  // closed loop: how many wait at once
  double rate = 0;           // open loop: jobs per second; 0: closed loop
  std::size_t payloads = 1;  // of one job
  double faulty = 0;         // share of jobs whose witness is spoiled
  double cancelled = 0;      // share of jobs that are cancelled after a random moment
  unsigned seed = 1;
  std::function<void(std::size_t done, std::size_t of)> progress = [](std::size_t, std::size_t) {};
};

// An error where the daemon can't be asked at all. Failed jobs are results.
telltale::result<figures> run_load(daemon::client& c, const plan& p, const std::string& mode);
// Each round: the key is evicted, proved with, proved with again.
telltale::result<figures> run_cold(daemon::client& c, const plan& p);
// Much of everything, and whether it adds up: the daemon's counts are the client's, and its memory is what it was.
telltale::result<figures> run_soak(daemon::client& c, const plan& p);

}  // namespace prover::load
