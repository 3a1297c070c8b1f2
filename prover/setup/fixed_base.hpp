// Many multiples of one group's generator. A table holds, for every window of c bits, the multiples 1 to 2^(c-1) of
// 2^(window * c) G; a scalar's signed digits then pick one point per window, and batched additions add them up.
#pragma once

#include <limits>

#include "prover/parallel/thread_pool.hpp"
#include "prover/setup/affine_tree.hpp"

namespace prover::setup {

template <class G>
class fixed_base {
 public:
  // Chooses its windows for about this many scalars.
  fixed_base(std::size_t scalars, thread_pool& pool) : width_(best_width(scalars)), windows_(windows_of(width_)) {
    const std::size_t row = row_size();
    table_.resize(row * windows_);
    auto power = xyzz<G>::from_affine(G::generator());
    for (std::size_t w = 0; w < windows_; ++w) {
      table_[w * row] = power.to_affine();
      for (unsigned i = 0; i < width_; ++i) power = power.doubled();
    }
    pool.for_each(windows_, [&](std::size_t w) { fill(std::span(table_).subspan(w * row, row)); });
  }

  // into[i] = scalars[i] G; plain integers below r.
  void multiply(std::span<const integer<4>> scalars, std::span<affine<G>> into, thread_pool& pool) const {
    pool.for_ranges(scalars.size(), 256, [&](std::size_t begin, std::size_t end) {
      std::vector<point_ref> refs;
      std::vector<std::uint32_t> starts{0};
      for (std::size_t i = begin; i < end; ++i) {
        append_digits(scalars[i], refs);
        starts.push_back(static_cast<std::uint32_t>(refs.size()));
      }
      affine_tree<G> tree;
      tree.add_up(table_, refs, starts, into.subspan(begin, end - begin));
    });
  }

 private:
  static constexpr auto scalar_bits = static_cast<unsigned>(G::curve::fr::modulus_bits);

  // The last digit may receive a carry, and is never negative: one bit more than the scalar has.
  static constexpr std::size_t windows_of(unsigned width) noexcept { return (scalar_bits + width) / width; }

  static unsigned best_width(std::size_t scalars) noexcept {
    unsigned best = 2;
    std::size_t best_cost = std::numeric_limits<std::size_t>::max();
    for (unsigned width = 2; width <= 16; ++width) {
      const std::size_t cost = windows_of(width) * (scalars + (std::size_t{1} << (width - 1)));
      if (cost < best_cost) {
        best_cost = cost;
        best = width;
      }
    }
    return best;
  }

  std::size_t row_size() const noexcept { return std::size_t{1} << (width_ - 1); }

  // From row[0] to its multiples: the first m give the next m by adding the m-th.
  static void fill(std::span<affine<G>> row) {
    affine_tree<G> tree;
    std::vector<point_ref> refs;
    std::vector<std::uint32_t> starts;
    for (std::size_t m = 1; m < row.size(); m *= 2) {
      refs.clear();
      starts.assign(1, 0);
      for (std::size_t i = 0; i < m; ++i) {
        refs.push_back(refer_to(m - 1, false));
        refs.push_back(refer_to(i, false));
        starts.push_back(static_cast<std::uint32_t>(refs.size()));
      }
      tree.add_up(std::span<const affine<G>>(row.first(m)), refs, starts, row.subspan(m, m));
    }
  }

  void append_digits(const integer<4>& scalar, std::vector<point_ref>& refs) const {
    const u64 half = u64{1} << (width_ - 1);
    u64 carry = 0;
    for (std::size_t w = 0; w < windows_; ++w) {
      const std::size_t at = w * width_;
      u64 bits = at < 256 ? scalar[at / 64] >> (at % 64) : 0;
      if (at % 64 + width_ > 64 && at / 64 < 3) bits |= scalar[at / 64 + 1] << (64 - at % 64);
      const u64 digit = (bits & (2 * half - 1)) + carry;
      const bool negative = digit > half;
      carry = negative ? 1 : 0;
      const u64 magnitude = negative ? 2 * half - digit : digit;
      if (magnitude != 0) refs.push_back(refer_to(w * row_size() + magnitude - 1, negative));
    }
  }

  unsigned width_;
  std::size_t windows_;
  std::vector<affine<G>> table_;
};

}  // namespace prover::setup
