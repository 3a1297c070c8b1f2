// How things stand: one consistent moment of the whole service.
#pragma once

#include <map>

#include "prover/daemon/job.hpp"

namespace prover::daemon {

enum class residency_tier : std::uint8_t {
  cold,  // on disk
  loading,
  warm,  // loaded
  hot,   // loaded, with its tables
  unloading,
};
constexpr std::string_view telltale_name(residency_tier t) noexcept {
  constexpr std::string_view names[] = {"cold", "loading", "warm", "hot", "unloading"};
  return names[static_cast<std::size_t>(t)];
}

struct status {
  bool draining = false;
  nanoseconds uptime{0};

  // Jobs that wait or run, oldest first: at most a thousand; `jobs_by_state` has them all.
  std::vector<job_view> jobs;
  std::map<job_state, std::size_t> jobs_by_state;
  std::map<wait_reason, std::size_t> waits;
  std::size_t queued_jobs = 0;
  std::size_t queued_bytes = 0;
  nanoseconds oldest_wait{0};
  std::size_t slow = 0;  // stages and loads that last longer than limits::slow

  // What the daemon has counted since it started; after a restart from nought.
  struct counts {
    std::uint64_t accepted = 0, joined = 0, recovered = 0;
    std::map<outcome, std::uint64_t> ended;
    std::map<failure_class, std::uint64_t> failed;
    std::map<refusal_reason, std::uint64_t> refused;
  };
  counts total;
  std::map<std::string, counts> by_kind;

  struct resident_key {
    std::string kind;
    std::string device;
    residency_tier tier = residency_tier::cold;
    std::size_t bytes = 0;
    std::vector<job_id> users;
    nanoseconds idle{0};  // since its last use; 0 while it is used
    std::uint64_t loads = 0;
    nanoseconds last_load{0};
    nanoseconds loading{0};  // for so long already, where it is being loaded
    std::string problem;     // why it can't be loaded, or what changed on disk; empty where nothing is wrong
  };
  std::vector<resident_key> keys;

  struct memory {
    std::size_t budget = 0;
    std::size_t reserved = 0;
    std::size_t high_water = 0;                   // of `reserved`
    std::map<std::string, std::size_t> by_owner;  // "key sha17", "job 0123456789abcdef", "requests"
    std::size_t measured = 0;                     // what the operating system says (RssAnon)
  };
  memory ledger;

  // What one job of a kind takes: estimated until it was measured.
  struct sizes {
    std::size_t key = 0, loading = 0, witness = 0, working = 0;
    bool measured = false;
  };
  std::map<std::string, sizes> sizes_by_kind;

  struct device_state {
    std::string name;
    std::string description;
    bool quarantined = false;
    nanoseconds back_in{0};  // where quarantined
    std::vector<job_id> running;
    nanoseconds busy{0};  // since start
    std::uint64_t proofs = 0;
    std::uint64_t faults = 0;
    std::string last_fault;
  };
  std::vector<device_state> devices;
};

}  // namespace prover::daemon
