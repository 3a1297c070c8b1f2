// A job's way: what comes in, what comes of it, and its one end.
#include "prover/daemon/scheduler.hpp"

#include <algorithm>
#include <utility>

namespace prover::daemon {

using std::chrono::seconds;

scheduler::scheduler(limits l, std::vector<kind> kinds, std::vector<device_traits> devices, steady_time now)
    : limits_(std::move(l)),
      kinds_(std::move(kinds)),
      start_(now),
      ledger_(limits_.memory),
      keys_(kinds_.size() * devices.size()),
      proof_time_(kinds_.size()),
      loading_time_(kinds_.size()) {
  for (auto& d : devices) {
    device_entry e;
    e.traits = std::move(d);
    e.back = now;
    devices_.push_back(std::move(e));
  }
  const auto set_aside = [&](const char* owner, std::size_t bytes) {
    return std::move(*ledger_.reserve(owner, std::min(bytes, ledger_.free())));
  };
  for_requests_ = set_aside("requests", limits_.request_memory);
  for_process_ = set_aside("process", limits_.process_memory.value_or(0));
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t d = 0; d < devices_.size(); ++d) at(k, d).wanted = kinds_[k].preload;
  }
}

rank scheduler::rank_of(const job_record& j, std::size_t piece, steady_time now) const {
  return {level_of(j.entry.priority, now - j.accepted, limits_.ageing), j.deadline.value_or(steady_time::max()),
          j.sequence, piece};
}

std::vector<scheduler::candidate> scheduler::in_order(piece::state state, steady_time now) const {
  std::vector<candidate> found;
  for_begun([&](job_record& j, const piece& p, std::size_t i) {
    if (p.at == state) found.push_back({rank_of(j, i, now), &j, i});
  });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.order < b.order; });
  return found;
}

// ---- who is where

std::vector<scheduler::queued_job>::iterator scheduler::queued_from(std::uint64_t sequence) {
  return std::lower_bound(queue_.begin(), queue_.end(), sequence,
                          [](const queued_job& q, std::uint64_t s) { return q.sequence < s; });
}

void scheduler::enter_queue(job_record& j, std::size_t piece) {
  auto q = queued_from(j.sequence);
  if (q == queue_.end() || q->job != &j) {
    q = queue_.insert(q, {j.sequence, j.accepted, j.deadline.value_or(steady_time::max()), &j, j.kind, 0, 0,
                          j.entry.priority, false, false});
  }
  ++q->pieces;
  q->bytes += j.entry.parts[piece].size;
  q->first = q->first || piece == 0;
}

void scheduler::leave_queue(job_record& j, std::size_t piece) {
  const auto q = queued_from(j.sequence);
  q->bytes -= j.entry.parts[piece].size;
  q->first = q->first && piece != 0;
  if (--q->pieces == 0) queue_.erase(q);
}

void scheduler::enter_begun(job_record& j, std::size_t piece) {
  const auto place = std::find_if(begun_.begin(), begun_.end(), [&](const begun_piece& b) {
    return std::pair(b.job->sequence, b.piece) > std::pair(j.sequence, piece);
  });
  begun_.insert(place, {&j, piece});
}

void scheduler::leave_begun(job_record& j, std::size_t piece) {
  std::erase_if(begun_, [&](const begun_piece& b) { return b.job == &j && b.piece == piece; });
}

void scheduler::move(job_record& j, piece& p, piece::state to) {
  using enum piece::state;
  const auto begun = [](piece::state s) { return s != queued && s != done; };
  const auto number = static_cast<std::size_t>(&p - j.pieces.data());
  if (p.at == queued && to != queued) leave_queue(j, number);
  if (begun(p.at) && !begun(to)) leave_begun(j, number);
  if (p.at != queued && to == queued) enter_queue(j, number);
  if (!begun(p.at) && begun(to)) enter_begun(j, number);
  p.at = to;
}

// ---- in

