// The sending thread and what it decides.
#include "exporter.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "descriptors.hpp"
#include "processor_time.hpp"

namespace telltale::otlp {

// What only the thread itself uses.
class exporter::worker {
 public:
  explicit worker(std::shared_ptr<state> s) : s_(std::move(s)), random_(std::random_device{}()) {
    if (s_->config.spool.empty()) return;
    auto opened = spool::open(s_->config.spool, s_->config.spool_bytes);
    if (opened) {
      spool_.emplace(std::move(*opened));
    } else {
      say("spool", opened.error().message + ". What can't be delivered waits in memory only");
    }
  }

  void run() {
    std::unique_lock lock(s_->mutex);
    s_->sending = &transport_;
    next_metrics_ = clock::now() + s_->config.metric_interval;
    for (;;) {
      s_->spooled = spool_ ? spool_->bytes() : 0;
      taken_.tell();
      const std::uint64_t asked = s_->flushes_asked;
      const bool flushing = asked != s_->flushes_done || s_->stop;
      const clock::time_point now = clock::now();
      if (flushing && asked != began_flush_) {  // whoever waits gets a try at once
        began_flush_ = asked;
        if (!told_to_wait_) not_before_ = now;
        next_metrics_ = now;
      }
      if (now >= metrics_at()) {
        next_metrics_ = now + s_->config.metric_interval;
        lock.unlock();
        std::optional<request> m = metrics();
        lock.lock();
        if (m) {
          s_->pending_bytes += m->charged;
          send_or_keep(lock, std::move(*m), now);
          next_metrics_ = clock::now() + s_->config.metric_interval;  // however long that took: others have their turn
          continue;
        }
      }
      if (now >= not_before_ && now >= replay_after_ && spool_ && !spool_->empty() && replay_next_) {
        replay_next_ = false;
        if (replay(lock)) continue;
      }
      replay_next_ = true;
      if (now >= not_before_ && held_) {
        request r = std::move(*held_);
        held_.reset();
        send_or_keep(lock, std::move(r), now);
        continue;
      }
      if (const auto due = now >= taken_from() ? due_signal(now, flushing) : std::nullopt) {
        send_or_keep(lock, take(*due), now);
        continue;
      }
      if (flushing && s_->pending_bytes == 0 && now < next_metrics_) {
        s_->flushes_done = asked;
        s_->changed.notify_all();
      }
      if (s_->stop && (s_->pending_bytes == 0 || now < not_before_)) break;
      s_->changed.wait_until(lock, wake_at(now));
    }
    s_->left_some = s_->pending_bytes != 0;
    for (waiting& w : s_->pending) {
      count_dropped(w.records);
      w = {};
    }
    if (held_) count_dropped(held_->records);
    s_->in_hand = none;
    s_->pending_bytes = 0;
    s_->sending = nullptr;
    s_->stopped = true;
    s_->changed.notify_all();
  }

 private:
  const target& target_of(signal_kind k) const { return s_->config.targets[static_cast<std::size_t>(k)]; }

  void count_dropped(std::uint64_t records) {
    s_->dropped += records;
    s_->untold += records;
  }

  std::optional<signal_kind> due_signal(clock::time_point now, bool flushing) const {
    std::optional<signal_kind> due;
    clock::time_point oldest = clock::time_point::max();
    for (std::size_t i = 0; i < signals; ++i) {
      const waiting& w = s_->pending[i];
      if (w.chunks.empty() || w.since >= oldest) continue;
      if (flushing || w.bytes >= s_->config.batch_bytes || w.records >= s_->config.batch_records ||
          now - w.since >= s_->config.delay) {
        due = static_cast<signal_kind>(i);
        oldest = w.since;
      }
    }
    return due;
  }

  // When another request can be made of what waits: while the receiver doesn't answer, only the spool takes more, and
  // while one is held, none is made.
  clock::time_point taken_from() const {
    if (held_) return clock::time_point::max();
    return spool_ && !spool_full_ ? clock::time_point{} : not_before_;
  }
  clock::time_point metrics_at() const { return std::max(next_metrics_, taken_from()); }

