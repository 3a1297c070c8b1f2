// The service's beginning and end, and its threads: each takes what the scheduler has for its role, until there is an
// end of it.
#include <algorithm>
#include <telltale/core/telltale.hpp>

#include "prover/daemon/memory_budget.hpp"
#include "prover/daemon/service_inside.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;
using std::chrono::steady_clock;
using telltale::text;

namespace {

// What the process has at start, and what grows beside the ledger: stacks, rings of the telemetry, connections.
constexpr std::size_t process_growth = std::size_t{64} << 20;

limits completed(limits l) {
  if (l.memory == 0) l.memory = detect_memory();
  if (l.request_memory == 0) l.request_memory = std::min(l.memory / 8, std::size_t{1} << 30);
  if (!l.process_memory) l.process_memory = resident_memory() + process_growth;
  return l;
}

}  // namespace

service::inside::inside(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
                        witness_source& witnesses)
    : limits_(completed(std::move(l))),
      devices_(std::move(devices)),
      journal_(j),
      witnesses_(witnesses),
      scheduler_(limits_, std::move(kinds), traits(), steady_clock::now()),
      files_(scheduler_.kinds()),
      notices_([this](const job_id& id) { return find_unfinished(id); }) {}

std::vector<device_traits> service::inside::traits() const {
  std::vector<device_traits> all;
  for (const auto& d : devices_) all.push_back({d->name(), d->description(), std::max(1U, d->lanes())});
  return all;
}

std::optional<std::size_t> service::inside::number_of(const std::string& kind) const {
  const auto& all = scheduler_.kinds();
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& k) { return k.name == kind; });
  if (found == all.end()) return std::nullopt;
  return static_cast<std::size_t>(found - all.begin());
}

void service::inside::settle() {
  const auto now = steady_clock::now();
  scheduler_.plan(now);
  const scheduler::pending p = scheduler_.waiting_work(now);
  if (p.loads) to_load_.notify_all();
  if (p.unloads) to_unload_.notify_all();
  if (p.preparations) to_prepare_.notify_all();
  if (p.proofs) to_prove_.notify_all();
  if (p.results) to_store_.notify_all();
  if (scheduler_.next_wake(now) < timer_target_) timer_.notify_all();
  if (draining_) ended_.notify_all();
  notices_.changed();
}

// One thread of a role: takes what is next, does it, `until` that is so and nothing is left for it.
template <class Next, class Do>
void service::inside::work(const char* name, std::condition_variable& wake, const bool& until, Next next, Do act) {
  telltale::name_thread(name);
  lock_type lock(mutex_);
  for (;;) {
    if (auto w = next(steady_clock::now())) {
      act(std::move(*w), lock);
      settle();
    } else if (until) {
      return;
    } else {
      wake.wait(lock);
    }
  }
}

// A stage that hangs is seen long before anybody asks.
void service::inside::say_what_is_slow() {
  for (const auto& w : scheduler_.newly_slow(steady_clock::now())) {
    const double seconds = std::chrono::duration<double>(w.lasts).count();
    if (w.job) {
      const job_trace::inside here(w.job->trace);
      TELLTALE_WARN("{stage} has lasted {seconds} s and goes on; prover cancel ends the job's wait for it",
                    "stage"_a = text{w.stage}, "seconds"_a = seconds);
    } else {
      TELLTALE_WARN("loading {key} has lasted {seconds} s and goes on: look at the disk that it is on",
                    "key"_a = text{w.key}, "seconds"_a = seconds);
    }
  }
}

void service::inside::keep_time() {
  telltale::name_thread("prover.timer");
  lock_type lock(mutex_);
  while (!stopping_) {
    settle();
    say_what_is_slow();
    timer_target_ = scheduler_.next_wake(steady_clock::now());
    if (timer_target_ == steady_time::max()) {
      timer_.wait(lock);
    } else {
      timer_.wait_until(lock, timer_target_);
    }
    timer_target_ = steady_time::max();
  }
}

// ---- begin

telltale::result<void> service::inside::estimate(std::size_t kind) {
  telltale::result<size_estimate> found = telltale::error{"there is no device."};
  size_estimate most;
  for (const auto& d : devices_) {
    found = d->estimate(scheduler_.kinds()[kind]);
    if (!found) return found.error();
    most.key = std::max(most.key, found->key);
    most.loading = std::max(most.loading, found->loading);
    most.witness = std::max(most.witness, found->witness);
    most.working = std::max(most.working, found->working);
  }
  if (!found) return found.error();
  const std::lock_guard lock(mutex_);
  scheduler_.estimated(kind, most);
  return {};
}

void service::inside::recover(journal_entry e) {
  const auto now = steady_clock::now();
  const auto kind = number_of(e.kind);
  const auto give_up = [&](failure why) {
    job_result r;
    r.why = std::move(why);
    if (const auto stored = journal_.finish(e.id, r); !stored) {
      TELLTALE_ERROR("{problem}", "problem"_a = text{stored.error().message});
    }
  };
  if (!kind) {
    return give_up({failure_class::key,
                    "kind \"" + e.kind + "\" is no longer registered. Register it, and submit the job again."});
  }
  if (!scheduler_.knows_sizes(*kind)) {
    const auto known = estimate(*kind);
    if (!known) return give_up({failure_class::key, known.error().message});
  }
  if (e.starts >= limits_.starts) {
    return give_up(
        {failure_class::internal, "the daemon ended " + std::to_string(e.starts) +
                                      " times while this job ran, and does not try again. Look at its log."});
  }
  // The wall clock may have been set meanwhile: a job is never younger than now, nor older than its deadline.
  nanoseconds age = std::max(nanoseconds{0}, nanoseconds(std::chrono::system_clock::now() - e.when));
  age = std::min(age, e.deadline.value_or(std::chrono::hours{24 * 365}));
  const std::lock_guard lock(mutex_);
  ++total_.recovered;
  ++by_kind_[e.kind].recovered;
  scheduler_.add(std::move(e), *kind, now - age, now);
}

