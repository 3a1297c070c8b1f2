// Number-theoretic transforms of 8 columns at a time, each lane a column: decimation in frequency from natural to
// bit-reversed order and decimation in time back (W. M. Gentleman, G. Sande 1966; J. W. Cooley, J. W. Tukey 1965),
// two levels at a time, the blocks of a level finished one after the other so that they stay in the first-level cache.
//
// Lazy reduction: a product with a root is below 2 p for any operand below 30 p, so most sums are never reduced.
#pragma once
#include "field.h"
#include "ntt_kernels.h"

namespace prover::vector {

template <class V, class M>
struct ntt_transform {
  using F = field<V, M>;
  using element = typename F::element;
  using loose = typename F::loose;
  static constexpr std::size_t kWords = kNttVectorWords;
  static_assert(F::stored_words == kWords && V::lanes == 8);

  PROVER_VECTOR_INLINE static element broadcast(const limbs5& x) {
    element r;
    PROVER_VECTOR_UNROLL for (std::size_t i = 0; i < 5; ++i) r.l[i] = V::set(x.l[i]);
    return r;
  }

  // Natural to bit-reversed order; values below 2 p become values below 8 p.
  static void down(std::uint64_t* x, std::size_t m, const limbs5* powers, const limbs5& quarter) {
    if (m == 1) return;
    if (m == 2) {
      const element a = F::load(x), b = F::load(x + kWords);
      F::store(x, F::tidy(F::add(a, b)));
      F::store(x + kWords, F::tidy(F::template sub<2>(a, b)));
      return;
    }
    const std::size_t quarter_length = m / 4, stride = quarter_length * kWords;
    if (m == 4) {
      down_step<true>(x, stride, nullptr, quarter);
      return;
    }
    for (std::size_t j = 0; j < quarter_length; ++j) down_step<false>(x + j * kWords, stride, powers + 3 * j, quarter);
    for (std::size_t i = 0; i < 4; ++i) down(x + i * stride, quarter_length, powers + 3 * quarter_length, quarter);
  }

  // Bit-reversed to natural order; values below 2 p become values below 8 p.
  static void up(std::uint64_t* x, std::size_t m, const limbs5* powers, const limbs5& quarter) {
    if (m == 1) return;
    if (m == 2) {
      const element a = F::load(x), b = F::load(x + kWords);
      F::store(x, F::tidy(F::add(a, b)));
      F::store(x + kWords, F::tidy(F::template sub<2>(a, b)));
      return;
    }
    const std::size_t quarter_length = m / 4, stride = quarter_length * kWords;
    if (m == 4) {
      up_step<true>(x, stride, nullptr, quarter);
      return;
    }
    for (std::size_t i = 0; i < 4; ++i) up(x + i * stride, quarter_length, powers + 3 * quarter_length, quarter);
    for (std::size_t j = 0; j < quarter_length; ++j) up_step<false>(x + j * kWords, stride, powers + 3 * j, quarter);
  }

 private:
  template <bool Last>  // the block of 4, whose roots are all one
  PROVER_VECTOR_INLINE static void down_step(std::uint64_t* x, std::size_t stride, const limbs5* w,
                                             const limbs5& quarter) {
    const element a = F::load(x), b = F::load(x + stride), c = F::load(x + 2 * stride), d = F::load(x + 3 * stride);
    const loose even = F::add(a, c), odd = F::add(b, d), even2 = F::template sub<2>(a, c);
    const loose odd2 = F::mul_loose(F::tidy(F::template sub<2>(b, d)), broadcast(quarter));
    const loose sum = F::add(even, odd);
    const element y1 = F::tidy(F::template sub<4>(even, odd));
    const element y2 = F::tidy(F::add(even2, odd2)), y3 = F::tidy(F::template sub<2>(even2, odd2));
    if constexpr (Last) {
      F::store(x, F::tidy(sum));
      F::store(x + stride, y1);
      F::store(x + 2 * stride, y2);
      F::store(x + 3 * stride, y3);
    } else {
      F::store(x, F::reduce(sum));
      F::store(x + stride, F::mul(y1, broadcast(w[1])));
      F::store(x + 2 * stride, F::mul(y2, broadcast(w[0])));
      F::store(x + 3 * stride, F::mul(y3, broadcast(w[2])));
    }
  }
  template <bool First>
  PROVER_VECTOR_INLINE static void up_step(std::uint64_t* x, std::size_t stride, const limbs5* w,
                                           const limbs5& quarter) {
    const element x0 = F::load(x), x1 = F::load(x + stride), x2 = F::load(x + 2 * stride), x3 = F::load(x + 3 * stride);
    loose a, t1, t2, t3;
    if constexpr (First) {
      a = x0, t1 = x1, t2 = x2, t3 = x3;
    } else {
      a = F::reduce(x0);
      t1 = F::mul_loose(x1, broadcast(w[1]));
      t2 = F::mul_loose(x2, broadcast(w[0]));
      t3 = F::mul_loose(x3, broadcast(w[2]));
    }
    const loose a0 = F::add(a, t1), a1 = F::template sub<2>(a, t1), sum = F::add(t2, t3);
    const loose turned = F::mul_loose(F::tidy(F::template sub<2>(t2, t3)), broadcast(quarter));
    F::store(x, F::tidy(F::add(a0, sum)));
    F::store(x + stride, F::tidy(F::add(a1, turned)));
    F::store(x + 2 * stride, F::tidy(F::template sub<4>(a0, sum)));
    F::store(x + 3 * stride, F::tidy(F::template sub<2>(a1, turned)));
  }
};

}  // namespace prover::vector
