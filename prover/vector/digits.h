// Scalars to signed digits. A scalar s above r / 2 becomes -(r - s), so that small negative numbers are as cheap as
// small positive ones; half a window is added to its absolute value in every window but the last, and then each digit
// is cut out alone: bits minus half a window. Scalars are ordered so that the longest come first; window w then
// concerns a prefix only, and keeps the digits of that prefix as an array of its own.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "executor.h"
#include "memory.h"
#include "msm.h"

namespace prover::vector {

inline constexpr unsigned kWidestWindow = 18;  // choose_width may give 2 to this

// How many scalars have each length in bits (after the sign is taken off); zeros are not counted.
struct length_histogram {
  std::array<std::uint32_t, 257> count{};
};

class recoded_scalars {
 public:
  // `order` is r, scalars are plain; record i belongs to scalar origin[i]. Throws std::invalid_argument for a
  // scalar that is not below r. choose_width gets the lengths and says how wide the windows are to be.
  template <class ChooseWidth>
  recoded_scalars(const std::array<std::uint64_t, 4>& order, std::span<const std::uint64_t> scalars,
                  std::span<const std::uint32_t> origin, const executor& threads, ChooseWidth choose_width)
      : order_(order) {
    measure(scalars, origin, threads);
    width_ = choose_width(lengths_);
    distribute(scalars, origin, threads);
  }

  unsigned width() const { return width_; }
  unsigned windows() const { return windows_; }  // that any scalar needs
  std::size_t count(unsigned window) const { return prefix_[window]; }
  std::uint32_t record(std::size_t i) const { return record_[i]; }

  // The digits' absolute values, and in bit 31 their signs.
  std::span<const std::uint32_t> digits(unsigned window) const { return {&digits_[begin_[window]], prefix_[window]}; }

 private:
  void measure(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin, const executor& threads);
  void distribute(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin,
                  const executor& threads);
  unsigned windows_needed(unsigned length) const;

  std::array<std::uint64_t, 4> order_;
  length_histogram lengths_;
  std::vector<length_histogram> range_lengths_;  // of equal ranges of the records
  unsigned width_ = 0, windows_ = 0, last_window_ = 0;
  std::vector<std::size_t> prefix_, begin_;  // of each window: how many scalars, and where its digits begin
  buffer<std::uint32_t> digits_, record_;
};

}  // namespace prover::vector
