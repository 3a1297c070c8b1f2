// The points of one sum of a key, in the layout of the code path that will sum them.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "prover/code_path.hpp"
#include "prover/msm/msm.hpp"
#include "prover/vector/msm.h"

namespace prover::msm {

// Immutable once made: any number of threads may sum over one.
template <class G>
class resident_points {
 public:
  resident_points(std::vector<affine<G>> all, code_path path, thread_pool& pool);

  std::size_t size() const noexcept;  // points that are not at infinity
  std::size_t bytes() const noexcept;

  // `scalars` are plain integers below r, one for every point given.
  xyzz<G> sum(std::span<const integer<4>> scalars, thread_pool& pool) const;

 private:
  std::variant<point_set<G>, vector::bases> points_;
};

}  // namespace prover::msm
