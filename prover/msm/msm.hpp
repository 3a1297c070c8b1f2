// Multi-scalar multiplication: the sum of scalar_i * point_i, which is most of a proof's time.
//
// The points are known long before the scalars (they are the key), so they come as a prepared point_set; another
// implementation may prepare them otherwise, and is chosen behind this interface at run time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "prover/curve/point.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::msm {

// The points of one sum. Those at infinity, a third to two thirds of some sections, are left out once and for all.
template <class G>
class point_set {
 public:
  point_set() = default;
  explicit point_set(std::vector<affine<G>> all);
  // `kept` points out of `given`, which the caller fills in before any other use, with the scalars they go with, in
  // ascending order; no `index` where all were kept.
  struct memory {
    std::span<std::uint32_t> index;
    std::span<affine<G>> points;
  };
  point_set(std::size_t given, std::size_t kept, memory& to_fill);

  // How many scalars the sum takes: one for every point, infinities included.
  std::size_t scalar_count() const noexcept { return scalar_count_; }
  std::span<const affine<G>> points() const noexcept { return points_; }
  std::span<const std::uint32_t> index() const noexcept { return index_; }
  // The scalar that points()[i] goes with.
  std::size_t scalar_of(std::size_t i) const noexcept { return index_.empty() ? i : index_[i]; }
  std::size_t bytes() const noexcept { return points_.size() * sizeof(affine<G>) + index_.size() * sizeof(index_[0]); }

 private:
  std::vector<affine<G>> points_;
  std::vector<std::uint32_t> index_;  // empty where nothing was left out
  std::size_t scalar_count_ = 0;
};

// The most points that one set may hold: an index and a sign share 32 bits.
inline constexpr std::size_t max_points = (std::size_t{1} << 31) - 1;

// What a sum consisted of, for the trace.
struct statistics {
  std::size_t points = 0;  // not at infinity
  std::size_t zeros = 0;
  std::size_t ones = 0;   // scalar 1 or -1
  std::size_t small = 0;  // |scalar| below 2^64
  std::size_t large = 0;
};

template <class G>
struct sum_result {
  xyzz<G> sum;
  statistics counts;
};

// `scalars` are plain integers below r, one for every point of the set (scalar_count()).
template <class G>
sum_result<G> multiply_sum(const point_set<G>& points, std::span<const integer<4>> scalars, thread_pool& pool);

// The sums that a multi-scalar multiplication puts together, each by itself. Every scalar is cut into signed digits,
// one per window, and the digits' absolute values into pieces of `bits` bits; there is one sum for each piece of each
// window, in which a point counts as often as its piece says, with its digit's sign. All pieces and signs together
// determine the scalar.
template <class G>
std::vector<affine<G>> digit_sums(const point_set<G>& points, std::span<const integer<4>> scalars, unsigned bits,
                                  thread_pool& pool);

}  // namespace prover::msm
