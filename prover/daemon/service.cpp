// The threads that do what the scheduler says, and the doors to it. One lock guards the scheduler; nothing slow happens
// under it: no file, no key, no proof, no callback.
#include "prover/daemon/service.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <set>
#include <telltale/core/telltale.hpp>
#include <thread>

#include "prover/daemon/file_watch.hpp"
#include "prover/daemon/memory_budget.hpp"
#include "prover/daemon/metrics.hpp"
#include "prover/daemon/notices.hpp"
#include "prover/daemon/request_digest.hpp"
#include "prover/daemon/scheduler.hpp"

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;
using std::chrono::seconds;
using std::chrono::steady_clock;
using telltale::text;

namespace {

job_id new_job_id() {
  static thread_local std::random_device random;
  std::string digits(16, '0');
  for (std::size_t i = 0; i < 16; i += 8) {
    const unsigned number = random();
    for (std::size_t k = 0; k < 8; ++k) digits[i + k] = "0123456789abcdef"[(number >> (4 * k)) & 15];
  }
  return {digits};
}

// What the process has at start, and what grows beside the ledger: stacks, rings of the telemetry, connections.
constexpr std::size_t process_growth = std::size_t{64} << 20;

limits completed(limits l) {
  if (l.memory == 0) l.memory = detect_memory();
  if (l.request_memory == 0) l.request_memory = std::min(l.memory / 8, std::size_t{1} << 30);
  if (!l.process_memory) l.process_memory = resident_memory() + process_growth;
  return l;
}

// Times the stages of a proof, and stops it where nobody wants it any more.
class stage_recorder final : public stage_listener {
 public:
  stage_recorder(job_record& j, notices& n) : job_(j), notices_(n) {}

  bool begins(const char* stage) override {
    const auto now = steady_clock::now();
    close(now);
    if (job_.stop.stop_requested()) return false;
    current_ = stage;
    since_ = now;
    job_.phase.store(stage, std::memory_order_relaxed);
    notices_.changed();
    return true;
  }
  void close(steady_time now) {
    if (current_ != nullptr) parts.push_back({current_, since_, now});
    current_ = nullptr;
    job_.phase.store(nullptr, std::memory_order_relaxed);
  }
  std::vector<interval> parts;

 private:
  job_record& job_;
  notices& notices_;
  const char* current_ = nullptr;
  steady_time since_;
};

}  // namespace

class service::inside {
 public:
  inside(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
         witness_source& witnesses)
      : limits_(completed(std::move(l))),
        devices_(std::move(devices)),
        journal_(j),
        witnesses_(witnesses),
        scheduler_(limits_, std::move(kinds), traits(), steady_clock::now()),
        files_(scheduler_.kinds()),
        notices_([this](const job_id& id) { return find_unfinished(id); }) {}

  ~inside() { stop(); }

  telltale::result<void> start();
  std::variant<accepted, refusal> submit(request r);
  subscription await(const job_id& id, std::optional<nanoseconds> timeout, notices::await_function f);
  subscription watch(const job_id& id, notices::watch_function f);
  cancel_answer cancel(const job_id& id);
  std::vector<job_view> list(const job_filter& filter);
  std::optional<job_view> find(const job_id& id);
  std::optional<job_view> find_unfinished(const job_id& id);
  status get_status();
  telltale::result<preload_answer> preload(const std::string& kind);
  telltale::result<std::size_t> evict(const std::string& kind);
  std::size_t drain(nanoseconds at_most);
  std::size_t stop();
  notices& told() { return notices_; }
  const std::vector<kind>& kinds() const { return scheduler_.kinds(); }

 private:
  using lock_type = std::unique_lock<std::mutex>;

  std::vector<device_traits> traits() const;
  std::optional<std::size_t> number_of(const std::string& kind) const;

  // Under the lock, after every change: decides, and wakes whom it concerns.
  void settle();
  template <class Next, class Do>
  void work(const char* name, std::condition_variable& wake, const bool& until, Next next, Do act);
  void load(const scheduler::load_work& w, lock_type& lock);
  void unload(scheduler::unload_work w, lock_type& lock);
  void prepare(const scheduler::preparation& w, lock_type& lock);
  void prove(scheduler::proof_work w, lock_type& lock);
  void store(const job_pointer& j, lock_type& lock);
  void keep_time();
  void look_at_files();

