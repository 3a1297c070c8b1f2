// Adds up many short runs of affine points at once: each layer adds the points of every run in pairs, and all additions
// of a layer share one inversion (msm/scalar_kernels.cpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "prover/curve/point.hpp"
#include "prover/msm/scalar_kernels.hpp"

namespace prover::setup {

// The position of a point, and in bit 31 whether its negative is meant.
using point_ref = std::uint32_t;
inline point_ref refer_to(std::size_t index, bool negative) noexcept {
  return static_cast<point_ref>(index) | (negative ? vector::kNegated : 0);
}

// Keeps its memory from call to call.
template <class G>
class affine_tree {
 public:
  // sums[k] = the sum of refs[starts[k] .. starts[k + 1]). The points must not be infinity.
  void add_up(std::span<const affine<G>> points, std::span<const point_ref> refs, std::span<const std::uint32_t> starts,
              std::span<affine<G>> sums) {
    // The first layer reads the points through their references; run k's results begin at first_[k].
    first_.assign(1, 0);
    additions_.clear();
    copies_.clear();
    std::uint32_t slot = 0;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      std::uint32_t i = starts[k];
      for (; i + 1 < starts[k + 1]; i += 2) additions_.push_back({refs[i], refs[i + 1], slot++});
      if (i < starts[k + 1]) copies_.push_back({refs[i], 0, slot++});
      first_.push_back(slot);
    }
    results_.resize(slot);
    add(points.data(), vector::signs::in_bit_31);
    kernels_.copy(words_of(points.data()), words_of(results_.data()), copies_.data(), copies_.size());

    for (std::uint32_t step = 1;; step *= 2) {
      additions_.clear();
      for (std::size_t k = 0; k < sums.size(); ++k) {
        for (std::uint32_t i = first_[k]; i + step < first_[k + 1]; i += 2 * step)
          additions_.push_back({i, i + step, i});
      }
      if (additions_.empty()) break;
      add(results_.data(), vector::signs::none);
    }
    for (std::size_t k = 0; k < sums.size(); ++k) {
      sums[k] = first_[k] == first_[k + 1] ? affine<G>::infinity() : results_[first_[k]];
    }
  }

 private:
  static const u64* words_of(const affine<G>* p) noexcept { return reinterpret_cast<const u64*>(p); }
  static u64* words_of(affine<G>* p) noexcept { return reinterpret_cast<u64*>(p); }

  void add(const affine<G>* source, vector::signs sign) {
    if (additions_.empty()) return;
    workspace_.resize(std::max(workspace_.size(), kernels_.workspace_words(additions_.size())));
    kernels_.add(
        {words_of(source), words_of(results_.data()), additions_.data(), additions_.size(), sign, workspace_.data()});
  }

  const vector::group_kernels& kernels_ = msm::scalar_kernels<G>();
  std::vector<std::uint32_t> first_;
  std::vector<vector::addition> additions_;
  std::vector<vector::addition> copies_;
  std::vector<affine<G>> results_;
  std::vector<u64> workspace_;
};

}  // namespace prover::setup
