// The pool's threads, and how a call waits for them.
#include "prover/parallel/thread_pool.hpp"

#include <sched.h>

namespace prover {
namespace {

unsigned usable_processors() noexcept {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

thread_pool::thread_pool(unsigned threads) {
  if (threads == 0) threads = usable_processors();
  workers_.reserve(threads - 1);
  for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { worker_loop(); });
}

thread_pool::~thread_pool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_arrived_.notify_all();
  for (auto& worker : workers_) worker.join();
}

void thread_pool::run(job& work) {
  if (workers_.empty() || work.count <= 1) {
    work_on(work);
  } else {
    std::unique_lock lock(mutex_);
    const auto place = jobs_.insert(jobs_.end(), &work);
    lock.unlock();
    work_arrived_.notify_all();
    work_on(work);
    lock.lock();
    jobs_.erase(place);  // from here no further worker can find the job, which lives on our stack
    helper_left_.wait(lock, [&] { return work.helpers == 0; });
  }
  if (work.failure) std::rethrow_exception(work.failure);
}

void thread_pool::work_on(job& work) {
  for (std::size_t i; (i = work.next.fetch_add(1, std::memory_order_relaxed)) < work.count;) {
    try {
      work.call(work.context, i);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!work.failure) work.failure = std::current_exception();
      work.next.store(work.count, std::memory_order_relaxed);
    }
  }
}

void thread_pool::worker_loop() {
  const auto has_work = [](const job* j) { return j->next.load(std::memory_order_relaxed) < j->count; };
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(), has_work);
    if (found == jobs_.end()) {
      if (stopping_) return;
      work_arrived_.wait(lock);
      continue;
    }
    job& work = **found;
    ++work.helpers;
    lock.unlock();
    work_on(work);
    lock.lock();
    if (--work.helpers == 0) helper_left_.notify_all();
  }
}

}  // namespace prover
