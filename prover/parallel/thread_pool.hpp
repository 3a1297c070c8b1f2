// A small work-sharing pool. for_each() splits its range among the pool's threads and the caller, who works too and
// returns when all is done; so nested and concurrent calls need no further threads and can't deadlock.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <list>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace prover {

class thread_pool {
 public:
  // `threads` counts the caller: a pool of one starts no thread. Zero means one per processor that this process may
  // use.
  explicit thread_pool(unsigned threads = 0);
  ~thread_pool();
  thread_pool(const thread_pool&) = delete;
  thread_pool& operator=(const thread_pool&) = delete;

  unsigned threads() const noexcept { return static_cast<unsigned>(workers_.size()) + 1; }

  // Calls f(i) once for every i < count, in any order, from any of the threads. The first exception that an f throws
  // is thrown here, after the others have ended. Safe to call from many threads and from inside f.
  template <class F>
  void for_each(std::size_t count, F&& f) {
    using function = std::remove_reference_t<F>;
    job work;
    work.count = count;
    work.context = &f;
    work.call = [](const void* context, std::size_t i) {
      (*const_cast<function*>(static_cast<const function*>(context)))(i);
    };
    run(work);
  }

  // Calls f(begin, end) for ranges that cover [0, count), none longer than `grain`.
  template <class F>
  void for_ranges(std::size_t count, std::size_t grain, F&& f) {
    for_each((count + grain - 1) / grain, [&](std::size_t i) { f(i * grain, std::min(count, (i + 1) * grain)); });
  }

 private:
  struct job {
    std::size_t count = 0;
    const void* context = nullptr;
    void (*call)(const void*, std::size_t) = nullptr;
    std::atomic<std::size_t> next{0};
    std::size_t helpers = 0;     // workers inside this job; guarded by mutex_
    std::exception_ptr failure;  // guarded by mutex_
  };

  void run(job& work);
  void work_on(job& work);
  void worker_loop();

  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable helper_left_;
  std::list<job*> jobs_;  // those that may still have unclaimed indices; guarded by mutex_
  bool stopping_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace prover
