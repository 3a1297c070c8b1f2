// Points between memory and lanes: records of whole cache lines, transposed on the way (group_kernels.h says what a
// record is). Loads of whole lines and shuffles are several times faster than gathers.
#pragma once
#include "extension.h"

namespace prover::vector {

template <class F>
struct records {
  using V = typename F::vector;
  using B = typename F::base;
  using word = typename V::word;
  static constexpr std::size_t lanes = V::lanes;
  static constexpr std::size_t parts = 2 * F::components;  // x and y, each of one or two base field elements
  static constexpr std::size_t stride = B::W == 4 ? 4 : (F::components == 1 ? 8 : 6);
  static constexpr std::size_t words = parts * stride;
  static constexpr std::size_t outside_words = parts * B::W;
  static_assert(words % 8 == 0);

  struct point {
    typename F::element x, y;
  };

  PROVER_VECTOR_INLINE static point load(const std::uint64_t* const* rows) {
    word w[words];
    load_words(rows, w);
    return unpack(w);
  }
  // Also tells which lanes hold the point at infinity.
  PROVER_VECTOR_INLINE static point load(const std::uint64_t* const* rows, typename V::mask& infinite) {
    word w[words];
    load_words(rows, w);
    word any = w[0];
    PROVER_VECTOR_UNROLL for (std::size_t i = 1; i < words; ++i) any = V::bit_or(any, w[i]);
    infinite = V::equal(any, V::set(0));
    return unpack(w);
  }
  PROVER_VECTOR_INLINE static void store(std::uint64_t* const* rows, const point& p) {
    word w[words];
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < words; ++i) w[i] = V::set(0);
    PROVER_VECTOR_UNROLL for (std::size_t c = 0; c < parts; ++c) B::pack(part(p, c), w + c * stride);
    PROVER_VECTOR_UNROLL for (std::size_t line = 0; line < words; line += 8) V::store_transposed(rows, line, w + line);
  }

  PROVER_VECTOR_INLINE static typename B::element& part(point& p, std::size_t c) {
    typename F::element& coordinate = c < F::components ? p.x : p.y;
    if constexpr (F::components == 1) {
      return coordinate;
    } else {
      return coordinate.c[c % 2];
    }
  }
  PROVER_VECTOR_INLINE static const typename B::element& part(const point& p, std::size_t c) {
    const typename F::element& coordinate = c < F::components ? p.x : p.y;
    if constexpr (F::components == 1) {
      return coordinate;
    } else {
      return coordinate.c[c % 2];
    }
  }

 private:
  PROVER_VECTOR_INLINE static void load_words(const std::uint64_t* const* rows, word* w) {
    PROVER_VECTOR_UNROLL for (std::size_t line = 0; line < words; line += 8) V::load_transposed(rows, line, w + line);
  }
  PROVER_VECTOR_INLINE static point unpack(const word* w) {
    point p;
    PROVER_VECTOR_UNROLL for (std::size_t c = 0; c < parts; ++c) part(p, c) = B::unpack(w + c * stride);
    return p;
  }
};

}  // namespace prover::vector