  std::variant<witness, failure> make_witness(const scheduler::preparation& w, std::vector<interval>& parts);
  telltale::result<void> estimate(std::size_t kind);
  std::optional<refusal> check(const request& r, std::optional<std::size_t> kind) const;
  refusal refuse(const std::string& kind, refusal_reason why, std::string message,
                 std::optional<nanoseconds> retry = std::nullopt);
  std::variant<accepted, refusal> accept(request r, std::size_t kind, std::size_t size);
  std::variant<accepted, refusal, std::monostate> known(const request& r, const digest& of_request);
  void recover(journal_entry e);

  // Peaks are the process's: one is taken only where nothing else ran from begin to end.
  bool begin_action() {
    ++actions_begun_;
    return ++actions_running_ == 1;
  }

  const limits limits_;
  const std::vector<std::unique_ptr<device>> devices_;
  journal& journal_;
  witness_source& witnesses_;

  std::mutex mutex_;
  scheduler scheduler_;
  status::counts total_;
  std::map<std::string, status::counts> by_kind_;
  std::set<std::string> accepting_;  // idempotency keys
  std::size_t accepting_jobs_ = 0, accepting_bytes_ = 0;
  std::size_t arriving_bytes_ = 0;  // of requests that are being submitted
  std::uint64_t actions_begun_ = 0;
  unsigned actions_running_ = 0;
  bool draining_ = false, stopping_ = false, storing_ends_ = false, running_ = false;
  steady_time timer_target_ = steady_time::max();
  std::condition_variable to_load_, to_unload_, to_prepare_, to_prove_, to_store_, timer_, accepted_, ended_;

  file_watch files_;
  notices notices_;
  std::vector<std::thread> threads_;
  std::thread storekeeper_;  // ends last: what the others end still has to be written down
  std::unique_ptr<metrics::gauges> gauges_;
  std::once_flag stopped_;
  std::size_t left_ = 0;
};

// ---- threads

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

void service::inside::keep_time() {
  telltale::name_thread("prover.timer");
  lock_type lock(mutex_);
  while (!stopping_) {
    settle();
    timer_target_ = scheduler_.next_wake(steady_clock::now());
    if (timer_target_ == steady_time::max()) {
      timer_.wait(lock);
    } else {
      timer_.wait_until(lock, timer_target_);
    }
    timer_target_ = steady_time::max();
  }
}

// ---- actions

void service::inside::load(const scheduler::load_work& w, lock_type& lock) {
  const kind& k = scheduler_.kinds()[w.kind];
  device& d = *devices_[w.device];
  bool alone = begin_action();
  const auto begun = actions_begun_;
  const bool measured = alone && d.in_process_memory() && scheduler_.sizes().wants_load(k.name);
  lock.unlock();
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
    j.phase.store("parse", std::memory_order_relaxed);
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
    j.phase.store("witness", std::memory_order_relaxed);
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
  lock.unlock();
  std::vector<interval> parts;
  auto what = [&] {
    const job_trace::inside here(w.job->trace);
    return make_witness(w, parts);
  }();
  w.job->phase.store(nullptr, std::memory_order_relaxed);
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
  lock.unlock();
  std::optional<std::size_t> peak;
  stage_recorder recorder(j, notices_);
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

// A loaded key stays as it is; that its file is another one now is said once, and shown.
void service::inside::look_at_files() {
  telltale::name_thread("prover.unload");
  lock_type lock(mutex_);
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
    lock.unlock();
    const auto changed = files_.look(loaded);
    for (const auto& [k, what] : changed) TELLTALE_WARN("{problem}", "problem"_a = text{what});
    lock.lock();
    for (const auto& [k, what] : changed) scheduler_.key_changed(k, what);
  }
}