  clock::time_point wake_at(clock::time_point now) const {
    clock::time_point at = metrics_at();
    for (const waiting& w : s_->pending) {
      if (!w.chunks.empty()) at = std::min(at, std::max(w.since + s_->config.delay, taken_from()));
    }
    if (held_) at = std::min(at, not_before_);
    if (spool_ && !spool_->empty()) at = std::min(at, std::max(not_before_, replay_after_));
    return std::max(at, now + std::chrono::milliseconds(1));
  }

  // The next request of a signal: chunks of one process up to the limits of a batch, at least one.
  request take(signal_kind k) {
    waiting& w = s_->pending[static_cast<std::size_t>(k)];
    std::vector<chunk> chunks;
    request r;
    r.signal = k;
    std::size_t bytes = 0;
    s_->in_hand = w.chunks.front().number;
    const std::shared_ptr<const std::string> resource = w.chunks.front().resource;
    while (!w.chunks.empty()) {
      numbered_chunk& next = w.chunks.front();
      const bool fits = bytes + next.records.bytes.size() <= s_->config.batch_bytes &&
                        r.records + next.records.records <= s_->config.batch_records && next.resource == resource;
      if (!chunks.empty() && !fits) break;
      bytes += next.records.bytes.size();
      r.records += next.records.records;
      chunks.push_back(std::move(next.records));
      w.chunks.pop_front();
    }
    w.bytes -= bytes;
    w.records -= r.records;
    w.since = clock::now();
    r.charged = bytes;
    r.body = make_request(encoding_of(target_of(k)), k, *resource, chunks);
    return r;
  }

  std::optional<request> metrics() const {
    const target& t = target_of(signal_kind::metrics);
    if (!t.on) return std::nullopt;
    const chunk c = encode_metrics(encoding_of(t), snapshot_metrics());
    if (c.records == 0) return std::nullopt;
    request r;
    r.signal = signal_kind::metrics;
    r.records = c.records;
    r.charged = c.bytes.size();
    r.body = make_request(encoding_of(t), signal_kind::metrics,
                          *s_->resources[static_cast<std::size_t>(signal_kind::metrics)], {&c, 1});
    return r;
  }

  void send_or_keep(std::unique_lock<std::mutex>& lock, request r, clock::time_point now) {
    if (now < not_before_ || send(lock, r.signal, r.body.view(), r.records).what == answer::kind::retry) {
      keep(lock, std::move(r));
    } else {
      forget(r);
    }
  }

  // It needs no memory any more: whoever waits in submit() or flush() may go on.
  void forget(const request& r) {
    s_->pending_bytes -= r.charged;
    s_->in_hand = none;
    s_->changed.notify_all();
  }

  // Sends, counts what is lost, and decides when the next try is.
  answer send(std::unique_lock<std::mutex>& lock, signal_kind k, std::string_view body, std::uint64_t records) {
    lock.unlock();
    const answer a = transport_.send(target_of(k), k, body);
    lock.lock();
    const std::string& url = target_of(k).url;
    switch (a.what) {
      case answer::kind::delivered:
        if (failures_ != 0) said_.erase("retry");
        failures_ = 0;
        told_to_wait_ = false;
        if (a.rejected != 0) {
          count_dropped(std::min(a.rejected, records));
          ++s_->errors;
          say("partial", url + " did not take " + std::to_string(a.rejected) + " of " + std::to_string(records) +
                             " records: " + a.message + ". They are dropped and counted");
        } else if (!a.message.empty()) {
          say("warning", url + " says: " + a.message);
        }
        break;
      case answer::kind::refused:
        count_dropped(records);
        ++s_->errors;
        failures_ = 0;
        say("refused", url + " refuses what is sent: " + a.message +
                           ". Such records are dropped and counted; check endpoint, protocol and headers");
        break;
      case answer::kind::retry: {
        ++s_->retries;
        const double doubled = 0.5 * static_cast<double>(1u << std::min(failures_, 6u));
        ++failures_;
        std::uniform_real_distribution<double> jitter(0.8, 1.2);
        auto wait = std::chrono::milliseconds(static_cast<int>(std::min(doubled, 30.0) * jitter(random_) * 1000));
        told_to_wait_ = a.wait.count() > 0;
        not_before_ = clock::now() + std::max(wait, a.wait);
        say("retry", "cannot deliver to " + url + ": " + a.message + ". It is tried again, " +
                         (spool_ ? "and what comes meanwhile waits in \"" + s_->config.spool + "\""
                                 : "and what comes meanwhile waits in memory") +
                         "; what exceeds the limit is dropped and counted");
        break;
      }
    }
    return a;
  }

