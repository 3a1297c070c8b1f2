// Additions of affine points in batches that share one inversion.
//
// First pass, forwards: load both operands, keep x1, y1, x2 - x1 and y2 - y1, and multiply up the differences.
// Second pass, backwards: each addition gets its 1 / (x2 - x1) from the running inverse (P. L. Montgomery's trick),
// and then costs two multiplications and a square. Five multiplications and a square in all, against about eleven
// for a mixed projective addition.
#pragma once
#include "group_kernels.h"
#include "lane_inverse.h"
#include "records.h"

namespace prover::vector {

template <class F>
struct affine_addition {
  using V = typename F::vector;
  using R = records<F>;
  using element = typename F::element;
  using loose = typename F::loose;
  using mask = typename V::mask;
  static constexpr std::size_t lanes = V::lanes;

  // The workspace of one vector of additions.
  static constexpr std::size_t kDx = 0, kDy = F::stored_words, kX1 = 2 * F::stored_words, kY1 = 3 * F::stored_words,
                               kBefore = 4 * F::stored_words, kMasks = 5 * F::stored_words,
                               kBlock = 5 * F::stored_words + 8;
  static std::size_t workspace_words(std::size_t additions) { return (additions + lanes - 1) / lanes * kBlock; }

  template <bool Signed, bool Careful>
  static added run(const addition_job& job) {
    const std::size_t vectors = (job.count + lanes - 1) / lanes;
    element all = F::one();
    mask infinities = 0;
    for (std::size_t i = 0; i < vectors; ++i) {
      first_pass<Signed, Careful>(job, i, all, infinities);
    }
    element inverse;
    if (!invert_lanes<F>(all, inverse)) return added::not_at_all;
    for (std::size_t i = vectors; i-- > 0;) second_pass<Careful>(job, i, inverse);
    return infinities != 0 ? added::with_infinities : added::plainly;
  }

  static added add(const addition_job& job) {
    return job.sign == signs::none ? run<false, false>(job) : run<true, false>(job);
  }
  static added add_any(const addition_job& job) {
    return job.sign == signs::none ? run<false, true>(job) : run<true, true>(job);
  }

 private:
  // The last vector repeats its last addition: it writes the same sum twice to the same place.
  PROVER_VECTOR_INLINE static const addition& at(const addition_job& job, std::size_t i) {
    return job.additions[i < job.count ? i : job.count - 1];
  }
  PROVER_VECTOR_INLINE static void prefetch(const addition_job& job, std::size_t vector) {
    const std::size_t begin = vector * lanes;
    if (begin + lanes > job.count) return;
    for (std::size_t j = 0; j < lanes; ++j) {
      const addition& a = job.additions[begin + j];
      const std::uint64_t* left = job.source + std::size_t{a.left & ~kNegated} * R::words;
      const std::uint64_t* right = job.source + std::size_t{a.right & ~kNegated} * R::words;
      PROVER_VECTOR_UNROLL for (std::size_t line = 0; line < R::words; line += 8) {
        __builtin_prefetch(left + line);
        __builtin_prefetch(right + line);
      }
    }
  }

