// A drain that stands still while a burst is measured: a sink that holds the drain's thread at the end of a batch.
#pragma once

#include <condition_variable>
#include <mutex>
#include <telltale/core/sink.hpp>
#include <telltale/core/telltale.hpp>

namespace telltale::bench {

class parked_drain final : public sink {
 public:
  void on_batch_end() override {
    std::unique_lock lock(mutex_);
    if (!wanted_) return;
    parked_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !wanted_; });
    parked_ = false;
  }

  // Returns when the drain stands still. Somebody must record something meanwhile, so this does.
  void park() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = true;
    }
    TELLTALE_INFO("park");
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return parked_; });
  }
  // Lets it go on, and waits until it has read everything.
  void release() {
    {
      const std::lock_guard lock(mutex_);
      wanted_ = false;
      changed_.notify_all();
    }
    telltale::flush();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool wanted_ = false;
  bool parked_ = false;
};

}  // namespace telltale::bench