telltale::result<void> service::inside::start() {
  for (std::size_t k = 0; k < scheduler_.kinds().size(); ++k) {
    // A key may come later: its first job asks again.
    if (const auto known = estimate(k); !known) TELLTALE_WARN("{problem}", "problem"_a = text{known.error().message});
  }
  auto unfinished = journal_.unfinished();
  if (!unfinished) return unfinished.error();
  for (auto& e : *unfinished) recover(std::move(e));
  if (!unfinished->empty()) TELLTALE_INFO("took up {jobs} unfinished jobs", "jobs"_a = unfinished->size());

  notices_.start();
  const auto role = [this](const char* name, std::condition_variable& wake, auto next, auto act) {
    threads_.emplace_back([this, name, &wake, next, act] { work(name, wake, stopping_, next, act); });
  };
  const auto preparing = [&](payload_form form) {
    role(
        "prover.prepare", to_prepare_, [this, form](steady_time now) { return scheduler_.next_preparation(form, now); },
        [this](auto w, lock_type& lock) { prepare(w, lock); });
  };
  for (unsigned i = 0; i < std::max(1U, limits_.loading_threads); ++i) {
    role(
        "prover.load", to_load_, [this](steady_time now) { return scheduler_.next_load(now); },
        [this](auto w, lock_type& lock) { load(w, lock); });
  }
  for (unsigned i = 0; i < std::max(1U, limits_.preparing_threads); ++i) {
    preparing(payload_form::wtns);
  }
  // As many as there can be generators at once, so that those of one kind never keep another's waiting.
  const auto generated = static_cast<std::size_t>(
      std::ranges::count_if(scheduler_.kinds(), [](const kind& k) { return k.witness_source_memory != 0; }));
  for (std::size_t i = 0; i < std::max<std::size_t>(1, generated * std::max(1U, limits_.prepared_ahead)); ++i) {
    preparing(payload_form::inputs);
  }
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    for (unsigned i = 0; i < std::max(1U, devices_[d]->lanes()); ++i) {
      role(
          "prover.device", to_prove_, [this, d](steady_time now) { return scheduler_.next_proof(d, now); },
          [this](auto w, lock_type& lock) { prove(std::move(w), lock); });
    }
  }
  storekeeper_ = std::thread([this] {
    work(
        "prover.store", to_store_, storing_ends_, [this](steady_time now) { return scheduler_.next_store(now); },
        [this](const job_pointer& j, lock_type& lock) { store(j, lock); });
  });
  threads_.emplace_back([this] { look_at_files(); });
  threads_.emplace_back([this] { keep_time(); });
  gauges_ = std::make_unique<metrics::gauges>([this] { return get_status(); });
  const std::lock_guard lock(mutex_);
  running_ = true;
  return {};
}

std::size_t service::inside::drain(nanoseconds at_most) {
  {
    lock_type lock(mutex_);
    draining_ = true;
    if (running_) {
      ended_.wait_until(lock, steady_clock::now() + std::min<nanoseconds>(at_most, std::chrono::hours{24 * 365}),
                        [this] { return scheduler_.unfinished() == 0 && accepting_jobs_ == 0; });
    }
  }
  return stop();
}

std::size_t service::inside::stop() {
  std::call_once(stopped_, [this] {
    std::vector<job_id> started;
    {
      lock_type lock(mutex_);
      draining_ = true;
      // Whoever is just being accepted gets its place in the journal first.
      accepted_.wait(lock, [this] { return accepting_jobs_ == 0; });
      scheduler_.give_up(steady_clock::now());
      stopping_ = true;
      settle();
    }
    for (auto* c : {&to_load_, &to_unload_, &to_prepare_, &to_prove_, &timer_}) c->notify_all();
    gauges_.reset();
    for (auto& t : threads_) t.join();
    {
      const std::lock_guard lock(mutex_);
      storing_ends_ = true;
    }
    to_store_.notify_all();
    if (storekeeper_.joinable()) storekeeper_.join();
    {
      const std::lock_guard lock(mutex_);
      running_ = false;
      for (const auto& j : scheduler_.jobs()) {
        if (!j->ends && j->started) started.push_back(j->entry.id);
      }
      left_ = scheduler_.unfinished();
    }
    for (const auto& id : started) {
      if (const auto done = journal_.put_back(id); !done)
        TELLTALE_WARN("{problem}", "problem"_a = text{done.error().message});
    }
    notices_.stop();
    if (left_ != 0) TELLTALE_INFO("stopped; {jobs} jobs are kept in the journal", "jobs"_a = left_);
  });
  return left_;
}

}  // namespace prover::daemon
