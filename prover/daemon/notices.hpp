// Who waits for jobs or watches them, and the thread that tells them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "prover/daemon/service.hpp"

namespace prover::daemon {

// Thread-safe. Its own lock is held while nothing else is called.
class notices {
 public:
  using subscription = service::subscription;
  using await_function = std::function<void(const awaited&)>;
  using watch_function = std::function<void(const progress&)>;
  // How a job stands now; nothing where it is gone.
  using view_function = std::function<std::optional<job_view>(const job_id&)>;

  explicit notices(view_function view) : view_(std::move(view)) {}
  ~notices() { stop(); }

  void start();
  // Tells all that still wait that the daemon stops, and ends.
  void stop();

  // A wait whose answer comes with finished(), or at `until`.
  // 0 where it was told at once, because nobody tells any more.
  subscription await(const job_id& id, std::optional<steady_time> until, await_function f);
  // An answer that is known already.
  subscription tell(awaited a, await_function f);
  subscription watch(const job_id& id, watch_function f);
  void unsubscribe(subscription s);

  void finished(const job_view& last, const std::shared_ptr<const job_result>& result);
  // Something changed: watchers look again.
  void changed();

 private:
  struct waiting {
    job_id id;
    std::optional<steady_time> until;
    await_function tell;
  };
  struct watching {
    job_id id;
    watch_function tell;
    std::optional<job_view> shown;
  };
  struct delivery {
    subscription whose;
    std::function<void()> call;
  };

  void run();
  void queue_timeouts(steady_time now);
  void show_changes(std::unique_lock<std::mutex>& lock);
  void deliver(std::unique_lock<std::mutex>& lock);

  view_function view_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  std::map<subscription, waiting> waits_;
  std::multimap<job_id, subscription> waits_of_;
  std::map<subscription, watching> watches_;
  std::deque<delivery> deliveries_;
  subscription next_ = 1;
  subscription running_ = 0;
  bool changed_ = false;
  bool stopping_ = false;
  bool ended_ = false;  // the thread is gone: whoever asks is told at once
  std::thread thread_;
};

}  // namespace prover::daemon
