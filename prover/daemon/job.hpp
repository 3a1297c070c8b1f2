// What goes into the daemon and what comes out: kinds, requests, jobs, results. Plain values.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telltale/prover/key.hpp"

namespace prover::daemon {

using digest = std::array<std::byte, 32>;  // SHA-256
using std::chrono::nanoseconds;

// Deadlines and waits are measured with a clock that nobody can set; only what is shown to people, or outlives the
// process, has the wall clock's time.
using steady_time = std::chrono::steady_clock::time_point;
using wall_time = std::chrono::system_clock::time_point;

// How urgent a job is. A job that waits rises by one step per `limits::ageing`, beyond urgent too: nothing starves.
enum class priority : std::uint8_t { low, normal, high, urgent };
constexpr std::string_view telltale_name(priority p) noexcept {
  constexpr std::string_view names[] = {"low", "normal", "high", "urgent"};
  return names[static_cast<std::size_t>(p)];
}

// A registered circuit: data, nothing about it is compiled in. Names are unique.
struct kind {
  std::string name;
  std::string key;               // .zkey
  std::string verification_key;  // verification_key.json: proofs must be valid under it as well; empty: the key's own
  std::string circuit;           // .r1cs, to say which constraint a witness violates; empty: it isn't said
  std::string signal_names;      // .sym, for the same; may be empty
  daemon::priority default_priority = priority::normal;
  std::optional<nanoseconds> default_deadline;     // from acceptance to the end
  std::size_t max_payload = std::size_t{1} << 30;  // bytes of one payload
  std::size_t max_batch = 64;                      // payloads of one job
  std::size_t table_bytes = 0;                     // memory for tables of multiples: what makes the key hot
  std::size_t witness_source_memory = 0;           // what making a witness takes beside payload and witness
  key_checks checks = key_checks::full;
  bool preload = false;  // loaded at start, and kept unless somebody evicts it
};

// What a witness is made from.
enum class payload_form : std::uint8_t {
  wtns,    // the content of a .wtns file
  inputs,  // a circuit's inputs as JSON, for the kind's witness generator
};
struct payload {
  payload_form form = payload_form::wtns;
  std::vector<std::byte> content;
};

struct request {
  std::string kind;
  std::string idempotency_key;               // empty: none, every submission is a job of its own
  std::vector<payload> payloads;             // more than one: a batch, whose proofs come together
  std::optional<daemon::priority> priority;  // else the kind's
  std::optional<nanoseconds> deadline;       // from acceptance to the end; else the kind's
};

// 16 hexadecimal digits, unique over restarts.
struct job_id {
  std::string value;
  friend auto operator<=>(const job_id&, const job_id&) = default;
};

// ---- submit

struct accepted {
  job_id id;
  bool joined = false;    // the idempotency key was known, with the same payload: that job, finished or not
  std::size_t ahead = 0;  // jobs that will start before it, as things stand
};

enum class refusal_reason : std::uint8_t {
  bad_request,   // no payload, too many, an empty one
  unknown_kind,  // nobody registered it
  key,           // the kind's key can't be read
  too_large,     // can never fit: above the kind's limit, or above the memory budget
  queue_full,    // by count or by bytes; `retry_after` says when to come again
  key_conflict,  // the idempotency key was used for another request
  draining,      // the daemon is stopping
  journal,       // it could not be written down, so it was not accepted
};
constexpr std::string_view telltale_name(refusal_reason r) noexcept {
  constexpr std::string_view names[] = {"bad_request", "unknown_kind", "key",      "too_large",
                                        "queue_full",  "key_conflict", "draining", "journal"};
  return names[static_cast<std::size_t>(r)];
}
struct refusal {
  refusal_reason why = refusal_reason::bad_request;
  std::string message;  // what happened, and what to do
  std::optional<nanoseconds> retry_after;
};

// ---- results

// Every accepted job ends in exactly one of these.
enum class outcome : std::uint8_t { completed, failed, cancelled, expired };
constexpr std::string_view telltale_name(outcome o) noexcept {
  constexpr std::string_view names[] = {"completed", "failed", "cancelled", "expired"};
  return names[static_cast<std::size_t>(o)];
}

enum class failure_class : std::uint8_t {
  none,
  bad_input,    // the payload can't be read, or belongs to another circuit
  unsatisfied,  // the witness does not satisfy the circuit
  generator,    // the witness generator failed, hung, or broke its limits
  key,          // the kind's key or verification key can't be loaded or doesn't fit
  memory,       // there was not enough of it, in spite of the ledger
  device,       // every attempt ended with a device's fault
  internal,     // the daemon itself: a job that ended the process each time it ran, a payload that the journal lost
};
constexpr std::string_view telltale_name(failure_class c) noexcept {
  constexpr std::string_view names[] = {"none", "bad_input", "unsatisfied", "generator",
                                        "key",  "memory",    "device",      "internal"};
  return names[static_cast<std::size_t>(c)];
}

struct failure {
  failure_class what = failure_class::internal;
  std::string message;
};

// Where the time of a job went, from acceptance until its result was made. `wall` is the share of that time, phases
// that run at once dividing it; the walls of all phases sum to `total`, what none of them covers being the phase
// "other". `busy` is time that threads spent in it, 0 for waits. Phases come in the order in which they began: queue,
// parse, witness, wait_key, wait_device, evaluate_rows, intt_c …, msm_c, assemble, verify, other.
struct phase_time {
  std::string name;
  std::uint64_t count = 0;
  nanoseconds wall{0};
  nanoseconds busy{0};
};
struct timing {
  nanoseconds total{0};
  std::vector<phase_time> phases;
};

struct proof_text {
  std::string proof;    // proof.json
  std::string signals;  // public.json
};

struct job_result {
  outcome how = outcome::failed;
  failure why;                     // what == none unless it failed
  std::vector<proof_text> proofs;  // one per payload, in their order; empty unless completed
  timing times;                    // for failed, cancelled and expired jobs too
  std::string device;              // the last one it ran on; may be empty
  unsigned attempts = 0;           // how often a device began with it
  bool cold = false;               // it waited for its key to be loaded
};

// ---- looking at jobs

enum class job_state : std::uint8_t {
  queued,     // waits to be admitted
  preparing,  // its payloads are read, its witnesses made
  ready,      // waits for its key or a device
  proving,
  finishing,  // its result is written down
  finished,
};
constexpr std::string_view telltale_name(job_state s) noexcept {
  constexpr std::string_view names[] = {"queued", "preparing", "ready", "proving", "finishing", "finished"};
  return names[static_cast<std::size_t>(s)];
}

// Why a job stands where it stands. Every wait has one, and an end.
enum class wait_reason : std::uint8_t {
  none,     // it doesn't wait
  turn,     // others come first
  memory,   // others hold it: they end, or are evicted
  key,      // its key is being loaded
  device,   // all devices that could take it are busy
  faulty,   // all devices are quarantined; the first comes back at a known time
  journal,  // its result could not be written down yet; it is tried again
};
constexpr std::string_view telltale_name(wait_reason r) noexcept {
  constexpr std::string_view names[] = {"none", "turn", "memory", "key", "device", "faulty", "journal"};
  return names[static_cast<std::size_t>(r)];
}

struct job_view {
  job_id id;
  std::string kind;
  job_state state = job_state::queued;
  daemon::priority priority = priority::normal;
  wait_reason waits_for = wait_reason::none;
  std::string explanation;  // the wait in a sentence: who holds what; empty where it doesn't wait
  std::string phase;        // the stage that runs: "witness", "msm_h"; empty where none does
  nanoseconds phase_age{0};
  bool slow = false;  // that stage lasts longer than limits::slow
  std::string device;
  std::size_t payloads = 1;
  std::size_t done = 0;  // proofs made so far
  unsigned attempts = 0;
  bool cancelling = false;  // it ends at the next stage boundary
  wall_time accepted;
  nanoseconds age{0};
  std::optional<nanoseconds> left;  // until its deadline
  outcome how = outcome::failed;    // where it is finished
};

}  // namespace prover::daemon
