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
  bases(group g, std::span<const std::uint64_t> points, const executor& threads, const group_kernels& kernels);
  bases(group g, std::span<const std::uint64_t> points, const executor& threads,
        backend b = available() ? backend::ifma : backend::emulated)
      : bases(g, points, threads, kernels_of(g, b)) {}
  // Memory for `finite` of `given` points that were prepared before, by the same version of this code: the caller fills
  // origin and records, as image() of the prepared ones had them, before any other use.
  struct memory {
    std::span<std::uint32_t> origin;
    std::span<std::uint64_t> records;
  };
  bases(group g, std::size_t given, std::size_t finite, const group_kernels& kernels, memory& to_fill);

  // How multiples of the points are tabled: record slice * finite() + i is 2^(slice * windows_per_slice * width) times
  // point i. Windows of this width that are windows_per_slice apart then have buckets in common.
  struct tables {
    unsigned width = 0, windows_per_slice = 0, slices = 1;
  };
  // Spends up to `bytes` more on such tables, as far as they make multiply() faster with this many threads: each thread
  // gets buckets of its own, so more threads leave less in common. Before any other use, and at most once.
  void add_tables(std::size_t bytes, const executor& threads);
  const tables& tabled() const { return tables_; }

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
  tables tables_;
};

// Throws std::invalid_argument where the number of scalars differs from size() or one is not below r. Works in
// memory of its own, wiped before it is freed: 36 bytes per scalar that is not zero, and per thread
// 12 bytes per scalar and slice of the tables and about 130 bytes (BN254 G1) to 400 bytes (BLS12-381 G2) per bucket, at
// most 2^16 buckets.
affine_point multiply(const bases& points, std::span<const std::uint64_t> scalars, const executor& threads);

// The sums that multiply() puts together, each by itself. Every scalar is cut into signed digits, one per window, and
// the digits' absolute values into pieces of `bits` bits; there is one sum for each piece of each window, in which a
// point counts as often as its piece says, with its digit's sign. All pieces and signs together determine the scalar.
std::vector<affine_point> digit_sums(const bases& points, std::span<const std::uint64_t> scalars, unsigned bits,
                                     const executor& threads);

}  // namespace prover::vector
