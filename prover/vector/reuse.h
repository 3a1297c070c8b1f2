// Working memory handed from task to task, so that as many pieces exist as tasks ever run at once.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace prover::vector {

// Thread-safe. T must be usable again after a task is done with it.
template <class T>
class reuse_pool {
 public:
  explicit reuse_pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  // A piece that goes back to the pool at the end of its life.
  class loan {
   public:
    loan(reuse_pool& pool, std::unique_ptr<T> piece) : pool_(pool), piece_(std::move(piece)) {}
    loan(const loan&) = delete;
    loan& operator=(const loan&) = delete;
    ~loan() {
      const std::lock_guard lock(pool_.mutex_);
      pool_.free_.push_back(std::move(piece_));
    }
    T& operator*() const { return *piece_; }
    T* operator->() const { return piece_.get(); }

   private:
    reuse_pool& pool_;
    std::unique_ptr<T> piece_;
  };

  loan borrow() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        auto piece = std::move(free_.back());
        free_.pop_back();
        return loan(*this, std::move(piece));
      }
      free_.reserve(++pieces_);  // so that giving back never allocates
    }
    return loan(*this, make_());
  }

 private:
  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
  std::size_t pieces_ = 0;
};

}  // namespace prover::vector
