// Multi-scalar multiplication over resident bases: sum of scalar_i * P_i on BN254 and BLS12-381, G1 and G2.
//
//   const bases a(group::bn254_g1, points, executor{});            // once per key
//   const affine_point s = multiply(a, scalars, executor{2, pool}); // per proof
//
// Points are affine, x then y (c0 before c1), little-endian 64-bit words in Montgomery form with R = 2^256 (BN254) or
// 2^384 (BLS12-381), infinity all zero: the form of a .zkey. Scalars are plain little-endian, four words, below r.
//
// Algorithm: windows of signed digits and a bucket per digit (N. Pippenger 1976; D. J. Bernstein et al., "Faster
// batch forgery identification", eprint 2012/549), buckets summed by trees of batched affine additions, and the
// buckets of a window summed by halving (see bucket_sum.h).
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "executor.h"
#include "kernels.h"
#include "memory.h"

namespace prover::vector {

// An affine point in the outside form; only the first outside_words of its group are used.
struct affine_point {
  std::array<std::uint64_t, 24> words{};
  bool operator==(const affine_point&) const = default;
};

// 64-bit words of a point of the group in the outside form: 8, 16, 12, 24.
std::size_t words_per_point(group g);

// Points in the kernels' layout, without those at infinity. Immutable: any number of threads may use one.
class bases {
 public:
  // Points are not checked to be on the curve. Throws std::invalid_argument where points is not a whole number of
  // points or holds 2^31 or more.
  bases(group g, std::span<const std::uint64_t> points, const executor& threads,
        backend b = available() ? backend::ifma : backend::emulated);

  group which() const { return group_; }
  std::size_t size() const { return size_; }             // points given
  std::size_t finite() const { return origin_.size(); }  // points kept
  std::size_t bytes() const;                             // resident memory
  const group_kernels& kernels() const { return *kernels_; }
  const std::uint64_t* records() const { return records_.data(); }
  std::span<const std::uint32_t> origin() const { return origin_; }  // record -> index of the point given

 private:
  group group_;
  const group_kernels* kernels_;
  std::size_t size_;
  std::vector<std::uint32_t> origin_;
  buffer<std::uint64_t> records_;
};

// Throws std::invalid_argument where the number of scalars differs from size() or one is not below r. Works in
// memory of its own, wiped before it is freed: 36 bytes per scalar that is not zero, and per thread
// 8 bytes per scalar and about 130 bytes (BN254 G1) to 400 bytes (BLS12-381 G2) per bucket, at most 2^16 buckets.
affine_point multiply(const bases& points, std::span<const std::uint64_t> scalars, const executor& threads);

}  // namespace prover::vector
