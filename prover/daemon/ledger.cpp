#include "prover/daemon/ledger.hpp"

#include <algorithm>
#include <utility>

namespace prover::daemon {

ledger::reservation::reservation(reservation&& other) noexcept
    : ledger_(std::exchange(other.ledger_, nullptr)),
      owner_(std::move(other.owner_)),
      size_(std::exchange(other.size_, 0)) {}

ledger::reservation& ledger::reservation::operator=(reservation&& other) noexcept {
  if (this != &other) {
    release();
    ledger_ = std::exchange(other.ledger_, nullptr);
    owner_ = std::move(other.owner_);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

bool ledger::reservation::resize(std::size_t bytes) {
  if (bytes > size_) {
    if (bytes - size_ > ledger_->free()) return false;
    ledger_->add(owner_, bytes - size_);
  } else {
    ledger_->remove(owner_, size_ - bytes);
  }
  size_ = bytes;
  return true;
}

void ledger::reservation::release() noexcept {
  if (ledger_ == nullptr) return;
  ledger_->remove(owner_, size_);
  ledger_ = nullptr;
  size_ = 0;
}

std::optional<ledger::reservation> ledger::reserve(std::string owner, std::size_t bytes) {
  if (bytes > free()) return std::nullopt;
  add(owner, bytes);
  return reservation(this, std::move(owner), bytes);
}

void ledger::add(const std::string& owner, std::size_t bytes) {
  if (bytes == 0) return;
  by_owner_[owner] += bytes;
  reserved_ += bytes;
  high_water_ = std::max(high_water_, reserved_);
}

void ledger::remove(const std::string& owner, std::size_t bytes) noexcept {
  if (bytes == 0) return;
  const auto found = by_owner_.find(owner);
  found->second -= bytes;
  reserved_ -= bytes;
  if (found->second == 0) by_owner_.erase(found);
}

}  // namespace prover::daemon