job_pointer scheduler::add(journal_entry entry, std::size_t kind, steady_time accepted, steady_time now) {
  auto j = std::make_shared<job_record>(std::move(entry), kind, next_sequence_++, accepted);
  for (auto& p : j->pieces) p.since = accepted;
  // A batch shows the wait of its first piece: a thousand jobs may wait, each of many.
  j->pieces.front().wait = j->trace.begin_wait(job_trace::wait::queue);
  by_id_.emplace(j->entry.id, jobs_.insert(jobs_.end(), j));
  for (std::size_t i = 0; i < j->pieces.size(); ++i) enter_queue(*j, i);
  if (j->deadline) deadlines_.emplace(*j->deadline, j.get());
  if (given_up_) {
    for (auto& p : j->pieces) drop(*j, p, now);
  }
  return j;
}

bool scheduler::cancel(job_record& j, steady_time now) {
  if (j.ends || j.stored) return false;
  end(j, outcome::cancelled, {failure_class::none, {}}, now);
  return true;
}

void scheduler::give_up(steady_time now) {
  given_up_ = true;
  for (const auto& j : jobs_) {
    if (j->ends) continue;
    j->stop.request_stop();
    for (auto& p : j->pieces) {
      if (!p.active()) drop(*j, p, now);
    }
  }
  for (auto& e : keys_) {
    e.wanted = false;
    if (e.at == key_state::loading && e.load_waits) {
      e.at = key_state::cold;
      e.load_waits = false;
      e.memory.release();
    }
  }
}

// ---- ends

void scheduler::end(job_record& j, outcome how, failure why, steady_time now) {
  if (j.ends) return;
  j.ends = job_record::ending{how, std::move(why), now};
  if (j.deadline) deadlines_.erase({*j.deadline, &j});
  j.stop.request_stop();
  bool active = false;
  for (auto& p : j.pieces) {
    if (p.active()) {
      active = true;
    } else {
      drop(j, p, now);
    }
  }
  if (!active) make_result(j, now);
}

// What fails because its time is over has expired.
void scheduler::fail(job_record& j, failure why, steady_time now) {
  if (j.deadline && now >= *j.deadline) {
    end(j, outcome::expired, {failure_class::none, {}}, now);
  } else {
    end(j, outcome::failed, std::move(why), now);
  }
}

void scheduler::make_result(job_record& j, steady_time now) {
  if (j.result) return;
  job_result r;
  r.how = j.ends->how;
  r.why = j.ends->why;
  if (r.how == outcome::completed) r.proofs = std::move(j.proofs);
  r.times = j.times.up_to(now);
  r.device = j.last_device;
  for (const auto& p : j.pieces) r.attempts += p.attempts;
  r.cold = j.cold;
  j.proofs.clear();
  j.result = std::make_shared<const job_result>(std::move(r));
  to_store_.push_back(*by_id_.at(j.entry.id));
}

// Whatever the piece has goes back.
void scheduler::drop(job_record& j, piece& p, steady_time now) {
  end_wait(j, p, now);
  p.values.reset();
  p.memory.release();
  leave_key(j, p, now);
  move(j, p, piece::state::done);
  p.since = now;
}

// To be admitted anew, with a key that is elsewhere.
void scheduler::back_to_queue(job_record& j, std::size_t piece, steady_time now) {
  auto& p = j.pieces[piece];
  drop(j, p, now);
  move(j, p, piece::state::queued);
  p.reason = wait_reason::turn;
  if (piece == 0) p.wait = j.trace.begin_wait(job_trace::wait::queue);
}

void scheduler::end_wait(job_record& j, piece& p, steady_time now) {
  p.wait = {};
  switch (p.at) {
    case piece::state::queued:
    case piece::state::admitted:
      // The first piece's wait is the job's; the others' are somebody's work, or the same wait.
      if (&p == &j.pieces.front() && p.since < now) {
        j.times.waited({name_of(job_trace::wait::queue), p.since, now});
      }
      break;
    case piece::state::ready: {
      const steady_time there = p.holds_key() ? at(j.kind, p.device).loaded_at : now;
      const bool loading = p.holds_key() && at(j.kind, p.device).at == key_state::loading;
      const steady_time key_until = std::clamp(loading ? now : there, p.since, now);
      if (p.since < key_until) j.times.waited({name_of(job_trace::wait::key), p.since, key_until});
      if (key_until < now) j.times.waited({name_of(job_trace::wait::device), key_until, now});
      break;
    }
    case piece::state::preparing:
    case piece::state::proving:
    case piece::state::done:
      break;
  }
}

