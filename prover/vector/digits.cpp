// Measuring, ordering and recoding the scalars of one multiplication; see digits.h.
#include "digits.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace prover::vector {
namespace {

using words = std::array<std::uint64_t, 4>;

// The borrow of a - b.
std::uint64_t subtract(words& a, const words& b) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t t = a[i] - b[i];
    const std::uint64_t next = std::uint64_t{a[i] < b[i]} | std::uint64_t{t < borrow};
    a[i] = t - borrow;
    borrow = next;
  }
  return borrow;
}

void add(words& a, const words& b) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::uint64_t t = a[i] + b[i];
    const std::uint64_t next = std::uint64_t{t < a[i]};
    a[i] = t + carry;
    carry = next | std::uint64_t{a[i] < carry};
  }
}

unsigned length_of(const words& a) {
  for (unsigned i = 4; i-- > 0;)
    if (a[i] != 0) return 64 * i + static_cast<unsigned>(std::bit_width(a[i]));
  return 0;
}

struct magnitude {
  words value;
  bool negative;
};

// The scalar at index as sign and magnitude. The sign is random: a branch on it would be mispredicted half of the time.
magnitude read(std::span<const std::uint64_t> scalars, std::size_t index, const words& order) {
  words s, complement = order;
  for (std::size_t i = 0; i < 4; ++i) s[i] = scalars[4 * index + i];
  if ((s[1] | s[2] | s[3]) == 0) return {s, false};
  if (subtract(complement, s) != 0 || (complement[0] | complement[1] | complement[2] | complement[3]) == 0)
    throw std::invalid_argument("scalar " + std::to_string(index) + " is not below the group's order");
  words difference = complement;
  const std::uint64_t negative = subtract(difference, s), mask = 0 - negative;
  for (std::size_t i = 0; i < 4; ++i) s[i] ^= (s[i] ^ complement[i]) & mask;
  return {s, negative != 0};
}

// Some scalars between being read and being cut into digits, word by word, so that a window's digits are cut out of
// all of them in one short loop.
struct block {
  static constexpr std::size_t size = 256;
  std::array<std::array<std::uint64_t, size>, 5> value;  // biased; the fifth word is zero
  std::array<std::uint32_t, size> place, needed, sign;   // where its digits go, how many it has, and bit 31
};

struct range {
  std::size_t begin, end;
};
range part(std::size_t size, std::size_t parts, std::size_t i) {
  return {size * i / parts, size * (i + 1) / parts};
}

}  // namespace

void recoded_scalars::measure(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin,
                              const executor& threads) {
  const std::size_t parts = origin.size() < 1024 ? 1 : 4 * threads.threads;
  range_lengths_.resize(parts);
  threads.run(parts, [&](std::size_t i) {
    length_histogram lengths;
    const auto [begin, end] = part(origin.size(), parts, i);
    for (std::size_t k = begin; k < end; ++k) ++lengths.count[length_of(read(scalars, origin[k], order_).value)];
    lengths.count[0] = 0;
    range_lengths_[i] = lengths;
  });
  for (const length_histogram& lengths : range_lengths_)
    for (std::size_t l = 0; l < lengths.count.size(); ++l) lengths_.count[l] += lengths.count[l];
}

unsigned recoded_scalars::windows_needed(unsigned length) const {
  // A digit may carry into the next window unless the scalar ends two bits below it; the last window doesn't carry.
  return std::min((length + 1) / width_ + 1, last_window_ + 1);
}

void recoded_scalars::distribute(std::span<const std::uint64_t> scalars, std::span<const std::uint32_t> origin,
                                 const executor& threads) {
  const unsigned order_length = length_of(order_);  // absolute values are one bit shorter
  last_window_ = (order_length + width_ - 1) / width_ - 1;
  words bias{};
  for (unsigned w = 0; w < last_window_; ++w) {
    const unsigned bit = w * width_ + width_ - 1;
    bias[bit / 64] |= std::uint64_t{1} << bit % 64;
  }

  // Where the scalars of each length, longest first, of each range begin.
  const std::size_t parts = range_lengths_.size();
  std::vector<std::uint32_t> next(parts * (last_window_ + 2));
  prefix_.assign(last_window_ + 1, 0);
  std::size_t total = 0;
  for (unsigned needed = last_window_ + 1; needed > 0; --needed) {
    for (std::size_t i = 0; i < parts; ++i) {
      next[i * (last_window_ + 2) + needed] = static_cast<std::uint32_t>(total);
      for (unsigned l = 1; l < range_lengths_[i].count.size(); ++l)
        if (windows_needed(l) == needed) total += range_lengths_[i].count[l];
    }
    prefix_[needed - 1] = total;
  }
  windows_ = last_window_ + 1;
  while (windows_ > 0 && prefix_[windows_ - 1] == 0) --windows_;

  // A few cache lines between the windows' arrays: at distances of a power of two they would fight for one set.
  constexpr std::size_t kGap = 80;
  begin_.assign(windows_ + 1, 0);
  for (unsigned w = 0; w < windows_; ++w) begin_[w + 1] = begin_[w] + prefix_[w] + kGap;
  digits_ = buffer<std::uint32_t>(begin_[windows_], contents::secret);
  record_ = buffer<std::uint32_t>(total, contents::secret);
  threads.run(parts, [&](std::size_t i) {
    std::uint32_t* place = &next[i * (last_window_ + 2)];
    secret_pages<block> memory(1);
    block& b = memory[0];
    b.value[4].fill(0);
    const auto [begin, end] = part(origin.size(), parts, i);
    for (std::size_t k = begin; k < end;) {
      std::size_t count = 0;
      for (; k < end && count < block::size; ++k) {
        magnitude s = read(scalars, origin[k], order_);
        const unsigned length = length_of(s.value);
        if (length == 0) continue;
        b.needed[count] = windows_needed(length);
        b.place[count] = place[b.needed[count]]++;
        b.sign[count] = std::uint32_t{s.negative} << 31;
        record_[b.place[count]] = static_cast<std::uint32_t>(k);
        add(s.value, bias);
        for (std::size_t j = 0; j < 4; ++j) b.value[j][count] = s.value[j];
        ++count;
      }
      for (unsigned w = 0; w < windows_; ++w) {
        // Bits of a window less the bias, as absolute value and sign.
        const unsigned word = w * width_ / 64, shift = w * width_ % 64;
        const std::uint64_t mask = (std::uint64_t{1} << width_) - 1;
        const std::uint64_t bias_here = w == last_window_ ? 0 : std::uint64_t{1} << (width_ - 1);
        std::uint32_t* digits = &digits_[begin_[w]];
        for (std::size_t j = 0; j < count; ++j) {
          if (w >= b.needed[j]) continue;
          const std::uint64_t bits = b.value[word][j] >> shift | b.value[word + 1][j] << 1 << (63 - shift);
          const std::uint64_t d = (bits & mask) - bias_here, negative = d >> 63;
          digits[b.place[j]] = static_cast<std::uint32_t>((d ^ (0 - negative)) + negative) |
                               (static_cast<std::uint32_t>(negative) << 31 ^ b.sign[j]);
        }
      }
    }
  });
}

}  // namespace prover::vector
