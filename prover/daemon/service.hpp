// The proving daemon inside one process: what a server's handlers call.
//
//   service s(limits, kinds, std::move(devices), journal, witnesses);
//   if (auto ok = s.start(); !ok) …                      // takes up what a former run left
//   const auto answer = s.submit(std::move(request));    // durable once it is `accepted`
//   s.await(id, 30s, [](const awaited& a) { … });        // any number, late ones too; costs no thread
//   s.drain(20s);                                        // no new jobs, running ones end
//
// All functions may be called from any thread. None waits for a proof, a key or a witness, but drain() and stop();
// submit() waits for the journal. Callbacks come from one thread of the service, one at a time and under no lock: they
// may call the service, must not block and must not throw. After stop() await() calls back at once, on the caller's
// thread.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "prover/daemon/device.hpp"
#include "prover/daemon/job.hpp"
#include "prover/daemon/journal.hpp"
#include "prover/daemon/limits.hpp"
#include "prover/daemon/status.hpp"
#include "prover/daemon/witness_source.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

// The terminal answer, or why there is none.
struct awaited {
  enum class answer : std::uint8_t {
    finished,
    timed_out,  // the wait's own time ran out; the job goes on
    stopping,   // the daemon stops; the job is kept, and runs when the daemon is back
    unknown,    // no such job, or no longer kept
  };
  answer what = answer::unknown;
  job_id id;
  std::shared_ptr<const job_result> result;  // where finished
};

// A step of a job: its state, stage or device changed.
struct progress {
  job_view job;
  bool last = false;  // it has ended; no more will come
};

enum class cancel_answer : std::uint8_t {
  cancelled,         // it ended now
  at_next_boundary,  // it runs, and ends soon
  already_finished,
  unknown,
};

enum class preload_answer : std::uint8_t { already_loaded, loading };

struct job_filter {
  std::string kind;       // empty: all
  bool finished = false;  // those that ended as well, latest first
  std::size_t at_most = 1000;
};

class service {
 public:
  // The journal and the witness source must outlive it. Kinds have unique names, devices too.
  service(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
          witness_source& witnesses);
  ~service();  // stop()
  service(const service&) = delete;
  service& operator=(const service&) = delete;

  // Takes up unfinished jobs and begins. Fails where the journal can't be read.
  telltale::result<void> start();

  std::variant<accepted, refusal> submit(request r);

  // A place in line, for unsubscribe(); 0 where there is none.
  using subscription = std::uint64_t;

  // Calls `f` exactly once, or never after unsubscribe(). No time-out: as long as it takes.
  subscription await(const job_id& id, std::optional<nanoseconds> timeout, std::function<void(const awaited&)> f);
  // Calls `f` with how things stand, with each change, and last with `last`; a slow reader misses steps in between,
  // never the last one. 0 and no call where there is no such unfinished job.
  subscription watch(const job_id& id, std::function<void(const progress&)> f);
  // After it returns the callback neither runs nor will (from inside the callback: won't again).
  void unsubscribe(subscription s);

  cancel_answer cancel(const job_id& id);
  std::vector<job_view> list(const job_filter& filter) const;
  std::optional<job_view> find(const job_id& id) const;
  status get_status() const;
  const std::vector<kind>& kinds() const noexcept;

  // Loads it in the background, on every device that can hold it; get_status() says when it is there. Errors: no such
  // kind; it can never fit.
  telltale::result<preload_answer> preload(const std::string& kind);
  // Bytes that were freed. Refused while it is in use, with the jobs that use it.
  telltale::result<std::size_t> evict(const std::string& kind);

  // Refuses new jobs; runs the accepted ones until all have ended or the time is over. What is left is kept in the
  // journal; its waits are answered with `stopping`. Returns how many jobs that is.
  std::size_t drain(nanoseconds at_most);
  // drain() with no time: jobs that run are given up at their next stage boundary, and stay in the journal.
  void stop();

 private:
  class inside;
  std::unique_ptr<inside> inside_;
};

}  // namespace prover::daemon