void scheduler::use_key(job_record& j, piece& p, std::size_t device) {
  p.device = device;
  ++at(j.kind, device).users;
}

void scheduler::leave_key(job_record& j, piece& p, steady_time now) {
  if (!p.holds_key()) return;
  auto& e = at(j.kind, p.device);
  --e.users;
  e.last_use = now;
  p.device = nowhere;
}

void scheduler::begin_ready_wait(job_record& j, piece& p, steady_time now) {
  move(j, p, piece::state::ready);
  p.since = now;
  const bool there = at(j.kind, p.device).at == key_state::loaded;
  if (!there) j.cold = true;
  p.reason = there ? wait_reason::device : wait_reason::key;
  p.wait = j.trace.begin_wait(there ? job_trace::wait::device : job_trace::wait::key);
}

// ---- what is to be done

std::optional<scheduler::preparation> scheduler::next_preparation(payload_form form, steady_time now) {
  const auto waiting = in_order(piece::state::admitted, now);
  const auto first = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const auto& c) { return c.job->entry.parts[c.piece].form == form; });
  if (first == waiting.end()) return std::nullopt;
  job_record& j = *first->job;
  auto& p = j.pieces[first->piece];
  end_wait(j, p, now);
  move(j, p, piece::state::preparing);
  p.since = now;
  p.reason = wait_reason::none;
  return preparation{*by_id_.at(j.entry.id), first->piece, !std::exchange(j.started, true)};
}

std::optional<scheduler::proof_work> scheduler::next_proof(std::size_t device, steady_time now) {
  device_entry& d = devices_[device];
  if (!d.healthy(now) || d.running.size() >= d.traits.lanes) return std::nullopt;
  // A piece stays with the device that it was admitted for, unless that one is busy or faulty.
  const auto may_take = [&](const candidate& c) {
    if (at(c.job->kind, device).at != key_state::loaded) return false;
    const std::size_t its = c.job->pieces[c.piece].device;
    if (its == device) return true;
    const device_entry& other = devices_[its];
    return !other.healthy(now) || other.running.size() >= other.traits.lanes;
  };
  const auto ready = in_order(piece::state::ready, now);
  const auto found = std::find_if(ready.begin(), ready.end(), may_take);
  if (found == ready.end()) return std::nullopt;
  job_record& j = *found->job;
  auto& p = j.pieces[found->piece];
  end_wait(j, p, now);
  if (p.device != device) {
    leave_key(j, p, now);
    use_key(j, p, device);
  }
  move(j, p, piece::state::proving);
  p.since = now;
  p.reason = wait_reason::none;
  ++p.attempts;
  j.last_device = d.traits.name;
  d.running.emplace_back(j.entry.id, found->piece);
  d.since.push_back(now);
  return proof_work{*by_id_.at(j.entry.id), found->piece, device, at(j.kind, device).key,
                    std::exchange(p.values, std::nullopt)};
}

std::optional<job_pointer> scheduler::next_store(steady_time now) {
  const auto due =
      std::find_if(to_store_.begin(), to_store_.end(), [&](const auto& j) { return now >= j->store_again; });
  if (due == to_store_.end()) return std::nullopt;
  job_pointer j = *due;
  to_store_.erase(due);
  return j;
}

// ---- what came of it

void scheduler::prepared(const preparation& w, std::variant<witness, failure> what, std::span<const interval> parts,
                         steady_time now) {
  job_record& j = *w.job;
  auto& p = j.pieces[w.piece];
  if (!j.result) {
    for (const interval& i : parts) j.times.worked(i);
  }
  if (j.ends || given_up_) {
    drop(j, p, now);
    if (j.ends && std::none_of(j.pieces.begin(), j.pieces.end(), [](const piece& x) { return x.active(); }))
      make_result(j, now);
    return;
  }
  if (auto* why = std::get_if<failure>(&what)) {
    drop(j, p, now);
    fail(j, std::move(*why), now);
    return;
  }
  p.values = std::move(std::get<witness>(what));
  // The payload is gone.
  const auto held = p.memory.size();
  const auto without = sizes_.of_piece(kinds_[j.kind], 0) - kinds_[j.kind].witness_source_memory;
  p.memory.resize(std::min(held, without));
  begin_ready_wait(j, p, now);
}

