// The writing thread.
#include "output.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "../descriptors.hpp"
#include "../processor_time.hpp"

namespace telltale::detail {

using clock = std::chrono::steady_clock;

output::output(std::shared_ptr<line_target> target, overflow_policy policy, std::size_t max_pending)
    : state_(std::make_shared<state>()) {
  state_->target = std::move(target);
  state_->policy = policy;
  state_->max_pending = max_pending;
}

// With the first lines, not before: the child of a fork that only executes another program gets no thread.
void output::start() {
  // The program's signals are the program's business.
  sigset_t all;
  sigset_t former;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &former);
  thread_ = std::thread([s = state_] { run(s); });
  ::pthread_setname_np(thread_.native_handle(), "telltale-out");
  ::pthread_sigmask(SIG_SETMASK, &former, nullptr);
}

output::~output() {
  if (!thread_.joinable()) return;
  bool finished = false;
  {
    std::unique_lock lock(state_->mutex);
    state_->stop = true;
    state_->changed.notify_all();
    finished = state_->changed.wait_for(lock, std::chrono::milliseconds(500), [&] { return state_->stopped; });
  }
  if (finished) {
    thread_.join();
  } else {
    thread_.detach();  // hangs in a write; it holds its state alive
  }
}

void output::submit(buffer& lines, std::uint64_t records) {
  if (lines.empty()) return;
  if (!thread_.joinable()) start();
  const std::size_t bytes = lines.size();
  std::unique_lock lock(state_->mutex);
  if (state_->policy == overflow_policy::block) {
    state_->changed.wait(lock, [&] { return state_->pending_bytes < state_->max_pending || state_->stop; });
  } else if (state_->pending_bytes != 0 && state_->pending_bytes + bytes > state_->max_pending) {
    state_->dropped += records;
    state_->untold += records;
    lines.clear();
    return;
  }
  ++state_->delivered.taken;
  state_->pending_bytes += bytes;
  state_->pending.push_back({std::exchange(lines, std::exchange(state_->spare, buffer{})), records});
  lines.clear();
  state_->changed.notify_all();
}

bool output::flush(clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  return state_->changed.wait_until(lock, deadline, [&] { return state_->pending_bytes == 0; });
}

sink::delivery output::delivered() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->delivered;
}

std::uint64_t output::dropped() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

std::uint64_t output::errors() const noexcept {
  const std::lock_guard lock(state_->mutex);
  return state_->errors;
}

std::uint64_t output::take_untold_drops() noexcept {
  const std::lock_guard lock(state_->mutex);
  return std::exchange(state_->untold, 0);
}

// Records that are lost with the chunk's last lines. Where a line isn't a record (a timeline, a notice of losses), it
// is not known which went out, and all count.
std::uint64_t output::chunk::lost_with(std::string_view unwritten) const noexcept {
  const auto count = [](std::string_view text) {
    return static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n'));
  };
  return count(lines.view()) == records ? count(unwritten) : records;
}

void output::run(const std::shared_ptr<state>& s) {
  clock::time_point complain_after{};
  sink_thread_time taken;
  std::unique_lock lock(s->mutex);
  for (;;) {
    s->changed.wait(lock, [&] { return s->stop || !s->pending.empty(); });
    if (s->pending.empty()) break;
    chunk c = std::move(s->pending.front());
    s->pending.pop_front();
    lock.unlock();
    std::string_view unwritten = c.lines.view();
    const result<void> written = s->target->take(unwritten);
    if (!written && clock::now() >= complain_after) {  // one line, not one per record
      complain(written.error().message);
      complain_after = clock::now() + std::chrono::minutes(1);
    }
    taken.tell();
    lock.lock();
    if (!written) {
      ++s->errors;
      const std::uint64_t lost = c.lost_with(unwritten);
      s->dropped += lost;
      s->untold += lost;
    }
    ++s->delivered.out;
    s->pending_bytes -= c.lines.size();
    c.lines.clear();
    if (s->spare.capacity() < c.lines.capacity()) s->spare = std::move(c.lines);
    s->changed.notify_all();
  }
  s->stopped = true;
  s->changed.notify_all();
}

}  // namespace telltale::detail
