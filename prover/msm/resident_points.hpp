// The points of one sum of a key, in the layout of the code path that will sum them.
#pragma once

#include <span>
#include <vector>

#include "prover/code_path.hpp"
#include "prover/curve/point.hpp"
#include "prover/parallel/thread_pool.hpp"
#include "prover/vector/msm.h"

namespace prover::msm {

// The most points that one sum may have: an index and a sign share 32 bits.
inline constexpr std::size_t max_points = vector::kNegated - 1;

// Those at infinity, a third to two thirds of some sections, are left out once and for all. Immutable once made and
// given its tables: any number of threads may sum over one.
template <class G>
class resident_points {
 public:
  resident_points(std::vector<affine<G>> all, code_path path, thread_pool& pool);

  // What was prepared, to be kept in a file: which of the points given are there, and their words. Fits the same code
  // path of the same version only.
  struct image {
    std::span<const std::uint32_t> index;
    std::span<const u64> words;
  };
  image prepared() const noexcept;
  // The way back: room for an image of `finite` of `given` points, which the caller fills before any other use.
  struct memory {
    std::span<std::uint32_t> index;
    std::span<u64> words;
  };
  resident_points(std::size_t given, std::size_t finite, code_path path, memory& to_fill);
  static std::size_t words_per_point(code_path path);

  // Spends up to `bytes` on multiples of the points; see vector/msm.h.
  void add_tables(std::size_t bytes, thread_pool& pool);

  std::size_t given() const noexcept;
  std::size_t size() const noexcept;  // points that are not at infinity
  std::size_t bytes() const noexcept;

  // The sum of scalar_i * point_i, which is most of a proof's time. `scalars` are plain integers below r, one for every
  // point given; std::invalid_argument otherwise.
  xyzz<G> sum(std::span<const integer<4>> scalars, thread_pool& pool) const;
  // The sums of which sum() is put together, each by itself; see vector/msm.h.
  std::vector<affine<G>> digit_sums(std::span<const integer<4>> scalars, unsigned bits, thread_pool& pool) const;

 private:
  vector::bases points_;
};

}  // namespace prover::msm