  // What couldn't be delivered now: onto the disk, or held.
  void keep(std::unique_lock<std::mutex>& lock, request r) {
    if (spool_) {
      lock.unlock();
      const auto stored = spool_->store(
          {r.signal, target_of(r.signal).protocol, static_cast<std::uint32_t>(r.records), std::string(r.body.view())});
      lock.lock();
      if (stored && *stored == spool::outcome::stored) {
        spool_full_ = false;
        forget(r);
        return;
      }
      spool_full_ = true;
      ++s_->errors;
      say("spool", stored ? "the spool \"" + s_->config.spool + "\" is full; records wait in memory"
                          : stored.error().message + "; records wait in memory");
    }
    held_ = std::move(r);
  }

  // One request from the disk; whether there was one.
  bool replay(std::unique_lock<std::mutex>& lock) {
    lock.unlock();
    const std::uint64_t unreadable = spool_->unreadable;
    std::optional<spooled> one = spool_->take_oldest();
    lock.lock();
    if (spool_->unreadable != unreadable) {
      ++s_->errors;
      say("unreadable", "a file in the spool \"" + s_->config.spool + "\" was damaged and has been removed");
    }
    if (!one) {  // other processes are sending what there is
      replay_after_ = clock::now() + std::chrono::seconds(1);
      return false;
    }
    // gRPC and HTTP carry the same bytes; JSON's are others.
    if ((target_of(one->signal).protocol == protocol::http_json) != (one->protocol == protocol::http_json)) {
      say("protocol", "the spool \"" + s_->config.spool +
                          "\" holds requests in another encoding; they wait until that is used again");
      spool_->put_back();
      replay_after_ = clock::now() + std::chrono::minutes(1);
      return false;
    }
    const answer a = send(lock, one->signal, one->body, one->records);
    if (a.what == answer::kind::retry) {
      spool_->put_back();
    } else {
      spool_->done();
      spool_full_ = false;
    }
    return true;
  }

  // One line a minute of each kind, however often it happens.
  void say(const std::string& kind, const std::string& what) {
    clock::time_point& next = said_[kind];
    if (next != clock::time_point{} && clock::now() < next) return;
    next = clock::now() + std::chrono::minutes(1);
    std::string line = "OTLP: ";
    detail::append_safe_text(line, what + ".");  // parts of it come from the receiver
    detail::complain(line);
  }

  std::shared_ptr<state> s_;
  transport transport_;
  std::optional<spool> spool_;
  bool spool_full_ = false;
  bool replay_next_ = true;
  std::optional<request> held_;
  clock::time_point not_before_{};    // the receiver isn't asked before
  clock::time_point replay_after_{};  // nor the spool
  clock::time_point next_metrics_{};
  unsigned failures_ = 0;
  bool told_to_wait_ = false;
  std::uint64_t began_flush_ = 0;
  detail::sink_thread_time taken_;
  std::map<std::string, clock::time_point> said_;
  std::mt19937 random_;
};

namespace {

// This process's exporters that encrypt.
struct encrypting {
  const pid_t process = ::getpid();
  std::mutex mutex;
  std::vector<exporter*> all;
};
// Never destroyed: used until the very end. The child of a fork gets its own, because its parent's may be locked by a
// thread that isn't there.
encrypting& encrypting_exporters() {
  static constinit std::atomic<encrypting*> now{nullptr};
  encrypting* e = now.load();
  while (e == nullptr || e->process != ::getpid()) {
    auto fresh = std::make_unique<encrypting>();
    if (now.compare_exchange_strong(e, fresh.get())) e = fresh.release();
  }
  return *e;
}

}  // namespace

exporter::exporter(settings s, const named_values& resource) : state_(std::make_shared<state>()) {
  state_->config = std::move(s);
  set_resource(resource);
  if (state_->config.encrypts()) {
    encrypting& e = encrypting_exporters();
    const std::lock_guard lock(e.mutex);
    e.all.push_back(this);
  }
  constexpr auto metrics = static_cast<std::size_t>(signal_kind::metrics);
  state_->resources[metrics] =
      std::make_shared<std::string>(encode_resource(encoding_of(state_->config.targets[metrics]), resource));
}

void exporter::set_resource(const named_values& resource) {
  const std::lock_guard lock(state_->mutex);
  for (const signal_kind k : {signal_kind::traces, signal_kind::logs}) {
    const auto i = static_cast<std::size_t>(k);
    state_->resources[i] =
        std::make_shared<std::string>(encode_resource(encoding_of(state_->config.targets[i]), resource));
  }
}

void exporter::start() {
  // The program's signals are the program's business.
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  thread_ = std::thread([s = state_] {
    try {
      worker(s).run();
    } catch (const std::exception& e) {
      detail::complain("OTLP: the sending thread ends: " + std::string(e.what()) + ". What waits is not sent.");
      const std::lock_guard lock(s->mutex);
      s->sending = nullptr;
      s->stopped = true;
      s->changed.notify_all();
    }
  });
  ::pthread_setname_np(thread_.native_handle(), "telltale-otlp");
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

exporter::~exporter() {
  {
    encrypting& e = encrypting_exporters();
    const std::lock_guard lock(e.mutex);
    std::erase(e.all, this);
  }
  stop(std::chrono::seconds(1));
}

// Lets the thread finish, then interrupts it. False where it hangs all the same: it is left behind.
bool exporter::stop(std::chrono::milliseconds patience) {
  bool finished = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    if (!thread_.joinable()) return true;
    finished = state_->changed.wait_for(lock, patience, [&] { return state_->stopped; });
    if (!finished && state_->sending != nullptr) {
      state_->sending->interrupt();
      finished = state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->stopped; });
    }
  }
  if (finished) {
    thread_.join();
  } else {
    thread_.detach();  // it holds its state alive
  }
  return finished;
}

