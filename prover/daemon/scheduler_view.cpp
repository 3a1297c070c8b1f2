// How things stand, for people: why a job waits, who holds what.
#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "prover/daemon/memory_budget.hpp"
#include "prover/daemon/scheduler.hpp"

namespace prover::daemon {
namespace {

std::string megabytes(std::size_t bytes) {
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return {text.data(), static_cast<std::size_t>(std::max(0, n))};
}

std::string in_seconds(nanoseconds d) {
  std::array<char, 32> text{};
  const int n = std::snprintf(text.data(), text.size(), "%.1f s", static_cast<double>(d.count()) / 1e9);
  return {text.data(), static_cast<std::size_t>(std::max(0, n))};
}

// Jobs that a status shows.
constexpr std::size_t most_jobs = 1000;

}  // namespace

std::string scheduler::explain(const job_record& j, const piece& p, steady_time now) const {
  switch (p.reason) {
    case wait_reason::none:
    case wait_reason::journal:
      return {};
    case wait_reason::turn:
      return "others come first";
    case wait_reason::key:
      return "key \"" + kinds_[j.kind].name + "\" is being loaded on " + devices_[p.device].traits.name;
    case wait_reason::device: {
      std::string text = "its devices are busy";
      for (std::size_t d = 0; d < devices_.size(); ++d) {
        if (at(j.kind, d).at != key_state::loaded) continue;
        for (const auto& [id, i] : devices_[d].running) text += "; " + devices_[d].traits.name + " proves " + id.value;
      }
      return text;
    }
    case wait_reason::faulty: {
      const auto first = std::min_element(devices_.begin(), devices_.end(),
                                          [](const auto& a, const auto& b) { return a.back < b.back; });
      return "all devices are quarantined; " + first->traits.name + " comes back in " +
             in_seconds(std::max(nanoseconds{0}, nanoseconds(first->back - now))) +
             ". Its last fault: " + first->last_fault;
    }
    case wait_reason::memory: {
      std::size_t key = SIZE_MAX;
      for (const target& t : targets(j.kind, now)) key = std::min(key, t.bytes);
      const std::size_t own =
          sizes_.of_piece(kinds_[j.kind], j.entry.parts[static_cast<std::size_t>(&p - j.pieces.data())].size);
      std::string text = "it needs " + megabytes(own + (key == SIZE_MAX ? 0 : key)) + ", and " +
                         megabytes(ledger_.free()) + " of " + megabytes(ledger_.budget()) + " are free; most have";
      std::vector<std::pair<std::size_t, std::string>> owners;
      for (const auto& [owner, bytes] : ledger_.by_owner()) owners.emplace_back(bytes, owner);
      std::sort(owners.rbegin(), owners.rend());
      for (std::size_t i = 0; i < std::min<std::size_t>(3, owners.size()); ++i)
        text += (i == 0 ? " " : ", ") + owners[i].second + " (" + megabytes(owners[i].first) + ")";
      return text;
    }
  }
  return {};
}

job_view scheduler::view(const job_record& j, steady_time now) const {
  job_view v;
  v.id = j.entry.id;
  v.kind = j.entry.kind;
  v.priority = j.entry.priority;
  v.payloads = j.pieces.size();
  v.accepted = j.entry.when;
  v.age = now - j.accepted;
  if (j.deadline) v.left = std::max(nanoseconds{0}, nanoseconds(*j.deadline - now));
  v.device = j.last_device;
  v.cancelling = j.ends && !j.result;
  const piece* furthest = &j.pieces.front();
  for (const auto& p : j.pieces) {
    v.attempts += p.attempts;
    if (p.at == piece::state::done) {
      ++v.done;
    } else if (furthest->at == piece::state::done || p.at > furthest->at) {
      furthest = &p;
    }
  }
  if (j.result) {
    v.state = j.stored ? job_state::finished : job_state::finishing;
    v.how = j.result->how;
    if (!j.stored && j.store_failed) {
      v.waits_for = wait_reason::journal;
      v.explanation = "its result could not be written down; it is tried again and again";
    }
    return v;
  }
  switch (furthest->at) {
    case piece::state::queued:
    case piece::state::admitted:
    case piece::state::done:
      v.state = job_state::queued;
      break;
    case piece::state::preparing:
      v.state = job_state::preparing;
      break;
    case piece::state::ready:
      v.state = job_state::ready;
      break;
    case piece::state::proving:
      v.state = job_state::proving;
      break;
  }
  if (furthest->active()) {
    if (const char* stage = furthest->stage.name()) {
      v.phase = stage;
      v.phase_age = std::max(nanoseconds{0}, nanoseconds(now - furthest->stage.since()));
      v.slow = limits_.slow.count() > 0 && v.phase_age >= limits_.slow;
    }
  } else if (!given_up_) {
    v.waits_for = furthest->reason;
    v.explanation = explain(j, *furthest, now);
  }
  return v;
}

std::size_t scheduler::queued_jobs() const noexcept {
  return static_cast<std::size_t>(std::count_if(queue_.begin(), queue_.end(), [](const auto& q) { return q.first; }));
}

std::size_t scheduler::queued_bytes() const noexcept {
  std::size_t sum = 0;
  for (const queued_job& q : queue_) sum += q.bytes;
  return sum;
}

std::size_t scheduler::ahead_of(const job_record& j, steady_time now) const {
  const rank own = rank_of(j, 0, now);
  std::size_t n = 0;
  for (const queued_job& q : queue_) {
    const rank order{level_of(q.priority, now - q.accepted, limits_.ageing), q.deadline, q.sequence, 0};
    if (q.first && q.job != &j && order < own) ++n;
  }
  return n;
}

nanoseconds scheduler::expected_turn() const {
  nanoseconds sum{0};
  std::size_t known = 0;
  for (const auto& t : proof_time_) {
    sum += t;
    known += t.count() != 0 ? 1U : 0U;
  }
  const auto one = known == 0 ? nanoseconds(std::chrono::seconds{1}) : sum / static_cast<std::int64_t>(known);
  // Until a tenth of the queue is gone: whoever comes again finds room.
  const auto turns = static_cast<std::int64_t>(limits_.queued_jobs / 10 + 1);
  std::size_t lanes = 0;
  for (const auto& d : devices_) lanes += d.traits.lanes;
  return std::clamp<nanoseconds>(one * turns / static_cast<std::int64_t>(std::max<std::size_t>(1, lanes)),
                                 std::chrono::milliseconds{100}, std::chrono::seconds{60});
}

void scheduler::describe(status& s, steady_time now) const {
  s.uptime = now - start_;
  for (const auto& j : jobs_) {
    const job_view v = view(*j, now);
    ++s.jobs_by_state[v.state];
    if (v.waits_for != wait_reason::none) ++s.waits[v.waits_for];
    if (v.slow) ++s.slow;
    if (v.state == job_state::queued) s.oldest_wait = std::max(s.oldest_wait, v.age);
    if (s.jobs.size() < most_jobs) s.jobs.push_back(v);
  }
  s.queued_jobs = queued_jobs();
  s.queued_bytes = queued_bytes();

  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    s.sizes_by_kind[kinds_[k].name] = sizes_.view(kinds_[k].name);
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const key_entry& e = at(k, d);
      status::resident_key r;
      r.kind = kinds_[k].name;
      r.device = devices_[d].traits.name;
      r.bytes = e.memory.size();
      r.loads = e.loads;
      r.last_load = e.last_load;
      r.problem = e.problem;
      switch (e.at) {
        case key_state::cold:
          r.tier = residency_tier::cold;
          break;
        case key_state::loading:
          r.tier = residency_tier::loading;
          r.loading = now - e.loading_since;
          if (limits_.slow.count() > 0 && r.loading >= limits_.slow) ++s.slow;
          break;
        case key_state::loaded:
          r.tier = e.key->hot() ? residency_tier::hot : residency_tier::warm;
          if (e.users == 0) r.idle = now - e.last_use;
          break;
        case key_state::unloading:
          r.tier = residency_tier::unloading;
          break;
      }
      for_begun([&](const job_record& j, const piece& p, std::size_t) {
        if (j.kind == k && p.device == d && (r.users.empty() || r.users.back() != j.entry.id))
          r.users.push_back(j.entry.id);
      });
      s.keys.push_back(std::move(r));
    }
  }

  s.ledger.budget = ledger_.budget();
  s.ledger.reserved = ledger_.reserved();
  s.ledger.high_water = ledger_.high_water();
  s.ledger.by_owner = ledger_.by_owner();
  s.ledger.measured = resident_memory();

  for (const auto& d : devices_) {
    status::device_state v;
    v.name = d.traits.name;
    v.description = d.traits.description;
    v.quarantined = !d.healthy(now);
    if (v.quarantined) v.back_in = d.back - now;
    v.busy = d.busy;
    for (const auto& since : d.since) v.busy += now - since;
    for (const auto& [id, i] : d.running) v.running.push_back(id);
    v.proofs = d.proofs;
    v.faults = d.faults;
    v.last_fault = d.last_fault;
    s.devices.push_back(std::move(v));
  }
}

}  // namespace prover::daemon