void scheduler::proved(proof_work& w, device::proved what, std::optional<std::size_t> peak,
                       std::span<const interval> parts, steady_time now) {
  device_entry& d = devices_[w.device];
  job_record& j = *w.job;
  auto& p = j.pieces[w.piece];
  const auto running = std::find(d.running.begin(), d.running.end(), std::pair(j.entry.id, w.piece));
  const auto place = running - d.running.begin();
  const nanoseconds took = now - d.since[static_cast<std::size_t>(place)];
  d.busy += took;
  d.running.erase(running);
  d.since.erase(d.since.begin() + place);
  if (!j.result) {
    for (const interval& i : parts) j.times.worked(i);
  }
  const auto idle = [&] {
    return std::none_of(j.pieces.begin(), j.pieces.end(), [](const piece& x) { return x.active(); });
  };

  if (auto* fault = std::get_if<device::fault>(&what)) {
    ++d.faults;
    d.last_fault = fault->message;
    d.back = now + limits_.quarantine * (1 << std::min(d.faults_in_a_row++, 5U));
    if (j.ends || given_up_) {
      drop(j, p, now);
    } else if (p.attempts >= limits_.attempts) {
      drop(j, p, now);
      end(j, outcome::failed,
          {failure_class::device, "it was tried " + std::to_string(p.attempts) +
                                      " times, and a device failed each time; the last was " + d.traits.name + ": " +
                                      fault->message + ". Look at the device, and submit it again."},
          now);
    } else {
      p.values = std::move(w.values);
      begin_ready_wait(j, p, now);  // plan() finds it a healthy device
    }
    if (j.ends && idle()) make_result(j, now);
    return;
  }
  d.faults_in_a_row = 0;
  if (auto* text = std::get_if<proof_text>(&what)) {
    ++d.proofs;
    auto& average = proof_time_[j.kind];
    average = average.count() == 0 ? took : (3 * average + took) / 4;
    if (peak) sizes_.measured_proof(kinds_[j.kind].name, *peak);
    drop(j, p, now);
    if (!j.ends && !given_up_) {
      j.proofs[w.piece] = std::move(*text);
      const auto is_done = [](const piece& x) { return x.at == piece::state::done; };
      if (std::all_of(j.pieces.begin(), j.pieces.end(), is_done)) {
        end(j, outcome::completed, {failure_class::none, {}}, now);
        return;
      }
    }
  } else {
    drop(j, p, now);
    // One that stopped though nobody told it to has no proof either.
    if (!j.ends && !given_up_) {
      auto* why = std::get_if<failure>(&what);
      fail(j,
           why != nullptr ? std::move(*why)
                          : failure{failure_class::internal, "the device stopped without a reason. Submit it again."},
           now);
    }
  }
  if (j.ends && idle()) make_result(j, now);
}

void scheduler::stored(const job_pointer& j, bool well, steady_time now) {
  if (!well) {
    j->store_failed = true;
    j->store_again = now + limits_.retry;
    to_store_.push_back(j);
    return;
  }
  j->stored = true;
  // A stage of it that doesn't end is nobody's concern any more.
  std::erase_if(begun_, [&](const begun_piece& b) { return b.job == j.get(); });
  const auto place = by_id_.find(j->entry.id);
  jobs_.erase(place->second);
  by_id_.erase(place);
}

// ---- by time

void scheduler::end_by_time(steady_time now) {
  while (!given_up_ && !deadlines_.empty() && deadlines_.begin()->first <= now) {
    end(*deadlines_.begin()->second, outcome::expired, {failure_class::none, {}}, now);
  }
  // A stage that does not end keeps its memory, not the answer.
  for_begun([&](job_record& j, const piece&, std::size_t) {
    if (j.ends && !j.result && now - j.ends->since >= limits_.boundary) make_result(j, now);
  });
}

