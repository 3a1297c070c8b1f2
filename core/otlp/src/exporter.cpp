// The sending thread and what it decides.
#include "exporter.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

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
      const std::uint64_t asked = s_->flushes_asked;
      const bool flushing = asked != s_->flushes_done || s_->stop;
      const clock::time_point now = clock::now();
      if (flushing && asked != began_flush_) {  // whoever waits gets a try at once
        began_flush_ = asked;
        if (!told_to_wait_) not_before_ = now;
        next_metrics_ = now;
      }
      if (now >= next_metrics_) {
        next_metrics_ = now + s_->config.metric_interval;
        lock.unlock();
        std::optional<request> m = metrics();
        lock.lock();
        if (m) {
          s_->pending_bytes += m->charged;
          handle(lock, std::move(*m));
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
        handle(lock, std::move(r));
        continue;
      }
      // While the receiver doesn't answer, only the spool takes more.
      const bool may_take = now >= not_before_ || (spool_ && !spool_full_);
      if (const auto due = may_take && !held_ ? due_signal(now, flushing) : std::nullopt) {
        request r = take(*due);
        s_->changed.notify_all();  // whoever waits in submit()
        if (now >= not_before_) {
          handle(lock, std::move(r));
        } else {
          keep(lock, std::move(r));
        }
        continue;
      }
      if (flushing && s_->pending_bytes == 0) {
        s_->flushes_done = asked;
        s_->changed.notify_all();
      }
      if (s_->stop && (s_->pending_bytes == 0 || now < not_before_)) break;
      s_->changed.wait_until(lock, wake_at(now));
    }
    for (waiting& w : s_->pending) {
      count_dropped(w.records);
      w = {};
    }
    if (held_) count_dropped(held_->records);
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

  clock::time_point wake_at(clock::time_point now) const {
    clock::time_point at = next_metrics_;
    for (const waiting& w : s_->pending) {
      if (!w.chunks.empty()) at = std::min(at, std::max(w.since + s_->config.delay, not_before_));
    }
    if (held_) at = std::min(at, not_before_);
    if (spool_ && !spool_->empty()) at = std::min(at, std::max(not_before_, replay_after_));
    return std::max(at, now + std::chrono::milliseconds(1));
  }

  // The next request of a signal: chunks up to the limits of a batch, at least one.
  request take(signal_kind k) {
    waiting& w = s_->pending[static_cast<std::size_t>(k)];
    std::vector<chunk> chunks;
    request r;
    r.signal = k;
    std::size_t bytes = 0;
    while (!w.chunks.empty() &&
           (chunks.empty() || (bytes + w.chunks.front().bytes.size() <= s_->config.batch_bytes &&
                               r.records + w.chunks.front().records <= s_->config.batch_records))) {
      bytes += w.chunks.front().bytes.size();
      r.records += w.chunks.front().records;
      chunks.push_back(std::move(w.chunks.front()));
      w.chunks.pop_front();
    }
    w.bytes -= bytes;
    w.records -= r.records;
    w.since = clock::now();
    r.charged = bytes;
    r.body = make_request(encoding_of(target_of(k)), k, s_->resources[static_cast<std::size_t>(k)], chunks);
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
                          s_->resources[static_cast<std::size_t>(signal_kind::metrics)], {&c, 1});
    return r;
  }

  void handle(std::unique_lock<std::mutex>& lock, request r) {
    const answer a = send(lock, r.signal, r.body.view(), r.records);
    if (a.what == answer::kind::retry) {
      keep(lock, std::move(r));
    } else {
      s_->pending_bytes -= r.charged;
      s_->changed.notify_all();
    }
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
        say("refused " + a.message, url + " refuses what is sent: " + a.message +
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
        s_->pending_bytes -= r.charged;
        s_->changed.notify_all();
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
    std::fprintf(stderr, "telltale: OTLP: %s.\n", what.c_str());
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
  std::map<std::string, clock::time_point> said_;
  std::mt19937 random_;
};

exporter::exporter(settings s, const named_values& resource) : state_(std::make_shared<state>()) {
  for (std::size_t i = 0; i < signals; ++i) {
    state_->resources[i] = encode_resource(encoding_of(s.targets[i]), resource);
  }
  state_->config = std::move(s);
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
      std::fprintf(stderr, "telltale: OTLP: the sending thread ends: %s.\n", e.what());
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
  if (!thread_.joinable()) return;
  bool finished = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    finished = state_->changed.wait_for(lock, std::chrono::seconds(1), [&] { return state_->stopped; });
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
}

void exporter::submit(signal_kind k, chunk c) {
  if (c.records == 0) return;
  const auto i = static_cast<std::size_t>(k);
  std::unique_lock lock(state_->mutex);
  if (!thread_.joinable()) start();
  const std::size_t bytes = c.bytes.size();
  const std::size_t cap = state_->config.queue.pending;
  if (state_->config.queue.overflow == overflow_policy::block) {
    state_->changed.wait(lock, [&] { return state_->pending_bytes < cap || state_->stopped; });
  }
  const bool fits = state_->pending_bytes == 0 || state_->pending_bytes + bytes <= cap ||
                    state_->config.queue.overflow == overflow_policy::block;
  if (!fits || state_->stopped) {
    state_->dropped += c.records;
    state_->untold += c.records;
    return;
  }
  waiting& w = state_->pending[i];
  if (w.chunks.empty()) w.since = clock::now();
  w.bytes += bytes;
  w.records += c.records;
  w.chunks.push_back(std::move(c));
  state_->pending_bytes += bytes;
  state_->changed.notify_all();
}

bool exporter::flush(clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  if (!thread_.joinable()) {
    if (!state_->config.targets[static_cast<std::size_t>(signal_kind::metrics)].on) return true;
    start();
  }
  const std::uint64_t ticket = ++state_->flushes_asked;
  state_->changed.notify_all();
  state_->changed.wait_until(lock, deadline, [&] { return state_->flushes_done >= ticket || state_->stopped; });
  return state_->flushes_done >= ticket;
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
