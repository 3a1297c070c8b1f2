// Who is admitted, which keys are loaded and which go. A piece is admitted with all the memory it will need, its key's
// included, or not at all: so nobody ever waits for memory while holding some.
#include <algorithm>
#include <tuple>
#include <utility>

#include "prover/daemon/scheduler.hpp"

namespace prover::daemon {

using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

// What is not known yet.
constexpr nanoseconds guessed_proof = seconds{1};
constexpr nanoseconds guessed_load = seconds{2};

bool is_generated(const job_record& j, std::size_t piece) {
  return j.entry.parts[piece].form == payload_form::inputs;
}

nanoseconds known_or(nanoseconds known, nanoseconds guess) {
  return known.count() != 0 ? known : guess;
}

}  // namespace

std::string scheduler::owner_of(std::size_t kind, std::size_t device) const {
  const std::string owner = "key " + kinds_[kind].name;
  return devices_.size() == 1 ? owner : owner + " on " + devices_[device].traits.name;
}

std::size_t scheduler::needed(std::size_t kind) const {
  return sizes_.to_load(kinds_[kind], 0) + sizes_.of_piece(kinds_[kind], 0);
}

std::optional<std::size_t> scheduler::largest_payload(std::size_t kind) const {
  if (needed(kind) > usable()) return std::nullopt;
  return std::min(usable() - needed(kind), for_requests_.size());
}

// ---- places

scheduler::places scheduler::count_places(steady_time now) const {
  places u;
  u.of_cold_kind.resize(kinds_.size());
  u.generating.resize(kinds_.size());
  for (const auto& d : devices_) u.all += d.healthy(now) ? d.traits.lanes + std::max(1U, limits_.prepared_ahead) : 0;
  for_begun([&](const job_record& j, const piece& p, std::size_t i) {
    if (!p.holds_key()) return;
    if (at(j.kind, p.device).at != key_state::loaded) {
      ++u.of_cold_kind[j.kind];
      return;
    }
    if (is_generated(j, i) && (p.at == piece::state::admitted || p.at == piece::state::preparing)) {
      ++u.generating[j.kind];
      return;
    }
    ++u.taken;
    if (p.at != piece::state::proving) u.highest = std::max(u.highest, rank_of(j, i, now).level);
  });
  return u;
}

// At most so many pieces are on their way at once: more would hold memory without being proved any sooner. Those whose
// key is still being loaded, or whose witness a program makes, are counted apart, per kind: so neither a cold kind nor
// one whose generator hangs stops the others. And whoever comes before all that wait needs no place.
bool scheduler::has_place(const places& u, std::size_t kind, std::int64_t level) const {
  if (!is_loaded(kind)) return u.of_cold_kind[kind] < std::max(1U, limits_.prepared_ahead);
  return u.taken < u.all || level > u.highest;
}

std::optional<scheduler::candidate> scheduler::with_place(const places& u, rank order, job_record& j,
                                                          std::size_t from) const {
  if (!has_place(u, j.kind, order.level)) return std::nullopt;
  const bool no_generated = is_loaded(j.kind) && u.generating[j.kind] >= std::max(1U, limits_.prepared_ahead);
  for (order.piece = from; order.piece < j.pieces.size(); ++order.piece) {
    if (j.pieces[order.piece].at != piece::state::queued || (no_generated && is_generated(j, order.piece))) continue;
    return candidate{order, &j, order.piece};
  }
  return std::nullopt;
}

// ---- where

// The time until a device has done what it has been given.
nanoseconds scheduler::load_on(std::size_t device) const {
  nanoseconds sum{0};
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    sum += static_cast<std::int64_t>(at(k, device).users) * known_or(proof_time_[k], guessed_proof);
  }
  return sum / devices_[device].traits.lanes;
}

