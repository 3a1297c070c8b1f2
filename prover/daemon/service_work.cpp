// What the service's threads do: load and unload keys, make witnesses, prove, write results down.
#include <telltale/core/telltale.hpp>

#include "prover/daemon/memory_budget.hpp"
#include "prover/daemon/service_inside.hpp"
#include "prover/heap.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;
using std::chrono::steady_clock;
using telltale::text;

namespace {

// Times the stages of a proof, and stops it where nobody wants it any more.
class stage_recorder final : public stage_listener {
 public:
  stage_recorder(job_record& j, current_stage& s, notices& n) : job_(j), stage_(s), notices_(n) {}

  bool begins(const char* stage) override {
    const auto now = steady_clock::now();
    close(now);
    if (job_.stop.stop_requested()) return false;
    current_ = stage;
    since_ = now;
    stage_.begins(stage, now);
    notices_.changed();
    return true;
  }
  void close(steady_time now) {
    if (current_ != nullptr) parts.push_back({current_, since_, now});
    current_ = nullptr;
    stage_.ends();
  }
  std::vector<interval> parts;

 private:
  job_record& job_;
  current_stage& stage_;
  notices& notices_;
  const char* current_ = nullptr;
  steady_time since_;
};

// Before memory is allocated that has been reserved.
void leave_room_for_reserved(std::size_t free) {
  if (kept_by_heap() > free) give_back_heap();
}

}  // namespace

void service::inside::load(const scheduler::load_work& w, lock_type& lock) {
  const kind& k = scheduler_.kinds()[w.kind];
  device& d = *devices_[w.device];
  bool alone = begin_action();
  const auto begun = actions_begun_;
  const bool measured = alone && d.in_process_memory() && scheduler_.sizes().wants_load(k.name);
  const std::size_t free = scheduler_.memory().free();
  lock.unlock();
  leave_room_for_reserved(free);
  const auto from = steady_clock::now();
  std::optional<std::size_t> peak;
  scheduler::load_outcome what = failure{failure_class::memory, "there was not enough memory for key \"" + k.key +
                                                                    "\". Raise the machine's, or lower the budget."};
  {
    TELLTALE_SCOPE_AS(span, "load_parameters", "kind"_a = text{k.name}, "device"_a = text{d.name()},
                      "tables"_a = w.table_bytes);
    files_.loading(w.kind);
    try {
      std::optional<peak_probe> probe;
      if (measured) probe.emplace();
      what = d.load(k, w.table_bytes);
      if (probe) peak = probe->growth();
    } catch (const std::bad_alloc&) {
    } catch (const std::exception& e) {
      what = failure{failure_class::key, "key \"" + k.key + "\" could not be loaded on " + d.name() + ": " + e.what()};
    }
    if (const auto* why = std::get_if<failure>(&what)) {
      span.fail("not_loaded");
      TELLTALE_ERROR("{problem}", "problem"_a = text{why->message});
    }
    metrics::loaded(k.name, d.name(), steady_clock::now() - from, what.index() == 0);
  }
  const auto now = steady_clock::now();
  lock.lock();
  --actions_running_;
  alone = alone && begun == actions_begun_;
  scheduler_.loaded(w, std::move(what), alone ? peak : std::nullopt, now - from, now);
}

void service::inside::unload(scheduler::unload_work w, lock_type& lock) {
  const kind& k = scheduler_.kinds()[w.kind];
  lock.unlock();
  {
    TELLTALE_SPAN("unload_parameters", "kind"_a = text{k.name}, "device"_a = text{devices_[w.device]->name()});
    w.key.reset();
    give_back_heap();  // who evicts it wants to see its memory free
  }
  TELLTALE_INFO("key {kind} is no longer resident", "kind"_a = text{k.name});
  lock.lock();
  scheduler_.unloaded(w, steady_clock::now());
}

std::variant<witness, failure> service::inside::make_witness(const scheduler::preparation& w,
                                                             std::vector<interval>& parts) {
  job_record& j = *w.job;
  const kind& k = scheduler_.kinds()[j.kind];
  if (w.first) {
    if (const auto noted = journal_.started(j.entry.id); !noted) {
      TELLTALE_WARN("{problem}", "problem"_a = text{noted.error().message});
    }
  }
  try {
    const auto from = steady_clock::now();
    j.pieces[w.piece].stage.begins("parse", from);
    payload p{j.entry.parts[w.piece].form, {}};
    {
      TELLTALE_SPAN_AS(span, info, "parse", "bytes"_a = j.entry.parts[w.piece].size, "piece"_a = w.piece);
      auto content = journal_.load_payload(j.entry.id, w.piece);
      if (!content) {
        span.fail("no_payload");
        return failure{failure_class::internal, content.error().message};
      }
      p.content = std::move(*content);
    }
    const auto then = steady_clock::now();
    parts.push_back({"parse", from, then});
    j.pieces[w.piece].stage.begins("witness", then);
    notices_.changed();
    TELLTALE_SPAN_AS(span, info, "witness", "piece"_a = w.piece);
    auto made = witnesses_.make(k, std::move(p), j.stop.get_token(), j.deadline);
    parts.push_back({"witness", then, steady_clock::now()});
    if (made.index() != 0) span.fail("no_witness");
    return made;
  } catch (const std::bad_alloc&) {
    return failure{failure_class::memory,
                   "there was not enough memory for the witness. Lower the budget, so that fewer jobs run at once."};
  } catch (const std::exception& e) {
    return failure{failure_class::internal, std::string("the witness could not be made: ") + e.what()};
  }
}

