// What happens next: admission, keys, devices, ends. A state and its decisions, without threads, clocks or files; the
// service calls it under its lock, and does what it says.
//
//   add(job) ─ plan(now) ─ next_load / next_unload / next_preparation / next_proof / next_store ─ loaded / prepared /
//   proved / stored
//
// Every call says what time it is. After each call that changes something, plan() has the consequences. See
// docs/daemon-design.md.
#pragma once

#include <deque>
#include <list>
#include <set>
#include <span>
#include <variant>

#include "prover/daemon/device.hpp"
#include "prover/daemon/job_record.hpp"
#include "prover/daemon/limits.hpp"
#include "prover/daemon/rank.hpp"
#include "prover/daemon/sizes.hpp"
#include "prover/daemon/status.hpp"
#include "telltale/core/result.hpp"

namespace prover::daemon {

struct device_traits {
  std::string name;
  std::string description;
  unsigned lanes = 1;
};

class scheduler {
 public:
  // `l.memory` is set. What is set aside for requests and for the process is reserved at once.
  scheduler(limits l, std::vector<kind> kinds, std::vector<device_traits> devices, steady_time now);

  // ---- what comes in

  // Before jobs of the kind: what it takes.
  void estimated(std::size_t kind, const size_estimate& e) { sizes_.estimated(kinds_[kind].name, e); }
  bool knows_sizes(std::size_t kind) const { return sizes_.knows(kinds_[kind].name); }
  // The most that a payload of the kind may have for the job to fit at all; nothing where not even an empty one does.
  std::optional<std::size_t> largest_payload(std::size_t kind) const;
  // What one job of the kind takes beside its payload, its key being loaded; and what there is for jobs and keys.
  std::size_t needed(std::size_t kind) const;
  std::size_t usable() const noexcept { return ledger_.budget() - for_requests_.size() - for_process_.size(); }

  job_pointer add(journal_entry entry, std::size_t kind, steady_time accepted, steady_time now);
  // A job that can't run at all: it ends with that failure.
  void refuse(const job_pointer& j, failure why, steady_time now) { end(*j, outcome::failed, std::move(why), now); }
  bool cancel(job_record& j, steady_time now);                        // false: it had ended already
  telltale::result<bool> preload(std::size_t kind, steady_time now);  // true: is loaded already
  telltale::result<std::size_t> evict(std::size_t kind, steady_time now);
  // The file is not what was loaded; for people.
  void key_changed(std::size_t kind, const std::string& what);
  // Nothing more is begun; what runs stops at its next boundary. Jobs without a result stay in the journal.
  void give_up(steady_time now);

  // ---- what is to be done; nothing where there is nothing

  struct load_work {
    std::size_t kind, device, table_bytes;
  };
  struct unload_work {
    std::size_t kind, device;
    std::shared_ptr<const loaded_key> key;  // the last pointer, but for proofs that outlive their job
  };
  struct preparation {
    job_pointer job;
    std::size_t piece;
    bool first = false;  // nothing of the job was started before
  };
  struct proof_work {
    job_pointer job;
    std::size_t piece, device;
    std::shared_ptr<const loaded_key> key;
    std::optional<witness> values;  // the piece's only copy: goes back with a fault, and before proved() otherwise
  };
  std::optional<load_work> next_load(steady_time now);
  std::optional<unload_work> next_unload();
  // Of payloads in that form: inputs wait for a program that may take long, witnesses are only read.
  std::optional<preparation> next_preparation(payload_form form, steady_time now);
  std::optional<proof_work> next_proof(std::size_t device, steady_time now);
  std::optional<job_pointer> next_store(steady_time now);

  // ---- what came of it

  using load_outcome = std::variant<std::shared_ptr<const loaded_key>, failure>;
  void loaded(const load_work& w, load_outcome what, std::optional<std::size_t> peak, nanoseconds took,
              steady_time now);
  void unloaded(const unload_work& w, steady_time now);
  void prepared(const preparation& w, std::variant<witness, failure> what, std::span<const interval> parts,
                steady_time now);
  void proved(proof_work& w, device::proved what, std::optional<std::size_t> peak, std::span<const interval> parts,
              steady_time now);
  void stored(const job_pointer& j, bool well, steady_time now);

