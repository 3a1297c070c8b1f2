// A job inside the service, and its pieces: one per payload, each scheduled by itself.
#pragma once

#include <atomic>
#include <memory>
#include <stop_token>

#include "prover/daemon/job_trace.hpp"
#include "prover/daemon/journal.hpp"
#include "prover/daemon/ledger.hpp"
#include "prover/daemon/timeline.hpp"
#include "telltale/prover/witness.hpp"

namespace prover::daemon {

inline constexpr std::size_t nowhere = SIZE_MAX;
// How long nobody has used a key that was loaded without its tables before it is loaded again with them.
inline constexpr nanoseconds idle_before_hot = std::chrono::seconds{10};

// The stage that a thread works on: the thread sets it, others look at it.
class current_stage {
 public:
  void begins(const char* literal, steady_time now) noexcept {
    since_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    name_.store(literal, std::memory_order_release);
  }
  void ends() noexcept { name_.store(nullptr, std::memory_order_release); }
  // Nothing where none runs. Its begin is never older than the stage's, so no stage looks longer than it is.
  const char* name() const noexcept { return name_.load(std::memory_order_acquire); }
  steady_time since() const noexcept {
    return steady_time(steady_time::duration(since_.load(std::memory_order_relaxed)));
  }

 private:
  std::atomic<const char*> name_{nullptr};
  std::atomic<steady_time::rep> since_{0};
};

struct piece {
  enum class state : std::uint8_t {
    queued,     // has nothing
    admitted,   // has its memory, and a use of its key on `device`; waits for a preparing thread
    preparing,  // a thread reads its payload and makes its witness
    ready,      // has its witness; waits for its key or a device
    proving,
    done,
  };
  state at = state::queued;
  steady_time since;           // in this state
  ledger::reservation memory;  // payload, witness, working set
  std::optional<witness> values;
  std::size_t device = nowhere;  // whose key it uses
  unsigned attempts = 0;         // proofs begun
  current_stage stage;
  steady_time told_slow;  // the begin of the stage that was said to be slow
  wait_reason reason = wait_reason::turn;
  steady_time blocked_since = steady_time::max();  // for want of memory
  loose_span wait;

  bool active() const noexcept { return at == state::preparing || at == state::proving; }
  bool holds_key() const noexcept { return device != nowhere; }
};

struct job_record {
  job_record(journal_entry e, std::size_t kind_number, std::uint64_t number, steady_time when)
      : entry(std::move(e)),
        kind(kind_number),
        sequence(number),
        accepted(when),
        deadline(entry.deadline ? std::optional(when + *entry.deadline) : std::nullopt),
        trace(entry.id, entry.kind),
        times(when),
        pieces(entry.parts.size()),
        proofs(entry.parts.size()) {}

  // Fixed, or safe from any thread.
  const journal_entry entry;
  const std::size_t kind;
  const std::uint64_t sequence;
  const steady_time accepted;
  const std::optional<steady_time> deadline;
  std::stop_source stop;  // nobody wants it any more

  // The service's lock guards the rest.
  job_trace trace;
  timeline times;
  std::vector<piece> pieces;
  std::vector<proof_text> proofs;
  struct ending {
    outcome how;
    failure why;
    steady_time since;
  };
  std::optional<ending> ends;                // decided, once
  std::shared_ptr<const job_result> result;  // made, once
  bool cold = false;
  bool started = false;  // in the journal
  bool stored = false;
  std::string last_device;
  steady_time store_again;  // after the journal's error
  bool store_failed = false;
};

using job_pointer = std::shared_ptr<job_record>;

}  // namespace prover::daemon