// ---- life

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
  for (unsigned i = 0; i < std::max(1U, limits_.loading_threads); ++i) {
    role(
        "prover.load", to_load_, [this](steady_time now) { return scheduler_.next_load(now); },
        [this](auto w, lock_type& lock) { load(w, lock); });
  }
  for (unsigned i = 0; i < std::max(1U, limits_.preparing_threads); ++i) {
    role(
        "prover.prepare", to_prepare_, [this](steady_time now) { return scheduler_.next_preparation(now); },
        [this](auto w, lock_type& lock) { prepare(w, lock); });
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

// ---- submit

refusal service::inside::refuse(const std::string& kind, refusal_reason why, std::string message,
                                std::optional<nanoseconds> retry) {
  metrics::refused(kind, why);
  const std::lock_guard lock(mutex_);
  ++total_.refused[why];
  if (why != refusal_reason::unknown_kind) ++by_kind_[kind].refused[why];
  return {why, std::move(message), retry};
}

// What can be said of a request without looking at how things stand.
std::optional<refusal> service::inside::check(const request& r, std::optional<std::size_t> number) const {
  if (!number) {
    std::string names;
    for (const auto& k : scheduler_.kinds()) names += (names.empty() ? "" : ", ") + k.name;
    return refusal{
        refusal_reason::unknown_kind, "no kind \"" + r.kind + "\" is registered. Registered are: " + names + ".", {}};
  }
  const kind& k = scheduler_.kinds()[*number];
  if (r.payloads.empty()) return refusal{refusal_reason::bad_request, "the request has no payload. Send one.", {}};
  if (r.payloads.size() > k.max_batch) {
    return refusal{refusal_reason::bad_request,
                   "the request has " + std::to_string(r.payloads.size()) + " payloads, and kind \"" + k.name +
                       "\" takes at most " + std::to_string(k.max_batch) + ". Divide it.",
                   {}};
  }
  if (r.deadline && r.deadline->count() <= 0) {
    return refusal{refusal_reason::bad_request, "the deadline has passed already. Give the job some time.", {}};
  }
  for (const auto& p : r.payloads) {
    if (p.content.empty())
      return refusal{refusal_reason::bad_request, "a payload is empty. Send a witness or inputs.", {}};
    if (p.content.size() > k.max_payload) {
      return refusal{refusal_reason::too_large,
                     "a payload has " + std::to_string(p.content.size()) + " bytes, and kind \"" + k.name +
                         "\" takes at most " + std::to_string(k.max_payload) + ". Check that it is the right file.",
                     {}};
    }
  }
  return std::nullopt;
}

std::variant<accepted, refusal> service::inside::submit(request r) {
  const auto number = number_of(r.kind);
  if (const auto wrong = check(r, number)) return refuse(r.kind, wrong->why, wrong->message);
  {
    lock_type lock(mutex_);
    const bool known = scheduler_.knows_sizes(*number);
    lock.unlock();
    if (!known) {
      if (const auto found = estimate(*number); !found)
        return refuse(r.kind, refusal_reason::key, found.error().message);
    }
  }
  std::size_t size = 0;
  std::size_t largest = 0;
  for (const auto& p : r.payloads) {
    size += p.content.size();
    largest = std::max(largest, p.content.size());
  }
  {
    lock_type lock(mutex_);
    if (draining_) {
      lock.unlock();
      return refuse(r.kind, refusal_reason::draining,
                    "the daemon is stopping, and takes no new jobs. Ask again when it is back.");
    }
    const auto room = scheduler_.largest_payload(*number);
    if (!room || largest > *room || size > limits_.request_memory) {
      const std::string why = "the job can never fit: with its key it needs " +
                              std::to_string(scheduler_.needed(*number)) + " bytes of memory and its payloads " +
                              std::to_string(size) + ", and of the budget of " + std::to_string(limits_.memory) +
                              " bytes " + std::to_string(scheduler_.usable()) + " are for jobs and keys and " +
                              std::to_string(limits_.request_memory) +
                              " for requests. Raise the budget, or divide the request.";
      lock.unlock();
      return refuse(r.kind, refusal_reason::too_large, why);
    }
    if (size > limits_.request_memory - arriving_bytes_) {
      lock.unlock();
      return refuse(r.kind, refusal_reason::queue_full, "too many requests arrive at once. Send it again.",
                    std::chrono::milliseconds{200});
    }
    arriving_bytes_ += size;
  }
  auto answer = accept(std::move(r), *number, size);
  const std::lock_guard lock(mutex_);
  arriving_bytes_ -= size;
  return answer;
}

// The job that has this idempotency key, if there is one.
std::variant<accepted, refusal, std::monostate> service::inside::known(const request& r, const digest& of_request) {
  const auto found = journal_.find_key(r.idempotency_key);
  if (!found) return refuse(r.kind, refusal_reason::journal, found.error().message);
  if (!*found) return std::monostate{};
  const journal_entry& e = (**found).entry;
  if (e.request != of_request) {
    return refuse(r.kind, refusal_reason::key_conflict,
                  "idempotency key \"" + r.idempotency_key + "\" belongs to job " + e.id.value +
                      ", whose request was another one. Use a new key.");
  }
  const std::lock_guard lock(mutex_);
  ++total_.joined;
  ++by_kind_[r.kind].joined;
  return accepted{e.id, true, 0};
}

std::variant<accepted, refusal> service::inside::accept(request r, std::size_t number, std::size_t size) {
  const kind& k = scheduler_.kinds()[number];
  journal_entry e;
  e.id = new_job_id();
  e.idempotency_key = r.idempotency_key;
  e.kind = r.kind;
  e.priority = r.priority.value_or(k.default_priority);
  e.deadline = r.deadline ? r.deadline : k.default_deadline;
  for (const auto& p : r.payloads) e.parts.push_back({p.form, p.content.size(), digest_of_payload(p)});
  e.request = digest_of_request(e);

  lock_type lock(mutex_);
  const bool keyed = !r.idempotency_key.empty();
  if (keyed) {
    accepted_.wait(lock, [&] { return !accepting_.contains(r.idempotency_key); });
    accepting_.insert(r.idempotency_key);
  }
  const auto leave = [&](auto answer) -> std::variant<accepted, refusal> {
    if (lock.owns_lock()) lock.unlock();
    {
      const std::lock_guard again(mutex_);
      accepting_.erase(r.idempotency_key);
    }
    accepted_.notify_all();
    return answer;
  };
  if (keyed) {
    lock.unlock();
    auto before = known(r, e.request);
    if (auto* joined = std::get_if<accepted>(&before)) return leave(std::move(*joined));
    if (auto* refused = std::get_if<refusal>(&before)) return leave(std::move(*refused));
    lock.lock();
  }
  if (draining_) {
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::draining,
                        "the daemon is stopping, and takes no new jobs. Ask again when it is back."));
  }
  const std::size_t jobs = scheduler_.queued_jobs() + accepting_jobs_;
  const std::size_t waiting = scheduler_.queued_bytes() + accepting_bytes_;
  if (jobs >= limits_.queued_jobs || size > limits_.queued_bytes - std::min(waiting, limits_.queued_bytes)) {
    const auto retry = scheduler_.expected_turn();
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::queue_full,
                        "the queue is full: " + std::to_string(jobs) + " jobs with " + std::to_string(waiting) +
                            " bytes wait. Send it again later.",
                        retry));
  }
  ++accepting_jobs_;
  accepting_bytes_ += size;
  lock.unlock();
  e.when = std::chrono::system_clock::now();
  const auto from = steady_clock::now();
  const auto written = journal_.accept(e, r.payloads);
  r.payloads.clear();
  if (written) metrics::accepted(r.kind);
  lock.lock();
  --accepting_jobs_;
  accepting_bytes_ -= size;
  if (!written) {
    lock.unlock();
    return leave(refuse(r.kind, refusal_reason::journal, written.error().message, seconds{1}));
  }
  ++total_.accepted;
  ++by_kind_[r.kind].accepted;
  const auto now = steady_clock::now();
  const auto j = scheduler_.add(std::move(e), number, from, now);
  const accepted answer{j->entry.id, false, scheduler_.ahead_of(*j, now)};
  settle();
  return leave(answer);
}