void scheduler::plan(steady_time now) {
  end_by_time(now);
  if (given_up_) return;
  leave_faulty_devices(now);
  evict_by_age(now);
  admit(now);
  warm_to_hot(now);
  load_wanted(now);
  give_reasons(now);
}

scheduler::pending scheduler::waiting_work(steady_time now) const {
  pending p;
  for_begun([&](const job_record&, const piece& x, std::size_t) {
    p.preparations = p.preparations || x.at == piece::state::admitted;
    p.proofs = p.proofs || x.at == piece::state::ready;
  });
  for (const auto& e : keys_) {
    p.loads = p.loads || e.load_waits;
    p.unloads = p.unloads || e.unload_waits;
  }
  for (const auto& j : to_store_) p.results = p.results || now >= j->store_again;
  return p;
}

steady_time scheduler::next_wake(steady_time now) const {
  steady_time wake = steady_time::max();
  const auto at_least = [&](steady_time t) {
    if (t > now) wake = std::min(wake, t);
  };
  for_begun([&](const job_record& j, const piece&, std::size_t) {
    if (j.ends && !j.result) at_least(j.ends->since + limits_.boundary);
  });
  for (const auto& j : to_store_) at_least(j->store_again);
  if (given_up_) return wake;
  // One that has passed since plan() was called counts too.
  if (!deadlines_.empty()) wake = std::min(wake, deadlines_.begin()->first);
  bool waits = std::any_of(queue_.begin(), queue_.end(), [](const queued_job& q) { return q.blocked; });
  for_begun([&](const job_record&, const piece& p, std::size_t) { waits = waits || p.reason == wait_reason::faulty; });
  for (const auto& d : devices_) at_least(d.back);
  if (limits_.slow.count() > 0) {
    for_begun([&](const job_record&, const piece& p, std::size_t) {
      if (p.active()) at_least(std::max(p.since, p.stage.since()) + limits_.slow);
    });
  }
  for (const auto& e : keys_) {
    if (e.at == key_state::loading && limits_.slow.count() > 0) at_least(e.loading_since + limits_.slow);
    waits = waits || (e.wanted && e.at == key_state::cold);
    if (e.at != key_state::loaded || e.users != 0) continue;
    if (limits_.evict_idle.count() > 0) at_least(e.last_use + limits_.evict_idle);
    const auto number = static_cast<std::size_t>(&e - keys_.data()) / devices_.size();
    if (kinds_[number].table_bytes != 0 && !e.key->hot()) at_least(e.last_use + idle_before_hot);
  }
  // Never only by others' ends: what waits is looked at again, whether something happened or not.
  if (waits) at_least(now + seconds{1});
  return wake;
}

std::vector<scheduler::slow_work> scheduler::newly_slow(steady_time now) {
  std::vector<slow_work> found;
  if (limits_.slow.count() <= 0) return found;
  for_begun([&](job_record& j, piece& p, std::size_t) {
    const char* stage = p.active() ? p.stage.name() : nullptr;
    const steady_time since = p.stage.since();
    if (stage == nullptr || now - since < limits_.slow || p.told_slow == since) return;
    p.told_slow = since;
    found.push_back({*by_id_.at(j.entry.id), stage, {}, now - since});
  });
  for (auto& e : keys_) {
    if (e.at != key_state::loading || e.told_slow || now - e.loading_since < limits_.slow) continue;
    e.told_slow = true;
    const auto number = static_cast<std::size_t>(&e - keys_.data());
    found.push_back({nullptr, "load_parameters", owner_of(number / devices_.size(), number % devices_.size()),
                     now - e.loading_since});
  }
  return found;
}

// ---- looking

job_pointer scheduler::find(const job_id& id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : *found->second;
}

std::size_t scheduler::active() const noexcept {
  std::size_t n = 0;
  for_begun([&](const job_record&, const piece& p, std::size_t) { n += p.active() ? 1U : 0U; });
  return n;
}

}  // namespace prover::daemon
