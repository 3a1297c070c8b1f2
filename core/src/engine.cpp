// The running library.
#include "engine.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <telltale/core/detail/write.hpp>
#include <thread>

#include "catalogue.hpp"
#include "clock.hpp"
#include "descriptors.hpp"
#include "drain.hpp"
#include "environment.hpp"
#include "flight/export.hpp"
#include "flight/recorder.hpp"
#include "futex.hpp"
#include "governor/governor.hpp"
#include "governor/tallies.hpp"
#include "metrics/collect.hpp"
#include "metrics/registry.hpp"
#include "metrics/shards.hpp"
#include "processor_time.hpp"
#include "record.hpp"
#include "settings.hpp"

namespace telltale {

namespace detail {

namespace {

using steady = std::chrono::steady_clock;

// The drain's thread and what others say to it. Replaced as a whole after fork() and after a shutdown.
struct service {
  std::mutex mutex;
  std::condition_variable changed;
  std::uint64_t flushes_asked = 0;
  std::uint64_t flushes_done = 0;
  bool last_flush_complete = true;
  steady::time_point flush_deadline{};
  bool stop = false;
  bool stopped = false;
  std::thread thread;
};

enum class phase : std::uint8_t { idle, running, shut_down };

// Everything that changes; never destroyed, because records come from static destructors too.
struct state {
  std::mutex mutex;  // the configuration's
  bool configured = false;
  options settings;
  std::shared_ptr<const sink_list> sinks = std::make_shared<sink_list>();
  sink_list configured_sinks;
  sink_list added_sinks;
  std::shared_ptr<service> drain;
  clock_sample started{};
  std::shared_ptr<const std::vector<std::string>> baggage_keys;
  filter log;
  filter trace;
};

state& self() {
  static state& s = *new state;
  return s;
}

constinit std::atomic<bool> configured{false};
constinit std::atomic<phase> now_in{phase::idle};
constinit std::atomic<overflow_policy> policy{overflow_policy::drop};
constinit std::atomic<double> overhead{0};  // the governor's budget
constinit drain_counts counts;
// The drain sleeps on the first, threads that wait for room in their rings sleep on the second.
constinit std::atomic<std::uint32_t> wake_ups{0};
constinit std::atomic<std::uint32_t> room_made{0};
constinit std::atomic<bool> drain_asleep{false};
constinit std::atomic<std::uint32_t> waiting_for_room{0};
thread_local bool is_drain_thread = false;

void publish_sinks_locked(state& s) {
  auto list = std::make_shared<sink_list>(s.configured_sinks);
  list->insert(list->end(), s.added_sinks.begin(), s.added_sinks.end());
  s.sinks = std::move(list);
}

std::shared_ptr<const sink_list> sinks_now() {
  state& s = self();
  const std::lock_guard lock(s.mutex);
  return s.sinks;
}

bool flush_sinks(const sink_list& sinks, steady::time_point deadline) {
  bool complete = true;
  for (const auto& s : sinks) {
    try {
      complete = s->flush(deadline) && complete;
    } catch (...) {
      counts.sink_exceptions.fetch_add(1, std::memory_order_relaxed);
      complete = false;
    }
  }
  return complete;
}

// How long to sleep at most: hardly at all while rings fill quickly, ever longer while nothing comes. A ring that is
// half full ends the sleep.
std::chrono::microseconds pause_after(const drain::progress& p, std::chrono::microseconds last) {
  using std::chrono::microseconds;
  if (p.fullest > 0.25) return microseconds(50);
  if (p.fullest > 0.05) return microseconds(500);
  if (p.bytes != 0) return microseconds(1000);
  return std::min(microseconds(8000), std::max(microseconds(1000), last * 2));
}

void run(const std::shared_ptr<service>& me, clock_sample started) {
  is_drain_thread = true;
  drain d(started, counts);
  d.pass_over_counts();
  governor g;
  std::chrono::microseconds pause(5000);  // the clock's rate is measured over this
  steady::time_point announce_at = steady::now() + std::chrono::milliseconds(500);
  if (const flight_options* flight = flight::settings()) export_dead_flights(*flight, *sinks_now());
  std::unique_lock lock(me->mutex);
  for (;;) {
    if (!me->stop && me->flushes_asked == me->flushes_done) {
      const std::uint32_t seen = wake_ups.load(std::memory_order_acquire);
      lock.unlock();
      drain_asleep.store(true, std::memory_order_release);
      futex_wait(wake_ups, seen, pause);
      drain_asleep.store(false, std::memory_order_relaxed);
      lock.lock();
    }
    const std::uint64_t asked = me->flushes_asked;
    const bool flush = me->flushes_asked != me->flushes_done || me->stop;
    const bool stop = me->stop;
    const steady::time_point deadline = me->flush_deadline;
    lock.unlock();

    const std::shared_ptr<const sink_list> sinks = sinks_now();
    const drain::progress p = d.pass(*sinks);
    if (steady::now() >= announce_at) {
      d.announce_open(*sinks);
      announce_at = steady::now() + std::chrono::milliseconds(250);
    }
    g.set_budget(overhead.load(std::memory_order_relaxed));
    g.look(d, *sinks);
    bool complete = true;
    if (flush) {
      if (stop) g.let_go();
      d.pass(*sinks);  // a span whose end overtook one of its parts
      d.settle(*sinks);
      g.tell(d, *sinks);
      complete = flush_sinks(*sinks, deadline);
      d.release(*sinks);
    }
    pause = pause_after(p, pause);

    lock.lock();
    if (flush) {
      me->flushes_done = asked;
      me->last_flush_complete = complete;
      me->changed.notify_all();
    }
    if (stop && me->stop) break;  // start() may have changed its mind
  }
  me->stopped = true;
  me->changed.notify_all();
}

// Forgets a drain that has stopped. One that hangs in a sink stays the drain: two of them would read the same rings.
void reap_locked(state& s) {
  {
    const std::lock_guard its(s.drain->mutex);
    if (!s.drain->stopped) return;
  }
  s.drain->thread.join();
  s.drain = nullptr;
}

void start_drain_locked(state& s) {
  if (now_in.load(std::memory_order_relaxed) == phase::shut_down) return;
  if (s.drain != nullptr) reap_locked(s);
  if (s.drain != nullptr) {  // it was told to stop and has not yet: it goes on
    const std::lock_guard its(s.drain->mutex);
    s.drain->stop = false;
    now_in.store(phase::running, std::memory_order_release);
    return;
  }
  auto fresh = std::make_shared<service>();
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);  // the program's signals are the program's business
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  try {
    fresh->thread = std::thread(run, fresh, s.started);
    ::pthread_setname_np(fresh->thread.native_handle(), "telltale");
    s.drain = std::move(fresh);
    now_in.store(phase::running, std::memory_order_release);
  } catch (const std::system_error& e) {
    complain("cannot start the drain's thread: " + std::string(e.what()) + ". Records are counted as dropped.");
    now_in.store(phase::shut_down, std::memory_order_release);
  }
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

// Asks the drain for a flush (and to stop) and waits. False when the deadline passed or a sink was not done.
bool ask(service& s, steady::time_point deadline, bool stop) {
  std::unique_lock lock(s.mutex);
  if (s.stopped) return s.last_flush_complete;
  const std::uint64_t ticket = ++s.flushes_asked;
  s.flush_deadline = std::max(s.flush_deadline, deadline);
  s.stop = s.stop || stop;
  futex_wake(wake_ups);
  const bool in_time =
      s.changed.wait_until(lock, deadline, [&] { return s.flushes_done >= ticket && (!stop || s.stopped); });
  return in_time && s.last_flush_complete;
}

// --- fork ---------------------------------------------------------------------------------------------------------

void before_fork() {
  self().mutex.lock();
  registry_mutex.lock();
  metrics_mutex.lock();
  flight::before_fork();
}
void after_fork_in_parent() {
  flight::after_fork_in_parent();
  metrics_mutex.unlock();
  registry_mutex.unlock();
  self().mutex.unlock();
}
// The child has one thread, and no drain. What other threads held at that moment (the drain's own lock, a sink's) is
// left behind untouched; its first record starts a drain of its own.
void after_fork_in_child() {
  state& s = self();
  // Kept, never looked at again: destroying it would touch threads that don't exist here.
  static auto& left_behind = *new std::vector<std::shared_ptr<const void>>;
  if (s.drain != nullptr) left_behind.push_back(std::exchange(s.drain, nullptr));
  if (now_in.load(std::memory_order_relaxed) == phase::running) now_in.store(phase::idle, std::memory_order_relaxed);
  flight::after_fork_in_child();
  reset_after_fork();
  reset_tallies_after_fork();
  record_counted_sites_locked();
  drain_asleep.store(false, std::memory_order_relaxed);
  waiting_for_room.store(0, std::memory_order_relaxed);
  counts.written.store(0, std::memory_order_relaxed);
  counts.counted.store(0, std::memory_order_relaxed);
  counts.left_out.store(0, std::memory_order_relaxed);
  counts.stale_scopes.store(0, std::memory_order_relaxed);
  counts.truncated.store(0, std::memory_order_relaxed);
  sink_threads_ns.store(0, std::memory_order_relaxed);
  if (s.started.wall_ns != 0) s.started = sample_clocks();
  for (sink_list* list : {&s.configured_sinks, &s.added_sinks}) {
    sink_list of_child;
    for (const auto& sink_ : *list) {
      if (auto fresh = sink_->for_child()) of_child.push_back(std::move(fresh));
    }
    for (auto& sink_ : *list) left_behind.push_back(std::move(sink_));
    *list = std::move(of_child);
  }
  left_behind.push_back(s.sinks);
  publish_sinks_locked(s);
  reset_shards_after_fork();
  reset_series_after_fork();
  reset_collection_after_fork();
  metrics_mutex.unlock();
  registry_mutex.unlock();
  s.mutex.unlock();
}

// --- configuration ------------------------------------------------------------------------------------------------

void prepare_once_locked(state& s, bool monotonic) {
  if (s.started.wall_ns != 0) return;
  choose_clock(monotonic);
  s.started = sample_clocks();
}

// Before anybody can record, let alone fork amid somebody's first record: the state is made and its locks are watched.
[[gnu::constructor]] void at_load() {
  (void)self();
  prepare_tallies();
  ::pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

result<void> start_flight_locked(const std::string& specification) {
  const auto about = [](const error& e) { return error{"TELLTALE_FLIGHT: " + e.message}; };
  const auto wanted = parse_flight(specification);
  if (!wanted) return about(wanted.error());
  memory_map* m = memory_locked();
  if (m == nullptr) return error{"TELLTALE_FLIGHT: the operating system gives no memory"};
  if (auto started = flight::start(*m, *wanted); !started) return about(started.error());
  return {};
}

// `sinks`: what make_sinks() made of o.sinks; taken only on success.
result<void> configure_locked(state& s, const options& o, sink_list& sinks) {
  auto checked = check_settings(o);
  if (!checked) return checked.error();
  const bool laid_out = memory() != nullptr;
  if (laid_out && (o.ring_bytes != s.settings.ring_bytes || o.memory_bytes != s.settings.memory_bytes)) {
    return error{"cannot change the size of the rings: something was already recorded with rings of " +
                 std::to_string(s.settings.ring_bytes) +
                 " bytes. Call telltale::start() before the first record, or set TELLTALE_RING."};
  }
  if (laid_out && o.flight != s.settings.flight) {
    return error{
        "TELLTALE_FLIGHT: cannot change the flight recorder: something was already recorded without it. Call "
        "telltale::start() before the first record, or set TELLTALE_FLIGHT."};
  }
  prepare_once_locked(s, o.monotonic_clock);
  set_sampling(checked->sampling_threshold, checked->sampling_by_parent);
  policy.store(o.overflow, std::memory_order_relaxed);
  overhead.store(o.overhead, std::memory_order_relaxed);
  default_max_series.store(o.max_series, std::memory_order_relaxed);
  s.configured_sinks = std::move(sinks);
  publish_sinks_locked(s);
  s.baggage_keys = std::make_shared<const std::vector<std::string>>(std::move(checked->baggage_keys));
  s.log = std::move(checked->log);
  s.trace = std::move(checked->trace);
  {
    const std::lock_guard lock(registry_mutex);
    s.settings = o;  // under this lock too, because sizes_locked() reads it
    apply_filters_locked(s.log, s.trace);
    if (!o.flight.empty() && flight::settings() == nullptr) {
      auto started = start_flight_locked(o.flight);
      if (!started) {
        s.settings.flight.clear();
        sinks = std::exchange(s.configured_sinks, {});
        return started;
      }
    }
  }
  s.configured = true;
  configured.store(true, std::memory_order_release);
  return {};
}

result<sink_list> make_configured_sinks(const options& o) {
  auto sinks = make_sinks(o.sinks);
  if (!sinks) return error{"TELLTALE_SINKS: " + sinks.error().message};
  return sinks;
}

}  // namespace

void engine::ensure_configured() noexcept {
  if (configured.load(std::memory_order_acquire)) return;
  state& s = self();
  // Nobody called start(): there is no caller to give an error to, so it is said once and the default holds.
  options o;
  std::vector<error> errors = read_environment(o);
  // Not under the lock: a sink's library may be loaded, and another library that is just being loaded may record.
  auto sinks = make_configured_sinks(o);
  if (!sinks) {
    errors.push_back(sinks.error());
    o.sinks = options{}.sinks;
    sinks = make_configured_sinks(o);
  }
  const std::lock_guard lock(s.mutex);
  if (s.configured) return;
  for (auto done = configure_locked(s, o, *sinks); !done; done = configure_locked(s, o, *sinks)) {
    errors.push_back(done.error());
    if (done.error().message.starts_with("TELLTALE_BAGGAGE")) {
      o.baggage = options{}.baggage;
    } else if (done.error().message.starts_with("TELLTALE_FLIGHT")) {
      o.flight.clear();
    } else {
      o.ring_bytes = options{}.ring_bytes;
      o.memory_bytes = options{}.memory_bytes;
    }
  }
  for (const error& e : errors) complain(e.message + " (the default holds)");
}

void engine::ensure_drain() noexcept {
  if (now_in.load(std::memory_order_acquire) != phase::idle) return;
  ensure_configured();
  state& s = self();
  const std::lock_guard lock(s.mutex);
  start_drain_locked(s);
}

memory_sizes engine::sizes_locked() noexcept {
  return {self().settings.ring_bytes, self().settings.memory_bytes};
}

std::shared_ptr<const std::vector<std::string>> engine::baggage_keys() {
  ensure_configured();
  const std::lock_guard lock(self().mutex);
  return self().baggage_keys;
}

std::chrono::milliseconds engine::exit_timeout() {
  const std::lock_guard lock(self().mutex);
  return self().settings.exit_timeout;
}

bool engine::waits() noexcept {
  return policy.load(std::memory_order_relaxed) == overflow_policy::block &&
         now_in.load(std::memory_order_relaxed) != phase::shut_down;
}

full_action engine::when_full() noexcept {
  if (now_in.load(std::memory_order_relaxed) == phase::shut_down) return full_action::drop_shut_down;
  if (policy.load(std::memory_order_relaxed) == overflow_policy::drop || is_drain_thread) return full_action::drop;
  return full_action::wait;
}

void engine::wake_drain() noexcept {
  if (drain_asleep.load(std::memory_order_relaxed) && drain_asleep.exchange(false)) futex_wake(wake_ups);
}

void engine::wait_for_room(const thread_block& b) noexcept {
  // Announced and read before the look at the ring: room that is made after it changes the word. (Between the drain's
  // own store and its look at the count nothing is ordered; what is missed so costs one time-out.)
  waiting_for_room.fetch_add(1, std::memory_order_seq_cst);
  const std::uint32_t seen = room_made.load(std::memory_order_seq_cst);
  if (is_crowded(b)) {
    wake_drain();
    futex_wait(room_made, seen, std::chrono::milliseconds(1));
  }
  waiting_for_room.fetch_sub(1, std::memory_order_relaxed);
}

void engine::made_room() noexcept {
  if (waiting_for_room.load(std::memory_order_relaxed) != 0) futex_wake(room_made);
}

namespace {

// Runs when the library is finalised: after the program's static objects, which may record until then.
[[gnu::destructor]] void at_exit() {
  if (!configured.load(std::memory_order_acquire) || is_drain_thread) return;
  const shutdown_report r = shutdown(self().settings.exit_timeout);
  if (r.complete) {
    flight::discard();
    return;
  }
  pollfd writable{real_descriptor(2), POLLOUT, 0};  // stderr may be the very pipe that nobody reads
  if (::poll(&writable, 1, 0) != 1 || (writable.revents & POLLOUT) == 0) return;
  complain("exit did not wait any longer for a sink; " +
           (r.undelivered != 0 ? std::to_string(r.undelivered) + " records were not written"
                               : std::string("what it had not got out is lost")));
}

// Records that nobody will read any more.
std::uint64_t left_in_rings() noexcept {
  memory_map* m = memory();
  if (m == nullptr) return 0;
  std::uint64_t left = 0;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const thread_block& b = m->blocks[i];
    const std::uint64_t head = b.head.load(std::memory_order_acquire);
    for (std::uint64_t at = b.tail.load(std::memory_order_acquire); at < head;) {
      const std::uint64_t word = b.ring[(at & b.mask) / 8];
      const auto kind = static_cast<record_kind>(word >> 8 & 0xff);
      if (kind >= record_kind::span && kind <= record_kind::link) ++left;
      if ((word & 0xff) == 0) break;
      at += (word & 0xff) * line_bytes;
    }
  }
  return left;
}

}  // namespace

}  // namespace detail

using detail::self;

result<void> start() {
  const auto o = options::from_environment();
  if (!o) return o.error();
  return start(*o);
}

result<void> start(const options& o) {
  auto& s = self();
  auto sinks = detail::make_configured_sinks(o);  // not under the lock, see ensure_configured()
  if (!sinks) return sinks.error();
  const std::lock_guard lock(s.mutex);
  if (auto done = detail::configure_locked(s, o, *sinks); !done) return done;
  const bool was_shut_down = detail::now_in.load() == detail::phase::shut_down;
  if (was_shut_down) detail::now_in.store(detail::phase::idle);
  // With a flight recorder at once: it exports what the last process left.
  if (was_shut_down || (!o.flight.empty() && s.drain == nullptr)) detail::start_drain_locked(s);
  return {};
}

result<void> set_log_filter(std::string_view directives) {
  detail::engine::ensure_configured();
  auto f = detail::filter::parse(directives);
  if (!f) return f.error();
  auto& s = self();
  const std::lock_guard lock(s.mutex);
  s.log = std::move(*f);
  const std::lock_guard registry(detail::registry_mutex);
  detail::apply_filters_locked(s.log, s.trace);
  return {};
}

result<void> set_trace_filter(std::string_view directives) {
  detail::engine::ensure_configured();
  auto f = detail::filter::parse(directives);
  if (!f) return f.error();
  auto& s = self();
  const std::lock_guard lock(s.mutex);
  s.trace = std::move(*f);
  const std::lock_guard registry(detail::registry_mutex);
  detail::apply_filters_locked(s.log, s.trace);
  return {};
}

std::string log_filter() {
  detail::engine::ensure_configured();
  const std::lock_guard lock(self().mutex);
  return self().log.text();
}

std::string trace_filter() {
  detail::engine::ensure_configured();
  const std::lock_guard lock(self().mutex);
  return self().trace.text();
}

void add_sink(std::shared_ptr<sink> sink_) {
  detail::engine::ensure_configured();
  auto& s = self();
  const std::lock_guard lock(s.mutex);
  s.added_sinks.push_back(std::move(sink_));
  detail::publish_sinks_locked(s);
}

void remove_sink(const std::shared_ptr<sink>& sink_) {
  flush();
  auto& s = self();
  const std::lock_guard lock(s.mutex);
  std::erase(s.added_sinks, sink_);
  detail::publish_sinks_locked(s);
}

namespace {
std::shared_ptr<detail::service> running_drain() {
  const std::lock_guard lock(self().mutex);
  return self().drain;
}
}  // namespace

bool flush(std::chrono::milliseconds timeout) {
  if (detail::is_drain_thread) return false;
  const std::shared_ptr<detail::service> drain = running_drain();
  return drain == nullptr || detail::ask(*drain, detail::steady::now() + timeout, false);
}

shutdown_report shutdown(std::chrono::milliseconds timeout) {
  if (detail::is_drain_thread) return {};
  const auto deadline = detail::steady::now() + timeout;
  auto& s = self();
  std::shared_ptr<detail::service> drain;
  {
    const std::lock_guard lock(s.mutex);
    detail::now_in.store(detail::phase::shut_down);
    drain = s.drain;
  }
  if (drain == nullptr) return {true, 0};
  shutdown_report report;
  report.complete = detail::ask(*drain, deadline, true);
  {
    const std::lock_guard lock(s.mutex);
    if (s.drain == drain) detail::reap_locked(s);
  }
  report.undelivered = detail::left_in_rings();
  report.complete = report.complete && report.undelivered == 0;
  return report;
}

statistics stats() {
  statistics out;
  detail::memory_map* m = detail::memory();
  out.clock = detail::clock_description();
  out.written = detail::counts.written.load(std::memory_order_relaxed);
  out.counted = detail::counts.counted.load(std::memory_order_relaxed);
  out.left_out = detail::counts.left_out.load(std::memory_order_relaxed);
  out.stale_scopes = detail::counts.stale_scopes.load(std::memory_order_relaxed);
  out.truncated = detail::counts.truncated.load(std::memory_order_relaxed);
  out.sink_errors = detail::counts.sink_exceptions.load(std::memory_order_relaxed);
  out.drain_cpu = std::chrono::nanoseconds(detail::counts.cpu_ns.load(std::memory_order_relaxed));
  out.drain_lag = std::chrono::nanoseconds(detail::counts.lag_ns.load(std::memory_order_relaxed));
  for (const auto& s : *detail::sinks_now()) {
    out.sink_dropped += s->dropped();
    out.sink_errors += s->errors();
    out.sink_retries += s->retries();
    out.sink_spooled_bytes += s->spooled_bytes();
  }
  if (m == nullptr) return out;
  const std::uint32_t blocks = m->header->blocks.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < blocks; ++i) {
    const detail::thread_block& b = m->blocks[i];
    for (std::size_t r = 0; r < detail::drop_reasons; ++r)
      out.dropped[r] += b.dropped[r].load(std::memory_order_relaxed);
    out.truncated += b.truncated.load(std::memory_order_relaxed);
    out.threads += b.owned.load(std::memory_order_relaxed);
  }
  const auto at = [&](drop_reason r) -> std::uint64_t& { return out.dropped[static_cast<std::size_t>(r)]; };
  at(drop_reason::no_memory) += m->header->no_memory.load(std::memory_order_relaxed);
  out.lost_scopes = m->header->lost_scopes.load(std::memory_order_relaxed);
  if (detail::now_in.load() == detail::phase::shut_down) at(drop_reason::shut_down) += detail::left_in_rings();
  const std::uint32_t slots = m->header->slots.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < slots; ++i) {
    out.open_spans += detail::get(&m->slots[i].words[2]) != 0 && !detail::is_sample(&m->slots[i]) ? 1u : 0u;
  }
  return out;
}

}  // namespace telltale
