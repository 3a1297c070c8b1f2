// What bounds the service.
#pragma once

#include "prover/daemon/job.hpp"

namespace prover::daemon {

struct limits {
  std::size_t memory = 0;                     // one budget for everything; 0: detect_memory()
  std::size_t request_memory = 0;             // of it, for requests that arrive; 0: an eighth, at most 1 GiB
  std::optional<std::size_t> process_memory;  // of it, for the process itself; else what it has at start, and more
  std::size_t queued_jobs = 1000;             // accepted, not yet admitted; each keeps a scope open, of 16,384
  std::size_t queued_bytes = std::size_t{4} << 30;    // their payloads, in the journal
  unsigned prepared_ahead = 2;                        // admitted payloads per device beyond those it works on
  unsigned preparing_threads = 2;                     // payloads that are witnesses; generators have their own
  unsigned loading_threads = 2;                       // keys
  unsigned attempts = 3;                              // on devices that fault
  unsigned starts = 8;                                // of one job, over crashes of the daemon
  nanoseconds ageing = std::chrono::seconds{30};      // of waiting for one step of priority
  nanoseconds evict_idle = std::chrono::minutes{30};  // an unused key goes, needed or not; 0: never
  nanoseconds quarantine = std::chrono::seconds{10};  // of a device after a fault; doubles, up to 32 times
  nanoseconds boundary = std::chrono::seconds{5};     // a job that ends gets its answer then, its stage ended or not
  nanoseconds slow = std::chrono::minutes{1};         // a stage or a load that lasts longer is said; 0: never
  nanoseconds retry = std::chrono::seconds{1};        // of writing down a result that could not be
  nanoseconds look = std::chrono::seconds{2};         // between looks at the files of loaded keys
};

}  // namespace prover::daemon