void exporter::end_encrypted(std::chrono::milliseconds patience) {
  encrypting& e = encrypting_exporters();
  const std::lock_guard lock(e.mutex);
  for (exporter* one : e.all) one->stop(patience);
}

void exporter::submit(signal_kind k, chunk c) {
  if (c.records == 0) return;
  const auto i = static_cast<std::size_t>(k);
  std::unique_lock lock(state_->mutex);
  if (!state_->stop && !thread_.joinable()) start();
  const std::size_t bytes = c.bytes.size();
  const std::size_t cap = state_->config.queue.pending;
  if (state_->config.queue.overflow == overflow_policy::block) {
    state_->changed.wait(lock, [&] { return state_->pending_bytes < cap || state_->stop || state_->stopped; });
  }
  const bool fits = state_->pending_bytes == 0 || state_->pending_bytes + bytes <= cap ||
                    state_->config.queue.overflow == overflow_policy::block;
  if (!fits || state_->stop || state_->stopped) {
    state_->left_some = state_->left_some || state_->stop;
    state_->dropped += c.records;
    state_->untold += c.records;
    return;
  }
  waiting& w = state_->pending[i];
  if (w.chunks.empty()) w.since = clock::now();
  w.bytes += bytes;
  w.records += c.records;
  w.chunks.push_back({std::move(c), state_->resources[i], state_->submitted++});
  state_->pending_bytes += bytes;
  state_->changed.notify_all();
}

bool exporter::flush(clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  if (state_->stop) return !state_->left_some;
  if (!thread_.joinable()) {
    if (!state_->config.targets[static_cast<std::size_t>(signal_kind::metrics)].on) return true;
    start();
  }
  const std::uint64_t ticket = ++state_->flushes_asked;
  state_->changed.notify_all();
  state_->changed.wait_until(lock, deadline, [&] { return state_->flushes_done >= ticket || state_->stopped; });
  return state_->flushes_done >= ticket;
}

sink::delivery exporter::delivered() const {
  const std::lock_guard lock(state_->mutex);
  std::uint64_t out = std::min(state_->submitted, state_->in_hand);
  for (const waiting& w : state_->pending) {
    if (!w.chunks.empty()) out = std::min(out, w.chunks.front().number);
  }
  return {state_->submitted, out};
}
std::uint64_t exporter::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}
std::uint64_t exporter::errors() const {
  const std::lock_guard lock(state_->mutex);
  return state_->errors;
}
std::uint64_t exporter::retries() const {
  const std::lock_guard lock(state_->mutex);
  return state_->retries;
}
std::uint64_t exporter::spooled_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->spooled;
}
std::uint64_t exporter::take_untold_drops() {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->untold, 0);
}

}  // namespace telltale::otlp