// Healthy devices, the one that would be done first in front. A cold one costs a load, so work stays where its key is
// until the queue there is longer than a load.
std::vector<scheduler::target> scheduler::targets(std::size_t kind, steady_time now) const {
  std::vector<target> found;
  const nanoseconds load = known_or(loading_time_[kind], guessed_load);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (!devices_[d].healthy(now)) continue;
    const nanoseconds cost = load_on(d);
    switch (at(kind, d).at) {
      case key_state::loaded:
        found.push_back({d, 0, 0, cost});
        break;
      case key_state::loading:
        found.push_back({d, 0, 0, cost + load / 2});
        break;
      case key_state::cold: {
        const std::size_t tables = kinds_[kind].table_bytes;
        if (tables != 0) found.push_back({d, sizes_.to_load(kinds_[kind], tables), tables, cost + load});
        found.push_back({d, sizes_.to_load(kinds_[kind], 0), 0, cost + load});
        break;
      }
      case key_state::unloading:
        break;  // cold in a moment
    }
  }
  // With tables rather than without.
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::tuple(a.cost, a.device, b.bytes) < std::tuple(b.cost, b.device, a.bytes);
  });
  return found;
}

// ---- admission

void scheduler::admit(steady_time now) {
  places u = count_places(now);
  std::vector<candidate> candidates;  // of each job the first piece that hasn't been tried
  for (queued_job& q : queue_) {
    if (std::exchange(q.blocked, false)) {
      for (auto& p : q.job->pieces) {
        if (p.at == piece::state::queued) p.reason = wait_reason::turn;
      }
    }
    const rank order{level_of(q.priority, now - q.accepted, limits_.ageing), q.deadline, q.sequence, 0};
    if (!has_place(u, q.kind, order.level)) continue;
    if (const auto c = with_place(u, order, *q.job, 0)) candidates.push_back(*c);
  }
  // Mostly one or none is taken, so they are not sorted.
  while (!candidates.empty()) {
    const auto first = std::min_element(candidates.begin(), candidates.end(),
                                        [](const auto& a, const auto& b) { return a.order < b.order; });
    const auto c = with_place(u, first->order, *first->job, first->piece);
    if (!c || c->piece != first->piece) {  // a place was taken meanwhile
      if (c) {
        *first = *c;
      } else {
        *first = candidates.back();
        candidates.pop_back();
      }
      continue;
    }
    auto& p = c->job->pieces[c->piece];
    const auto waits_for = [&](wait_reason why) {
      p.reason = why;
      queued_from(c->order.sequence)->blocked = true;
    };
    switch (try_to_admit(*c, now)) {
      case admission::done:
        u = count_places(now);
        break;
      case admission::no_device:
        waits_for(wait_reason::faulty);
        break;
      case admission::room_is_made:
        // For this one: nobody else may take it.
        waits_for(wait_reason::memory);
        return;
      case admission::no_room:
        waits_for(wait_reason::memory);
        if (p.blocked_since == steady_time::max()) p.blocked_since = now;
        // Smaller ones pass it, but not for ever.
        if (now - p.blocked_since >= limits_.ageing) return;
        break;
      case admission::never:
        end(*c->job, outcome::failed,
            {failure_class::memory, "it needs more memory than the budget of " + std::to_string(ledger_.budget()) +
                                        " bytes has, as turned out when its key was loaded. Raise the budget."},
            now);
        break;
    }
    first->piece = c->piece + 1;
    first->order.piece = first->piece;
  }
}