void service::inside::prepare(const scheduler::preparation& w, lock_type& lock) {
  (void)begin_action();
  const std::size_t free = scheduler_.memory().free();
  lock.unlock();
  leave_room_for_reserved(free);
  std::vector<interval> parts;
  auto what = [&] {
    const job_trace::inside here(w.job->trace);
    return make_witness(w, parts);
  }();
  w.job->pieces[w.piece].stage.ends();
  lock.lock();
  --actions_running_;
  scheduler_.prepared(w, std::move(what), parts, steady_clock::now());
}

void service::inside::prove(scheduler::proof_work w, lock_type& lock) {
  job_record& j = *w.job;
  const kind& k = scheduler_.kinds()[j.kind];
  device& d = *devices_[w.device];
  bool alone = begin_action();
  const auto begun = actions_begun_;
  const bool measured = alone && d.in_process_memory() && scheduler_.sizes().wants_proof(k.name);
  const std::size_t free = scheduler_.memory().free();
  lock.unlock();
  leave_room_for_reserved(free);
  std::optional<std::size_t> peak;
  stage_recorder recorder(j, j.pieces[w.piece].stage, notices_);
  device::proved what = device::fault{};
  {
    const job_trace::inside here(j.trace);
    TELLTALE_SPAN_AS(span, info, "prove", "device"_a = text{d.name()}, "piece"_a = w.piece);
    try {
      std::optional<peak_probe> probe;
      if (measured) probe.emplace();
      what = d.prove(k, *w.key, *w.values, recorder);
      if (probe) peak = probe->growth();
    } catch (const std::bad_alloc&) {
      what = failure{failure_class::memory,
                     "there was not enough memory for the proof. Lower the budget, so that fewer jobs run at once."};
    } catch (const std::exception& e) {
      what = device::fault{e.what()};
    }
    recorder.close(steady_clock::now());
    if (const auto* fault = std::get_if<device::fault>(&what)) {
      span.fail("device_fault");
      TELLTALE_ERROR("{device} failed: {problem}", "device"_a = text{d.name()}, "problem"_a = text{fault->message});
    } else if (what.index() != 0) {
      span.fail("no_proof");
    }
    // Wiped here, outside the lock; after a fault it is needed once more.
    if (!std::holds_alternative<device::fault>(what)) w.values.reset();
  }
  lock.lock();
  --actions_running_;
  alone = alone && begun == actions_begun_;
  scheduler_.proved(w, std::move(what), alone ? peak : std::nullopt, recorder.parts, steady_clock::now());
}

// The job's end: its line, its figures, its place in the journal, its waits.
void service::inside::store(const job_pointer& j, lock_type& lock) {
  const std::string& kind = scheduler_.kinds()[j->kind].name;
  const auto result = j->result;
  const bool again = j->store_failed;
  job_view last = scheduler_.view(*j, steady_clock::now());
  if (!again) {
    for (auto* counts : {&total_, &by_kind_[kind]}) {
      ++counts->ended[result->how];
      if (result->how == outcome::failed) ++counts->failed[result->why.what];
    }
  }
  lock.unlock();
  if (!again) {
    {
      const job_trace::inside here(j->trace);
      metrics::ended(kind, *result);
      if (result->how == outcome::failed) {
        TELLTALE_WARN("{outcome}: {problem}", "outcome"_a = result->how, "problem"_a = text{result->why.message},
                      "class"_a = result->why.what);
      } else {
        TELLTALE_INFO("{outcome} after {seconds} s", "outcome"_a = result->how,
                      "seconds"_a = static_cast<double>(result->times.total.count()) / 1e9);
      }
    }
    j->trace.end(result->how);
  }
  const auto stored = journal_.finish(j->entry.id, *result);
  if (!stored && !again) TELLTALE_ERROR("{problem}", "problem"_a = text{stored.error().message});
  last.state = job_state::finished;
  last.how = result->how;
  last.waits_for = wait_reason::none;
  last.explanation.clear();
  lock.lock();
  scheduler_.stored(j, static_cast<bool>(stored), steady_clock::now());
  // Also where it could not be written down: nobody is kept waiting for a disk.
  notices_.finished(last, result);
}

// A loaded key stays as it is; that its file is another one now is said once, and shown. When nothing is left to do,
// what the heap keeps goes back to the system.
void service::inside::look_at_files() {
  telltale::name_thread("prover.unload");
  lock_type lock(mutex_);
  std::uint64_t trimmed_after = 0;
  while (true) {
    if (auto w = scheduler_.next_unload()) {
      unload(std::move(*w), lock);
      settle();
      continue;
    }
    if (stopping_) return;
    if (to_unload_.wait_for(lock, limits_.look) == std::cv_status::no_timeout) continue;
    std::vector<std::size_t> loaded;
    for (std::size_t k = 0; k < scheduler_.kinds().size(); ++k) {
      if (scheduler_.is_loaded(k)) loaded.push_back(k);
    }
    const bool idle = scheduler_.unfinished() == 0 && actions_running_ == 0;
    const bool trim = idle && std::exchange(trimmed_after, actions_begun_) != actions_begun_;
    lock.unlock();
    if (trim) give_back_heap();
    const auto changed = files_.look(loaded);
    for (const auto& [k, what] : changed) TELLTALE_WARN("{problem}", "problem"_a = text{what});
    lock.lock();
    for (const auto& [k, what] : changed) scheduler_.key_changed(k, what);
  }
}

}  // namespace prover::daemon
