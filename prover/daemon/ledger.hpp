// The memory ledger: one budget for keys, tables, witnesses, working sets and requests. What is not reserved here is
// not allocated. Knows neither threads nor clocks; the service calls it under its lock.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace prover::daemon {

class ledger {
 public:
  explicit ledger(std::size_t budget) : budget_(budget) {}
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;

  // Some bytes in somebody's name; given back when it goes. The ledger must outlive it.
  class reservation {
   public:
    reservation() = default;
    reservation(reservation&& other) noexcept;
    reservation& operator=(reservation&& other) noexcept;
    ~reservation() { release(); }

    std::size_t size() const noexcept { return size_; }
    explicit operator bool() const noexcept { return ledger_ != nullptr; }
    // To another size; false, and unchanged, where there is no room for it.
    bool resize(std::size_t bytes);
    void release() noexcept;

   private:
    friend class ledger;
    reservation(ledger* l, std::string owner, std::size_t bytes) : ledger_(l), owner_(std::move(owner)), size_(bytes) {}
    ledger* ledger_ = nullptr;
    std::string owner_;
    std::size_t size_ = 0;
  };

  // Nothing where it doesn't fit now.
  std::optional<reservation> reserve(std::string owner, std::size_t bytes);

  std::size_t budget() const noexcept { return budget_; }
  std::size_t reserved() const noexcept { return reserved_; }
  std::size_t free() const noexcept { return budget_ - reserved_; }
  std::size_t high_water() const noexcept { return high_water_; }
  const std::map<std::string, std::size_t>& by_owner() const noexcept { return by_owner_; }

 private:
  void add(const std::string& owner, std::size_t bytes);
  void remove(const std::string& owner, std::size_t bytes) noexcept;

  std::size_t budget_;
  std::size_t reserved_ = 0;
  std::size_t high_water_ = 0;
  std::map<std::string, std::size_t> by_owner_;
};

}  // namespace prover::daemon