// ---- the other doors

service::subscription service::inside::await(const job_id& id, std::optional<nanoseconds> timeout,
                                             notices::await_function f) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto j = scheduler_.find(id); j && running_) {
      // Its result is there, and only the journal is not.
      if (j->result && j->store_failed) {
        return notices_.tell({awaited::answer::finished, id, j->result}, std::move(f));
      }
      std::optional<steady_time> until;
      if (timeout)
        until = steady_clock::now() + std::clamp<nanoseconds>(*timeout, nanoseconds{0}, std::chrono::hours{24 * 365});
      return notices_.await(id, until, std::move(f));
    }
  }
  awaited a{awaited::answer::unknown, id, nullptr};
  auto found = journal_.find(id);
  if (!found) TELLTALE_WARN("{problem}", "problem"_a = text{found.error().message});
  if (found && *found && (**found).result) {
    a = {awaited::answer::finished, id, std::make_shared<const job_result>(std::move(*(**found).result))};
  } else if (found && *found) {
    a.what = awaited::answer::stopping;  // in the journal, and nobody runs it
  }
  return notices_.tell(std::move(a), std::move(f));
}

service::subscription service::inside::watch(const job_id& id, notices::watch_function f) {
  const std::lock_guard lock(mutex_);
  if (!scheduler_.find(id)) return 0;
  return notices_.watch(id, std::move(f));
}

cancel_answer service::inside::cancel(const job_id& id) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto j = scheduler_.find(id)) {
      if (!scheduler_.cancel(*j, steady_clock::now())) return cancel_answer::already_finished;
      settle();
      return j->result ? cancel_answer::cancelled : cancel_answer::at_next_boundary;
    }
  }
  const auto found = journal_.find(id);
  return found && *found ? cancel_answer::already_finished : cancel_answer::unknown;
}

