// Scalars to signed digits. A scalar s above r / 2 becomes -(r - s), so that small negative numbers are as cheap as small
// positive ones; its absolute value is stored with half a window added in every window but the last, and from then on
// each digit can be cut out alone: bits minus half a window. Scalars are ordered so that the longest come first; window w
// then concerns a prefix only.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "executor.h"
#include "memory.h"
#include "msm.h"

namespace prover::vector {

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

  // The digit's absolute value, and in bit 31 its sign; i < count(window).
  std::uint32_t digit(std::size_t i, unsigned window) const {
    const std::uint64_t* s = &value_[4 * i];
    const unsigned bit = window * width_, word = bit / 64, shift = bit % 64;
    std::uint64_t bits = s[word] >> shift;
    if (shift + width_ > 64 && word < 3) bits |= s[word + 1] << (64 - shift);
    const bool last = window == last_window_;
    bits &= last ? last_mask_ : mask_;
    const std::int64_t d = static_cast<std::int64_t>(bits) - (last ? 0 : static_cast<std::int64_t>(half_));
    const std::uint64_t negative = static_cast<std::uint64_t>(d) >> 63;
    const std::uint64_t magnitude = (static_cast<std::uint64_t>(d) ^ (0 - negative)) + negative;
    return static_cast<std::uint32_t>(magnitude | (negative ^ (s[3] >> 63)) << 31);
  }

 private:
  void measure(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin, const executor& threads);
  void distribute(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin,
                  const executor& threads);
  unsigned windows_needed(unsigned length) const;

  std::array<std::uint64_t, 4> order_;
  length_histogram lengths_;
  std::vector<length_histogram> range_lengths_;  // of equal ranges of the records
  unsigned width_ = 0, windows_ = 0, last_window_ = 0;
  std::uint64_t mask_ = 0, half_ = 0, last_mask_ = 0;
  std::vector<std::size_t> prefix_;
  buffer<std::uint64_t> value_;
  buffer<std::uint32_t> record_;
};

}  // namespace prover::vector