  // ---- decisions

  void plan(steady_time now);
  // For which roles there is something.
  struct pending {
    bool loads = false, unloads = false, preparations = false, proofs = false, results = false;
  };
  pending waiting_work(steady_time now) const;
  // Stages and loads that have lasted for limits::slow, each once. They may end yet; nobody is waiting in silence.
  struct slow_work {
    job_pointer job;    // none for a load
    const char* stage;  // a literal
    std::string key;    // of a load: "key sha17"
    nanoseconds lasts;
  };
  std::vector<slow_work> newly_slow(steady_time now);
  // When plan() has something to do though nothing happens.
  steady_time next_wake(steady_time now) const;

  // ---- looking

  job_pointer find(const job_id& id) const;
  std::size_t unfinished() const noexcept { return jobs_.size(); }  // those whose result isn't stored
  std::size_t active() const noexcept;                              // pieces that a thread works on
  std::size_t queued_jobs() const noexcept;
  std::size_t queued_bytes() const noexcept;
  std::size_t ahead_of(const job_record& j, steady_time now) const;
  nanoseconds expected_turn() const;  // until a place in the queue is free
  job_view view(const job_record& j, steady_time now) const;
  const std::list<job_pointer>& jobs() const noexcept { return jobs_; }
  void describe(status& s, steady_time now) const;  // keys, ledger, sizes, devices, jobs
  const ledger& memory() const noexcept { return ledger_; }
  const size_book& sizes() const noexcept { return sizes_; }
  const std::vector<kind>& kinds() const noexcept { return kinds_; }
  bool is_loaded(std::size_t kind) const;

 private:
  enum class key_state : std::uint8_t { cold, loading, loaded, unloading };
  struct key_entry {
    key_state at = key_state::cold;
    bool wanted = false;        // somebody asked for it to be loaded
    bool load_waits = false;    // no thread has taken the load yet
    bool unload_waits = false;  // nor the unloading
    std::size_t table_bytes = 0;
    std::shared_ptr<const loaded_key> key;
    ledger::reservation memory;
    std::size_t users = 0;
    steady_time last_use;
    steady_time loaded_at;
    steady_time loading_since;
    bool told_slow = false;
    nanoseconds last_load{0};
    std::uint64_t loads = 0;
    std::string problem;
  };
  struct device_entry {
    device_traits traits;
    std::vector<std::pair<job_id, std::size_t>> running;
    steady_time back;  // from its quarantine
    unsigned faults_in_a_row = 0;
    std::uint64_t faults = 0, proofs = 0;
    std::string last_fault;
    nanoseconds busy{0};  // of proofs that ended
    std::vector<steady_time> since;
    bool healthy(steady_time now) const noexcept { return now >= back; }
  };
  struct candidate {
    rank order;
    job_record* job;
    std::size_t piece;
  };
  // A job with pieces that are queued, beside what ranks it: a pass over a thousand of them touches nothing else.
  struct queued_job {
    std::uint64_t sequence;
    steady_time accepted;
    steady_time deadline;
    job_record* job;
    std::size_t kind;
    std::size_t pieces;  // queued
    std::size_t bytes;   // of their payloads
    daemon::priority priority;
    bool first;    // whether its first piece is among them
    bool blocked;  // one of them waits for more than its turn
  };
  struct begun_piece {
    job_record* job;
    std::size_t piece;
  };
  struct places {
    std::size_t all = 0;
    std::size_t taken = 0;
    std::int64_t highest = INT64_MIN;       // level of those that have one and are not proving yet
    std::vector<std::size_t> of_cold_kind;  // pieces whose key is on its way
    std::vector<std::size_t> generating;    // by kind, pieces whose witness a program makes
  };
  struct target {
    std::size_t device;
    std::size_t bytes;        // of its key, 0 where it is there or on its way
    std::size_t table_bytes;  // of that
    nanoseconds cost;
  };
  enum class admission : std::uint8_t { done, no_device, room_is_made, no_room, never };

