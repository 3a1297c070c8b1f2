// Who watches spans as they arrive: a live tail. Every function may be called from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "hub/store/store.hpp"

namespace telltale::hub {

class listeners {
 public:
  std::shared_ptr<void> add(store::listener f);
  void tell(const batch& b);

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<store::listener>> all_;
  std::atomic<bool> any_{false};
};

}  // namespace telltale::hub
