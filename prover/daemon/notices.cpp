#include "prover/daemon/notices.hpp"

#include <algorithm>
#include <telltale/core/telltale.hpp>
#include <tuple>
#include <utility>

TELLTALE_MODULE("prover::daemon");

namespace prover::daemon {

using namespace telltale::literals;

namespace {

// What a watcher is told of. Ages change all the time and don't count.
bool same_step(const job_view& a, const job_view& b) {
  const auto step = [](const job_view& v) {
    return std::tie(v.state, v.waits_for, v.phase, v.slow, v.device, v.done, v.attempts, v.cancelling);
  };
  return step(a) == step(b);
}

}  // namespace

void notices::start() {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void notices::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (auto& [id, w] : waits_) {
      deliveries_.push_back(
          {id, [f = std::move(w.tell), a = awaited{awaited::answer::stopping, w.id, nullptr}] { f(a); }});
    }
    waits_.clear();
    waits_of_.clear();
    watches_.clear();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

notices::subscription notices::await(const job_id& id, std::optional<steady_time> until, await_function f) {
  std::unique_lock lock(mutex_);
  if (ended_) {
    lock.unlock();
    f({awaited::answer::stopping, id, nullptr});
    return 0;
  }
  const subscription s = next_++;
  if (stopping_) {
    deliveries_.push_back({s, [f = std::move(f), a = awaited{awaited::answer::stopping, id, nullptr}] { f(a); }});
  } else {
    waits_.emplace(s, waiting{id, until, std::move(f)});
    waits_of_.emplace(id, s);
  }
  wake_.notify_all();
  return s;
}

notices::subscription notices::tell(awaited a, await_function f) {
  std::unique_lock lock(mutex_);
  if (ended_) {
    lock.unlock();
    f(a);
    return 0;
  }
  const subscription s = next_++;
  deliveries_.push_back({s, [f = std::move(f), a = std::move(a)] { f(a); }});
  wake_.notify_all();
  return s;
}

notices::subscription notices::watch(const job_id& id, watch_function f) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return 0;
  const subscription s = next_++;
  watches_.emplace(s, watching{id, std::move(f), {}});
  changed_ = true;
  wake_.notify_all();
  return s;
}

void notices::unsubscribe(subscription s) {
  if (s == 0) return;
  std::unique_lock lock(mutex_);
  if (const auto found = waits_.find(s); found != waits_.end()) {
    const auto [first, last] = waits_of_.equal_range(found->second.id);
    waits_of_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == s; }));
    waits_.erase(found);
  }
  watches_.erase(s);
  std::erase_if(deliveries_, [&](const delivery& d) { return d.whose == s; });
  if (std::this_thread::get_id() == thread_.get_id()) return;
  idle_.wait(lock, [&] { return running_ != s; });
}

void notices::finished(const job_view& last, const std::shared_ptr<const job_result>& result) {
  {
    const std::lock_guard lock(mutex_);
    const auto [first, end] = waits_of_.equal_range(last.id);
    for (auto i = first; i != end; ++i) {
      const auto w = waits_.find(i->second);
      deliveries_.push_back({w->first, [f = std::move(w->second.tell),
                                        a = awaited{awaited::answer::finished, last.id, result}] { f(a); }});
      waits_.erase(w);
    }
    waits_of_.erase(first, end);
    for (auto i = watches_.begin(); i != watches_.end();) {
      if (i->second.id != last.id) {
        ++i;
        continue;
      }
      deliveries_.push_back({i->first, [f = std::move(i->second.tell), p = progress{last, true}] { f(p); }});
      i = watches_.erase(i);
    }
  }
  wake_.notify_all();
}

void notices::changed() {
  {
    const std::lock_guard lock(mutex_);
    if (watches_.empty()) return;
    changed_ = true;
  }
  wake_.notify_all();
}

void notices::queue_timeouts(steady_time now) {
  for (auto i = waits_.begin(); i != waits_.end();) {
    if (!i->second.until || *i->second.until > now) {
      ++i;
      continue;
    }
    const auto [first, last] = waits_of_.equal_range(i->second.id);
    waits_of_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == i->first; }));
    deliveries_.push_back({i->first, [f = std::move(i->second.tell),
                                      a = awaited{awaited::answer::timed_out, i->second.id, nullptr}] { f(a); }});
    i = waits_.erase(i);
  }
}

// The views are the service's: they are asked for without our lock.
void notices::show_changes(std::unique_lock<std::mutex>& lock) {
  changed_ = false;
  std::vector<std::pair<subscription, job_id>> all;
  for (const auto& [s, w] : watches_) all.emplace_back(s, w.id);
  lock.unlock();
  std::vector<std::pair<subscription, std::optional<job_view>>> views;
  for (const auto& [s, id] : all) views.emplace_back(s, view_(id));
  lock.lock();
  for (auto& [s, v] : views) {
    const auto found = watches_.find(s);
    // One that is gone from the service is told by finished().
    if (found == watches_.end() || !v) continue;
    watching& w = found->second;
    if (w.shown && same_step(*w.shown, *v)) continue;
    w.shown = *v;
    deliveries_.push_back({s, [f = w.tell, p = progress{std::move(*v), false}] { f(p); }});
  }
}

void notices::deliver(std::unique_lock<std::mutex>& lock) {
  while (!deliveries_.empty()) {
    delivery d = std::move(deliveries_.front());
    deliveries_.pop_front();
    running_ = d.whose;
    lock.unlock();
    try {
      d.call();
    } catch (const std::exception& e) {
      TELLTALE_ERROR("a callback threw, which it must not: {what}", "what"_a = telltale::text{e.what()});
    }
    d.call = nullptr;
    lock.lock();
    running_ = 0;
    idle_.notify_all();
  }
}

void notices::run() {
  telltale::name_thread("prover.notices");
  std::unique_lock lock(mutex_);
  for (;;) {
    queue_timeouts(std::chrono::steady_clock::now());
    if (changed_) show_changes(lock);
    deliver(lock);
    if (changed_ || !deliveries_.empty()) continue;
    if (stopping_) return;
    auto until = steady_time::max();
    for (const auto& [s, w] : waits_) until = std::min(until, w.until.value_or(steady_time::max()));
    if (until == steady_time::max()) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock, until);
    }
  }
}

}  // namespace prover::daemon