scheduler::admission scheduler::try_to_admit(const candidate& c, steady_time now) {
  job_record& j = *c.job;
  auto& p = j.pieces[c.piece];
  const auto where = targets(j.kind, now);
  if (where.empty()) {
    const bool all_faulty =
        std::none_of(devices_.begin(), devices_.end(), [&](const auto& d) { return d.healthy(now); });
    return all_faulty ? admission::no_device : admission::no_room;
  }
  const std::size_t own = sizes_.of_piece(kinds_[j.kind], j.entry.parts[c.piece].size);
  const auto take = [&](const target& t) {
    if (t.bytes != 0 && !start_load(j.kind, t.device, t.table_bytes, now)) return;
    p.memory = std::move(*ledger_.reserve("job " + j.entry.id.value, own));
    p.blocked_since = steady_time::max();
    use_key(j, p, t.device);
    if (at(j.kind, t.device).at == key_state::loading) j.cold = true;
    move(j, p, piece::state::admitted);
  };
  for (const target& t : where) {
    if (own + t.bytes > ledger_.free()) continue;
    take(t);
    return admission::done;
  }
  // Room is made for what needs the least of it.
  const auto least =
      std::min_element(where.begin(), where.end(), [](const auto& a, const auto& b) { return a.bytes < b.bytes; });
  if (own + least->bytes > usable()) return admission::never;
  if (least->bytes == 0) ++at(j.kind, least->device).users;  // not that one
  const bool made = make_room(own + least->bytes, true, now);
  if (least->bytes == 0) --at(j.kind, least->device).users;
  return made ? admission::room_is_made : admission::no_room;
}

// ---- keys

bool scheduler::start_load(std::size_t kind, std::size_t device, std::size_t table_bytes, steady_time now) {
  key_entry& e = at(kind, device);
  auto room = ledger_.reserve(owner_of(kind, device), sizes_.to_load(kinds_[kind], table_bytes));
  if (!room) return false;
  e.memory = std::move(*room);
  e.at = key_state::loading;
  e.load_waits = true;
  e.loading_since = now;
  e.told_slow = false;
  e.wanted = false;
  e.table_bytes = table_bytes;
  e.problem.clear();
  return true;
}

void scheduler::start_unload(key_entry& e) {
  e.at = key_state::unloading;
  e.unload_waits = true;
}

// Lets keys go that nobody uses until `bytes` are or will be free. Does nothing, and says so, where that isn't enough:
// then only somebody's end helps. First goes what was idle for long, is large and is loaded fast.
bool scheduler::make_room(std::size_t bytes, bool also_preloaded, steady_time now) {
  std::size_t coming = ledger_.free();
  struct idle {
    key_entry* entry;
    bool preloaded;
    double score;
  };
  std::vector<idle> found;
  std::size_t all = 0;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      key_entry& e = at(k, d);
      if (e.at == key_state::unloading) coming += e.memory.size();
      if (e.at != key_state::loaded || e.users != 0 || (kinds_[k].preload && !also_preloaded)) continue;
      const auto load = std::max<nanoseconds>(e.last_load, milliseconds{1});
      const auto age = std::max<nanoseconds>(now - e.last_use, milliseconds{1});
      found.push_back({&e, kinds_[k].preload,
                       static_cast<double>(age.count()) * static_cast<double>(e.memory.size()) /
                           static_cast<double>(load.count())});
      all += e.memory.size();
    }
  }
  if (coming >= bytes) return true;
  if (coming + all < bytes) return false;
  std::sort(found.begin(), found.end(), [](const idle& a, const idle& b) {
    return std::tuple(a.preloaded, b.score, a.entry) < std::tuple(b.preloaded, a.score, b.entry);
  });
  for (const idle& i : found) {
    if (coming >= bytes) break;
    coming += i.entry->memory.size();
    start_unload(*i.entry);
  }
  return true;
}

void scheduler::evict_by_age(steady_time now) {
  if (limits_.evict_idle.count() <= 0) return;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      key_entry& e = at(k, d);
      if (e.at == key_state::loaded && e.users == 0 && !kinds_[k].preload && now - e.last_use >= limits_.evict_idle) {
        start_unload(e);
      }
    }
  }
}