namespace {

job_view view_of(const journalled_job& j) {
  job_view v;
  v.id = j.entry.id;
  v.kind = j.entry.kind;
  v.state = j.result ? job_state::finished : job_state::queued;
  v.priority = j.entry.priority;
  v.payloads = j.entry.parts.size();
  v.accepted = j.entry.when;
  if (j.result) {
    v.how = j.result->how;
    v.done = j.result->proofs.size();
    v.attempts = j.result->attempts;
    v.device = j.result->device;
    v.age = j.result->times.total;
  }
  return v;
}

}  // namespace

std::optional<job_view> service::inside::find_unfinished(const job_id& id) {
  const std::lock_guard lock(mutex_);
  const auto j = scheduler_.find(id);
  if (!j) return std::nullopt;
  return scheduler_.view(*j, steady_clock::now());
}

std::optional<job_view> service::inside::find(const job_id& id) {
  if (auto v = find_unfinished(id)) return v;
  const auto found = journal_.find(id);
  if (!found || !*found) return std::nullopt;
  return view_of(**found);
}

std::vector<job_view> service::inside::list(const job_filter& filter) {
  std::vector<job_view> all;
  const auto wanted = [&](const std::string& kind) { return filter.kind.empty() || filter.kind == kind; };
  {
    const std::lock_guard lock(mutex_);
    const auto now = steady_clock::now();
    for (const auto& j : scheduler_.jobs()) {
      if (all.size() < filter.at_most && wanted(j->entry.kind)) all.push_back(scheduler_.view(*j, now));
    }
  }
  if (!filter.finished || all.size() >= filter.at_most) return all;
  const auto ended = journal_.finished(filter.at_most - all.size());
  if (!ended) {
    TELLTALE_WARN("{problem}", "problem"_a = text{ended.error().message});
    return all;
  }
  for (const auto& j : *ended) {
    if (wanted(j.entry.kind)) all.push_back(view_of(j));
  }
  return all;
}

status service::inside::get_status() {
  status s;
  const std::lock_guard lock(mutex_);
  scheduler_.describe(s, steady_clock::now());
  s.draining = draining_;
  s.total = total_;
  s.by_kind = by_kind_;
  return s;
}

telltale::result<preload_answer> service::inside::preload(const std::string& kind) {
  const auto number = number_of(kind);
  if (!number) return telltale::error{"cannot preload \"" + kind + "\": no such kind is registered."};
  lock_type lock(mutex_);
  if (!scheduler_.knows_sizes(*number)) {
    lock.unlock();
    if (const auto found = estimate(*number); !found) return found.error();
    lock.lock();
  }
  const auto there = scheduler_.preload(*number, steady_clock::now());
  settle();
  if (!there) return there.error();
  return *there ? preload_answer::already_loaded : preload_answer::loading;
}

telltale::result<std::size_t> service::inside::evict(const std::string& kind) {
  const auto number = number_of(kind);
  if (!number) return telltale::error{"cannot evict \"" + kind + "\": no such kind is registered."};
  const std::lock_guard lock(mutex_);
  auto freed = scheduler_.evict(*number, steady_clock::now());
  settle();
  return freed;
}

// ---- service

service::service(limits l, std::vector<kind> kinds, std::vector<std::unique_ptr<device>> devices, journal& j,
                 witness_source& witnesses)
    : inside_(std::make_unique<inside>(std::move(l), std::move(kinds), std::move(devices), j, witnesses)) {}
service::~service() = default;

telltale::result<void> service::start() {
  return inside_->start();
}
std::variant<accepted, refusal> service::submit(request r) {
  return inside_->submit(std::move(r));
}
service::subscription service::await(const job_id& id, std::optional<nanoseconds> timeout,
                                     std::function<void(const awaited&)> f) {
  return inside_->await(id, timeout, std::move(f));
}
service::subscription service::watch(const job_id& id, std::function<void(const progress&)> f) {
  return inside_->watch(id, std::move(f));
}
void service::unsubscribe(subscription s) {
  inside_->told().unsubscribe(s);
}
cancel_answer service::cancel(const job_id& id) {
  return inside_->cancel(id);
}
std::vector<job_view> service::list(const job_filter& filter) const {
  return inside_->list(filter);
}
std::optional<job_view> service::find(const job_id& id) const {
  return inside_->find(id);
}
status service::get_status() const {
  return inside_->get_status();
}
const std::vector<kind>& service::kinds() const noexcept {
  return inside_->kinds();
}
telltale::result<preload_answer> service::preload(const std::string& kind) {
  return inside_->preload(kind);
}
telltale::result<std::size_t> service::evict(const std::string& kind) {
  return inside_->evict(kind);
}
std::size_t service::drain(nanoseconds at_most) {
  return inside_->drain(at_most);
}
void service::stop() {
  inside_->stop();
}

}  // namespace prover::daemon
