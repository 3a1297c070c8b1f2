// Counters: numbers that only grow, incremented from any thread without contention.
//
//   inline constinit telltale::counter points{"prover.msm.points", "points that went into an MSM"};
//   points.add(n);
//
// A thread adds to a cell of its own (a load and a store, no locked instruction); reading adds the cells up.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/layout.hpp>
#include <vector>

namespace telltale {

// Name and description must live for ever (literals). An object of static storage duration, never destroyed.
class counter {
 public:
  constexpr counter(std::string_view name, std::string_view description) noexcept
      : name_(name), description_(description) {}
  counter(const counter&) = delete;
  counter& operator=(const counter&) = delete;

  void add(std::uint64_t n = 1) noexcept {
    const std::uint32_t cell = cell_.load(std::memory_order_relaxed);
    detail::thread_block* block = detail::tls.block;
    if (cell != 0 && block != nullptr) [[likely]] {
      std::atomic<std::uint64_t>& mine = block->counts[cell];
      mine.store(mine.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    } else {
      add_slow(n);
    }
  }

  // The sum over all threads, dead ones included. Never smaller than a sum read before.
  TELLTALE_EXPORT std::uint64_t value() const noexcept;

  std::string_view name() const noexcept { return name_; }
  std::string_view description() const noexcept { return description_; }

 private:
  friend struct counter_list;
  TELLTALE_EXPORT void add_slow(std::uint64_t n) noexcept;

  std::string_view name_;
  std::string_view description_;
  std::atomic<std::uint32_t> cell_{0};    // 0: not listed yet, or no cell left
  std::atomic<std::uint64_t> shared_{0};  // of threads without a block, and of counters without a cell
  bool listed_ = false;
  counter* next_ = nullptr;
};

struct counter_value {
  std::string name;
  std::string description;
  std::uint64_t value;
};
// Every counter that was ever incremented, in order of name.
TELLTALE_EXPORT std::vector<counter_value> counters();

}  // namespace telltale