// A key that was loaded without its tables, for want of room, is loaded anew with them when there is room and nobody
// needs it.
void scheduler::warm_to_hot(steady_time now) {
  if (!queue_.empty()) return;
  std::size_t free = ledger_.free();
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    const std::size_t tables = kinds_[k].table_bytes;
    for (std::size_t d = 0; d < devices_.size() && tables != 0; ++d) {
      key_entry& e = at(k, d);
      if (e.at != key_state::loaded || e.key->hot() || e.users != 0 || now - e.last_use < idle_before_hot) continue;
      const std::size_t needed = sizes_.to_load(kinds_[k], tables);
      if (needed > free + e.memory.size()) continue;
      free -= needed - std::min(needed, e.memory.size());
      e.wanted = true;
      start_unload(e);
    }
  }
}

// What somebody asked for, as far as there is room; jobs come first.
void scheduler::load_wanted(steady_time now) {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!sizes_.knows(kinds_[k].name)) continue;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const key_entry& e = at(k, d);
      if (!e.wanted || e.at != key_state::cold) continue;
      if (kinds_[k].table_bytes != 0 && start_load(k, d, kinds_[k].table_bytes, now)) continue;
      if (!start_load(k, d, 0, now)) make_room(sizes_.to_load(kinds_[k], 0), false, now);
    }
  }
}

telltale::result<bool> scheduler::preload(std::size_t kind, steady_time now) {
  if (!largest_payload(kind)) {
    return telltale::error{"cannot preload \"" + kinds_[kind].name +
                           "\": its key, and one job with it, need more than the memory budget of " +
                           std::to_string(ledger_.budget()) + " bytes has. Raise the budget."};
  }
  bool all = true;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    key_entry& e = at(kind, d);
    all = all && e.at == key_state::loaded;
    if (e.at == key_state::cold || e.at == key_state::unloading) e.wanted = true;
  }
  load_wanted(now);
  return all;
}

telltale::result<std::size_t> scheduler::evict(std::size_t kind, steady_time now) {
  const auto refuse = [&](const std::string& why) {
    return telltale::error{"cannot evict \"" + kinds_[kind].name + "\": " + why};
  };
  std::string users;
  for_begun([&](const job_record& j, const piece& p, std::size_t) {
    if (j.kind != kind || !p.holds_key() || users.size() > 200) return;
    if (users.find(j.entry.id.value) == std::string::npos) users += (users.empty() ? "" : ", ") + j.entry.id.value;
  });
  if (!users.empty()) return refuse("in use by " + users + ". Cancel them, or wait.");
  std::size_t bytes = 0;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    // A proof that outlives its job uses it too.
    if (at(kind, d).users != 0)
      return refuse("a proof that was given up still runs with it. Wait for its stage to end.");
    if (at(kind, d).at == key_state::loading) return refuse("it is being loaded. Wait until it is.");
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    key_entry& e = at(kind, d);
    e.wanted = false;
    e.last_use = now;
    if (e.at != key_state::loaded) continue;
    bytes += e.memory.size();
    start_unload(e);
  }
  return bytes;
}

void scheduler::key_changed(std::size_t kind, const std::string& what) {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (at(kind, d).at == key_state::loaded) at(kind, d).problem = what;
  }
}

bool scheduler::is_loaded(std::size_t kind) const {
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (at(kind, d).at == key_state::loaded) return true;
  }
  return false;
}

std::optional<scheduler::unload_work> scheduler::next_unload() {
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      key_entry& e = at(k, d);
      if (std::exchange(e.unload_waits, false)) return unload_work{k, d, std::move(e.key)};
    }
  }
  return std::nullopt;
}

// The key of who comes first; those that only somebody asked for, last.
std::optional<scheduler::load_work> scheduler::next_load(steady_time now) {
  std::optional<std::pair<rank, std::pair<std::size_t, std::size_t>>> best;
  const auto consider = [&](const rank& r, std::size_t k, std::size_t d) {
    if (at(k, d).load_waits && (!best || r < best->first)) best = {r, {k, d}};
  };
  for_begun([&](const job_record& j, const piece& p, std::size_t i) {
    if (p.holds_key()) consider(rank_of(j, i, now), j.kind, p.device);
  });
  for (std::size_t k = 0; k < kinds_.size() && !best; ++k) {
    for (std::size_t d = 0; d < devices_.size(); ++d) consider({}, k, d);
  }
  if (!best) return std::nullopt;
  const auto [k, d] = best->second;
  at(k, d).load_waits = false;
  at(k, d).loading_since = now;
  return load_work{k, d, at(k, d).table_bytes};
}

