// Adds up many short runs of affine points at once. Each layer adds the points of every run in pairs; all additions of
// a layer share one inversion, so that one costs 6 multiplications. Equal and opposite points and infinity are handled
// by choosing another denominator, not by another formula.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prover/curve/point.hpp"

namespace prover::msm {

// A point of the set, or its negative, in 32 bits.
class point_ref {
 public:
  point_ref() = default;
  point_ref(std::size_t index, bool negative) noexcept
      : bits_(static_cast<std::uint32_t>(index << 1) | static_cast<std::uint32_t>(negative)) {}
  point_ref negated_if(bool negate) const noexcept {
    point_ref r = *this;
    r.bits_ ^= static_cast<std::uint32_t>(negate);
    return r;
  }
  template <class G>
  affine<G> in(std::span<const affine<G>> points) const noexcept {
    const affine<G>& p = points[bits_ >> 1];
    return (bits_ & 1) != 0 ? -p : p;
  }

 private:
  std::uint32_t bits_;
};

template <class G>
class affine_tree {
 public:
  using coordinate = typename G::coordinate;

  // sums[k] = the sum of refs[starts[k] .. starts[k + 1]).
  void add_up(std::span<const affine<G>> points, std::span<const point_ref> refs, std::span<const std::uint32_t> starts,
              std::span<affine<G>> sums) {
    // The first layer reads the points through their references; the results of all runs lie one after the other.
    lengths_.clear();
    pairs_.clear();
    std::size_t longest = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      std::uint32_t i = starts[k];
      for (; i + 1 < starts[k + 1]; i += 2) pairs_.push_back({refs[i].in(points), refs[i + 1].in(points)});
      if (i < starts[k + 1]) pairs_.push_back({refs[i].in(points), affine<G>::infinity()});
      lengths_.push_back((starts[k + 1] - starts[k] + 1) / 2);
      longest = std::max<std::size_t>(longest, lengths_.back());
    }
    add_pairs();
    while (longest > 1) {
      pairs_.clear();
      longest = 0;
      std::size_t at = 0;
      for (auto& length : lengths_) {
        std::size_t i = 0;
        for (; i + 1 < length; i += 2) pairs_.push_back({results_[at + i], results_[at + i + 1]});
        if (i < length) pairs_.push_back({results_[at + i], affine<G>::infinity()});
        at += length;
        length = (length + 1) / 2;
        longest = std::max<std::size_t>(longest, length);
      }
      add_pairs();
    }
    std::size_t at = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] = lengths_[k] == 0 ? affine<G>::infinity() : results_[at++];
    }
  }

  affine<G> add_up(std::span<const affine<G>> points, std::span<const point_ref> refs) {
    const std::uint32_t starts[] = {0, static_cast<std::uint32_t>(refs.size())};
    affine<G> sum;
    add_up(points, refs, starts, std::span(&sum, 1));
    return sum;
  }

 private:
  struct pair {
    affine<G> a;
    affine<G> b;
  };

  // results_[i] = pairs_[i].a + pairs_[i].b
  void add_pairs() {
    const std::size_t n = pairs_.size();
    denominators_.resize(n);
    results_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& [a, b] = pairs_[i];
      // Where x agrees, y is equal (the slope is the tangent's, with denominator 2y) or opposite: then the
      // denominator is zero, stays zero in invert_all, and says that the sum is infinity.
      denominators_[i] = b.x - a.x;
      if (denominators_[i].is_zero()) denominators_[i] = a.y + b.y;
    }
    invert_all(std::span(denominators_), scratch_);
    for (std::size_t i = 0; i < n; ++i) {
      const auto& [a, b] = pairs_[i];
      if (a.is_infinity() || b.is_infinity()) {
        results_[i] = a.is_infinity() ? b : a;
        continue;
      }
      coordinate numerator = b.y - a.y;
      if (a.x == b.x) {
        if (denominators_[i].is_zero()) {
          results_[i] = affine<G>::infinity();
          continue;
        }
        const coordinate xx = a.x.squared();
        numerator = xx.doubled() + xx;
      }
      const coordinate slope = numerator * denominators_[i];
      const coordinate x = slope.squared() - a.x - b.x;
      results_[i] = {x, slope * (a.x - x) - a.y};
    }
  }

  std::vector<std::uint32_t> lengths_;
  std::vector<pair> pairs_;
  std::vector<affine<G>> results_;
  std::vector<coordinate> denominators_;
  std::vector<coordinate> scratch_;
};

}  // namespace prover::msm