  template <bool Signed, bool Careful>
  PROVER_VECTOR_INLINE static void first_pass(const addition_job& job, std::size_t i, element& all, mask& infinities) {
    prefetch(job, i + kAhead);
    const std::uint64_t* left[lanes];
    const std::uint64_t* right[lanes];
    mask left_signs = 0, right_signs = 0;
    for (std::size_t j = 0; j < lanes; ++j) {
      const addition& a = at(job, i * lanes + j);
      left[j] = job.source + std::size_t{a.left & ~kNegated} * R::words;
      right[j] = job.source + std::size_t{a.right & ~kNegated} * R::words;
      if constexpr (Signed) {
        left_signs |= (a.left >> 31) << j;
        right_signs |= (a.right >> 31) << j;
      }
    }
    std::uint64_t* block = job.workspace + i * kBlock;
    mask left_infinite = 0, right_infinite = 0;
    typename R::point p, q;
    if constexpr (Careful) {
      p = R::load(left, left_infinite);
      q = R::load(right, right_infinite);
    } else {
      p = R::load(left);
      q = R::load(right);
    }
    loose y1 = p.y, y2 = q.y;
    if constexpr (Signed) {
      y1 = F::template negate_where<2>(left_signs, y1);
      y2 = F::template negate_where<2>(right_signs, y2);
    }
    element dx = F::tidy(F::template sub<2>(q.x, p.x));
    element dy = F::tidy(F::template sub<2>(y2, y1));
    if constexpr (Careful) {
      const mask neither = ~(left_infinite | right_infinite);
      const mask same_x = F::is_zero(dx) & neither;
      const mask opposite = same_x & F::is_zero(F::add(y1, y2));
      const mask equal = same_x & ~opposite;
      const element y = F::reduce(F::template sub<2>(y1, F::zero()));
      const element xx = times<Careful>(p.x, p.x);
      // Doubling has 3 x^2 / (2 y) for the slope, and x2 = x1 makes the rest the same: here dx stays out of x3.
      element slope_bottom = F::select(equal, F::tidy(F::add(y, y)), dx);
      slope_bottom = F::select(opposite | left_infinite | right_infinite, F::one(), slope_bottom);
      dy = F::select(equal, F::reduce(F::template sub<2>(F::add(F::add(xx, xx), xx), F::zero())), dy);
      // Where an operand is infinity the other one is the sum; infinity itself where both are, or both cancel.
      const mask keep = left_infinite | right_infinite | opposite;
      y1 = F::select(left_infinite, y2, loose(F::select(equal, y, F::tidy(y1))));
      p.x = F::select(left_infinite, q.x, p.x);
      const mask cancelled = opposite | (left_infinite & right_infinite);
      infinities |= cancelled;
      block[kMasks] = keep;
      block[kMasks + 1] = cancelled;
      block[kMasks + 2] = equal;
      dx = slope_bottom;
    }
    F::store(block + kDx, dx);
    F::store(block + kDy, dy);
    F::store(block + kX1, p.x);
    F::store(block + kY1, y1);
    F::store(block + kBefore, all);
    all = times<Careful>(all, dx);
  }

  // Batches with equal operands are rare: there a small function matters more than a fast one.
  template <bool Careful>
  PROVER_VECTOR_INLINE static element times(const element& a, const element& b) {
    if constexpr (Careful) {
      return F::mul_called(a, b);
    } else {
      return F::mul(a, b);
    }
  }

  template <bool Careful>
  PROVER_VECTOR_INLINE static void second_pass(const addition_job& job, std::size_t i, element& inverse) {
    const std::uint64_t* block = job.workspace + i * kBlock;
    const element dx = F::load(block + kDx);
    const element x1 = F::load(block + kX1);
    const loose y1 = F::load_loose(block + kY1);
    const element own = times<Careful>(inverse, F::load(block + kBefore));
    inverse = times<Careful>(inverse, dx);
    const element slope = times<Careful>(own, F::load(block + kDy));
    loose x1_x2 = F::add(F::add(x1, x1), dx);  // x1 + x2 + 2 p
    if constexpr (Careful) {
      const mask equal = static_cast<mask>(block[kMasks + 2]);
      x1_x2 = F::select(equal, F::template sub<2>(F::add(x1, x1), F::zero()), x1_x2);
    }
    // 6 p - (x1 + x2 + 2 p) is above p: stored coordinates are below 1.1 p.
    typename R::point sum;
    if constexpr (Careful) {
      sum.x = F::reduce(F::template sub<6>(F::mul_called(slope, slope), x1_x2));
      sum.y = F::reduce(F::template sub<4>(F::mul_called(slope, F::tidy(F::template sub<2>(x1, sum.x))), y1));
    } else {
      sum.x = F::reduce(F::template sub<6>(F::sqr_loose(slope), x1_x2));
      sum.y = F::reduce(F::template sub<4>(F::mul_loose(slope, F::tidy(F::template sub<2>(x1, sum.x))), y1));
    }
    if constexpr (Careful) {
      const mask keep = static_cast<mask>(block[kMasks]), cancelled = static_cast<mask>(block[kMasks + 1]);
      sum.x = F::select(keep, x1, sum.x);
      sum.y = F::select(keep, F::reduce(F::template sub<2>(y1, F::zero())), sum.y);
      sum.x = F::select(cancelled, F::zero(), sum.x);
      sum.y = F::select(cancelled, F::zero(), sum.y);
    }
    std::uint64_t* out[lanes];
    for (std::size_t j = 0; j < lanes; ++j) out[j] = job.target + std::size_t{at(job, i * lanes + j).out} * R::words;
    R::store(out, sum);
  }

  static constexpr std::size_t kAhead = 16 / lanes + 1;
};

}  // namespace prover::vector