  key_entry& at(std::size_t kind, std::size_t device) { return keys_[kind * devices_.size() + device]; }
  const key_entry& at(std::size_t kind, std::size_t device) const { return keys_[kind * devices_.size() + device]; }
  std::string owner_of(std::size_t kind, std::size_t device) const;

  rank rank_of(const job_record& j, std::size_t piece, steady_time now) const;
  std::vector<candidate> in_order(piece::state state, steady_time now) const;
  // f(job, piece, index) for every piece that was admitted and isn't done, by job. f moves none to another state.
  template <class F>
  void for_begun(F&& f) const {
    for (const auto& b : begun_) f(*b.job, b.job->pieces[b.piece], b.piece);
  }
  std::vector<queued_job>::iterator queued_from(std::uint64_t sequence);
  void enter_queue(job_record& j, std::size_t piece);
  void leave_queue(job_record& j, std::size_t piece);
  void enter_begun(job_record& j, std::size_t piece);
  void leave_begun(job_record& j, std::size_t piece);
  // Into another state, and into the lists of those that are in it.
  void move(job_record& j, piece& p, piece::state to);

  void end(job_record& j, outcome how, failure why, steady_time now);
  void fail(job_record& j, failure why, steady_time now);
  void make_result(job_record& j, steady_time now);
  void drop(job_record& j, piece& p, steady_time now);
  void back_to_queue(job_record& j, std::size_t piece, steady_time now);
  void end_wait(job_record& j, piece& p, steady_time now);
  void use_key(job_record& j, piece& p, std::size_t device);
  void leave_key(job_record& j, piece& p, steady_time now);
  void begin_ready_wait(job_record& j, piece& p, steady_time now);

  void end_by_time(steady_time now);
  void evict_by_age(steady_time now);
  void leave_faulty_devices(steady_time now);
  void warm_to_hot(steady_time now);
  void load_wanted(steady_time now);
  void admit(steady_time now);
  void give_reasons(steady_time now);
  places count_places(steady_time now) const;
  bool has_place(const places& u, std::size_t kind, std::int64_t level) const;
  // The first of the job's queued pieces, from that one on, for which there is a place.
  std::optional<candidate> with_place(const places& u, rank order, job_record& j, std::size_t from) const;
  admission try_to_admit(const candidate& c, steady_time now);
  std::vector<target> targets(std::size_t kind, steady_time now) const;
  nanoseconds load_on(std::size_t device) const;
  bool start_load(std::size_t kind, std::size_t device, std::size_t table_bytes, steady_time now);
  void start_unload(key_entry& e);
  bool make_room(std::size_t bytes, bool also_preloaded, steady_time now);
  std::string explain(const job_record& j, const piece& p, steady_time now) const;

  limits limits_;
  std::vector<kind> kinds_;
  std::vector<device_entry> devices_;
  steady_time start_;
  ledger ledger_;
  ledger::reservation for_requests_, for_process_;
  size_book sizes_;
  std::vector<key_entry> keys_;            // by kind, then device
  std::vector<nanoseconds> proof_time_;    // by kind, an average; 0: unknown
  std::vector<nanoseconds> loading_time_;  // by kind, the last; 0: unknown
  std::list<job_pointer> jobs_;            // in order of acceptance
  std::map<job_id, std::list<job_pointer>::iterator> by_id_;
  std::vector<queued_job> queue_;                            // by sequence
  std::vector<begun_piece> begun_;                           // by sequence, then piece
  std::set<std::pair<steady_time, job_record*>> deadlines_;  // of those whose end isn't decided
  std::deque<job_pointer> to_store_;
  std::uint64_t next_sequence_ = 0;
  bool given_up_ = false;
};

}  // namespace prover::daemon
