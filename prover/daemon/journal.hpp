// Where accepted jobs and their results are kept. The daemon holds no payload of a job that waits and no result of one
// that has ended: both are the journal's.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "prover/daemon/job.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

// An accepted job as it is written down.
struct journal_entry {
  job_id id;
  std::string idempotency_key;  // empty: none
  digest request{};             // over kind, forms and contents: what "the same payload" means
  std::string kind;
  daemon::priority priority = priority::normal;
  std::optional<nanoseconds> deadline;  // from `when`
  wall_time when;                       // accepted
  struct part {
    payload_form form = payload_form::wtns;
    std::uint64_t size = 0;
    digest content{};  // SHA-256 of the payload: a name for its file
    friend bool operator==(const part&, const part&) = default;
  };
  std::vector<part> parts;
  unsigned starts = 0;  // calls of started() less those of put_back(), over all runs of the daemon
};

struct journalled_job {
  journal_entry entry;
  std::optional<job_result> result;  // once it has ended
};

// Called from several threads at once. An implementation must not call back into the service. Errors are sentences for
// operators ("cannot write journal …: No space left on device. Free some.").
class journal {
 public:
  virtual ~journal() = default;

  // On return the job and its payloads survive a kill of the process. The service sees to it that no two calls at once
  // have the same idempotency key, and that the key is new (find_key). On an error nothing of the job is kept.
  virtual telltale::result<void> accept(const journal_entry& entry, std::span<const payload> payloads) = 0;

  // One payload of an accepted, unfinished job. An error too where it isn't what was accepted.
  virtual telltale::result<std::vector<std::byte>> load_payload(const job_id& id, std::size_t index) = 0;

  // It is about to run. Counts up `starts`, so that a job that ends the process each time is given up; must survive a
  // kill of the process, not a loss of power.
  virtual telltale::result<void> started(const job_id& id) = 0;
  // It was started, and given up because the daemon stops in good order: takes that start back.
  virtual telltale::result<void> put_back(const job_id& id) = 0;

  // The one terminal answer. On return it survives a kill of the process, and the payloads may be dropped. Called again
  // after an error, until it succeeds.
  virtual telltale::result<void> finish(const job_id& id, const job_result& result) = 0;

  // Nothing where it was never there, or is no longer kept.
  virtual telltale::result<std::optional<journalled_job>> find(const job_id& id) = 0;
  virtual telltale::result<std::optional<journalled_job>> find_key(const std::string& idempotency_key) = 0;

  // All accepted jobs without a result, in the order of their acceptance. Called once, at start.
  virtual telltale::result<std::vector<journal_entry>> unfinished() = 0;
  // The last that ended, the latest first; their proofs may be left out.
  virtual telltale::result<std::vector<journalled_job>> finished(std::size_t at_most) = 0;
};

}  // namespace prover::daemon