void scheduler::loaded(const load_work& w, load_outcome what, std::optional<std::size_t> peak, nanoseconds took,
                       steady_time now) {
  key_entry& e = at(w.kind, w.device);
  const auto users = [&, all = begun_](auto&& f) {
    for (const auto& [j, i] : all) {
      if (j->kind == w.kind && j->pieces[i].device == w.device) f(*j, i);
    }
  };
  if (auto* why = std::get_if<failure>(&what)) {
    e.at = key_state::cold;
    e.memory.release();
    e.problem = why->message;
    // Their next jobs try again: it may be there by then.
    std::vector<job_record*> ended;
    users([&](job_record& j, std::size_t) { ended.push_back(&j); });
    for (job_record* j : ended) end(*j, outcome::failed, *why, now);
    return;
  }
  e.key = std::move(std::get<0>(what));
  e.last_load = took;
  loading_time_[w.kind] = took;
  sizes_.measured_load(kinds_[w.kind].name, *e.key, peak);
  if (!e.memory.resize(e.key->size())) {
    // Larger than anybody thought. Now that it is known, whoever needs it can be admitted with enough room.
    users([&](job_record& j, std::size_t i) {
      if (!j.pieces[i].active()) back_to_queue(j, i, now);
    });
    start_unload(e);
    return;
  }
  e.at = key_state::loaded;
  e.loaded_at = e.last_use = now;
  ++e.loads;
  users([&](job_record& j, std::size_t i) {
    auto& p = j.pieces[i];
    if (p.at != piece::state::ready) return;
    end_wait(j, p, now);
    begin_ready_wait(j, p, now);
  });
}

void scheduler::unloaded(const unload_work& w, steady_time now) {
  key_entry& e = at(w.kind, w.device);
  e.at = key_state::cold;
  e.memory.release();
  e.last_use = now;
}

// ---- devices

// A piece whose device is quarantined, or whose key turned out too large, looks for another one: with the same key if
// it is loaded somewhere, from the start if not. With no healthy device at all it stays where it is.
void scheduler::leave_faulty_devices(steady_time now) {
  const auto healthy = [&](std::size_t d) { return devices_[d].healthy(now); };
  bool any = false;
  for (std::size_t d = 0; d < devices_.size(); ++d) any = any || healthy(d);
  if (!any) return;
  for (const auto& [j, i] : std::vector(begun_)) {
    auto& p = j->pieces[i];
    if (j->ends || !p.holds_key() || p.active()) continue;
    const key_state its = at(j->kind, p.device).at;
    const bool gone = its == key_state::unloading || its == key_state::cold;
    if (healthy(p.device) && !gone) continue;
    std::size_t other = nowhere;
    for (std::size_t d = 0; d < devices_.size() && other == nowhere; ++d) {
      if (healthy(d) && at(j->kind, d).at == key_state::loaded) other = d;
    }
    if (other == nowhere) {
      back_to_queue(*j, i, now);
    } else {
      leave_key(*j, p, now);
      use_key(*j, p, other);
    }
  }
}

void scheduler::give_reasons(steady_time now) {
  const bool any = std::any_of(devices_.begin(), devices_.end(), [&](const auto& d) { return d.healthy(now); });
  for_begun([&](const job_record& j, piece& p, std::size_t) {
    if (p.at == piece::state::admitted) p.reason = wait_reason::turn;
    if (p.at != piece::state::ready) return;
    const bool there = at(j.kind, p.device).at == key_state::loaded;
    p.reason = !there ? wait_reason::key : any ? wait_reason::device : wait_reason::faulty;
  });
}

}  // namespace prover::daemon
