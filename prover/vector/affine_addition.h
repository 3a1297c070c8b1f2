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
                               kBefore = 4 * F::stored_words, kMask = 5 * F::stored_words,
                               kBlock = 5 * F::stored_words + 8;
  static std::size_t workspace_words(std::size_t additions) { return (additions + lanes - 1) / lanes * kBlock; }

  static void add(const addition_job& job) { job.sign == signs::none ? run<false>(job) : run<true>(job); }

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

  // The additions of equal, opposite or infinite operands ("special" lanes) take part with 1 for their difference and
  // have their sums thrown away; they are done apart afterwards. An infinite operand is seen when it is loaded; a
  // difference of zero only by the product of all being zero, so that ordinary batches pay nothing for it.
  template <bool Signed>
  static void run(const addition_job& job) {
    const std::size_t vectors = (job.count + lanes - 1) / lanes;
    element all = F::one(), inverse;
    mask special = 0;
    for (std::size_t i = 0; i < vectors; ++i) special |= first_pass<Signed>(job, i, all);
    if (!invert_lanes<F>(all, inverse)) {
      all = F::one();
      for (std::size_t i = 0; i < vectors; ++i) special |= exclude_zeros(job, i, all);
      invert_lanes<F>(all, inverse);
    }
    for (std::size_t i = vectors; i-- > 0;) second_pass(job, i, inverse);
    if (special != 0) add_special<Signed>(job);
  }

  template <bool Signed>
  PROVER_VECTOR_INLINE static mask first_pass(const addition_job& job, std::size_t i, element& all) {
    prefetch(job, i + kAhead);
    const std::uint64_t* left[lanes];
    const std::uint64_t* right[lanes];
    mask left_signs = 0, right_signs = 0;
    operands<Signed>(job, i, left, right, left_signs, right_signs);
    std::uint64_t* block = job.workspace + i * kBlock;
    mask special = 0;
    typename R::point p, q;
    if constexpr (Signed) {  // the bases, which are finite
      p = R::load(left);
      q = R::load(right);
    } else {
      mask right_infinite;
      p = R::load(left, special);
      q = R::load(right, right_infinite);
      special |= right_infinite;
    }
    loose y1 = p.y, y2 = q.y;
    if constexpr (Signed) {
      y1 = F::template negate_where<2>(left_signs, y1);
      y2 = F::template negate_where<2>(right_signs, y2);
    }
    element dx = F::tidy(F::template sub<2>(q.x, p.x));
    if (special != 0) dx = F::select(special, F::one(), dx);
    F::store(block + kDx, dx);
    F::store(block + kDy, F::tidy(F::template sub<2>(y2, y1)));
    F::store(block + kX1, p.x);
    F::store(block + kY1, y1);
    F::store(block + kBefore, all);
    block[kMask] = special;
    all = F::mul(all, dx);
    return special;
  }

  // The first pass again, on what the workspace holds, for a batch in which some operands are equal or opposite.
  [[gnu::noinline]] static mask exclude_zeros(const addition_job& job, std::size_t i, element& all) {
    std::uint64_t* block = job.workspace + i * kBlock;
    element dx = F::load(block + kDx);
    const mask zero = F::is_zero(dx);
    dx = F::select(zero, F::one(), dx);
    F::store(block + kDx, dx);
    F::store(block + kBefore, all);
    block[kMask] |= zero;
    all = F::mul_called(all, dx);
    return static_cast<mask>(block[kMask]);
  }

  PROVER_VECTOR_INLINE static void second_pass(const addition_job& job, std::size_t i, element& inverse) {
    const std::uint64_t* block = job.workspace + i * kBlock;
    const element dx = F::load(block + kDx);
    const element x1 = F::load(block + kX1);
    const element own = F::mul(inverse, F::load(block + kBefore));
    inverse = F::mul(inverse, dx);
    const element slope = F::mul(own, F::load(block + kDy));
    typename R::point sum;
    // 6 p - (x1 + x2 + 2 p) is above p: stored coordinates are below 1.1 p.
    sum.x = F::reduce(F::template sub<6>(F::sqr_loose(slope), F::add(F::add(x1, x1), dx)));
    const element fall = F::tidy(F::template sub<2>(x1, sum.x));
    sum.y = F::reduce(F::template sub<4>(F::mul_loose(slope, fall), F::load_loose(block + kY1)));
    std::uint64_t* out[lanes];
    for (std::size_t j = 0; j < lanes; ++j) out[j] = job.target + std::size_t{at(job, i * lanes + j).out} * R::words;
    const auto special = static_cast<mask>(block[kMask]);
    if (special != 0) {
      alignas(64) std::uint64_t thrown_away[R::words];
      for (std::size_t j = 0; j < lanes; ++j)
        if ((special >> j & 1) != 0) out[j] = thrown_away;
      R::store(out, sum);
    } else {
      R::store(out, sum);
    }
  }

  // ---- special additions: rare, so that a small function matters more than a fast one

  template <bool Signed>
  [[gnu::noinline]] static void add_special(const addition_job& job) {
    constexpr std::size_t kAtOnce = 4 * lanes;
    addition some[kAtOnce];
    alignas(64) std::uint64_t workspace[kAtOnce / lanes * kBlock];
    std::size_t count = 0;
    const auto flush = [&] {
      if (count != 0) add_any<Signed>({job.source, job.target, some, count, job.sign, workspace});
      count = 0;
    };
    for (std::size_t i = 0; i < job.count; ++i) {
      if ((job.workspace[i / lanes * kBlock + kMask] >> i % lanes & 1) == 0) continue;
      some[count++] = job.additions[i];
      if (count == kAtOnce) flush();
    }
    flush();
  }

  template <bool Signed>
  static void add_any(const addition_job& job) {
    const std::size_t vectors = (job.count + lanes - 1) / lanes;
    element all = F::one(), inverse;
    for (std::size_t i = 0; i < vectors; ++i) first_pass_any<Signed>(job, i, all);
    invert_lanes<F>(all, inverse);
    for (std::size_t i = vectors; i-- > 0;) second_pass_any(job, i, inverse);
  }

  template <bool Signed>
  static void first_pass_any(const addition_job& job, std::size_t i, element& all) {
    const std::uint64_t* left[lanes];
    const std::uint64_t* right[lanes];
    mask left_signs = 0, right_signs = 0;
    operands<Signed>(job, i, left, right, left_signs, right_signs);
    std::uint64_t* block = job.workspace + i * kBlock;
    mask left_infinite = 0, right_infinite = 0;
    typename R::point p = R::load(left, left_infinite);
    const typename R::point q = R::load(right, right_infinite);
    loose y1 = F::template negate_where<2>(left_signs, p.y);
    const loose y2 = F::template negate_where<2>(right_signs, q.y);
    element dx = F::tidy(F::template sub<2>(q.x, p.x));
    element dy = F::tidy(F::template sub<2>(y2, y1));
    const mask neither = ~(left_infinite | right_infinite);
    const mask same_x = F::is_zero(dx) & neither;
    const mask opposite = same_x & F::is_zero(F::add(y1, y2));
    const mask equal = same_x & ~opposite;
    // Doubling has 3 x^2 / (2 y) for the slope, and x2 = x1 makes the rest the same.
    const element y = F::reduce(F::template sub<2>(y1, F::zero()));
    const element xx = F::mul_called(p.x, p.x);
    dx = F::select(equal, F::tidy(F::add(y, y)), dx);
    dx = F::select(opposite | left_infinite | right_infinite, F::one(), dx);
    dy = F::select(equal, F::reduce(F::template sub<2>(F::add(F::add(xx, xx), xx), F::zero())), dy);
    // Where an operand is infinity the other one is the sum; infinity itself where both are, or both cancel.
    block[kMask] = left_infinite | right_infinite | opposite;
    block[kMask + 1] = opposite | (left_infinite & right_infinite);
    F::store(block + kDx, dx);
    F::store(block + kDy, dy);
    F::store(block + kX1, F::select(left_infinite, q.x, p.x));
    F::store(block + kY1, F::select(left_infinite, F::tidy(y2), F::select(equal, y, F::tidy(y1))));
    F::store(block + kBefore, all);
    all = F::mul_called(all, dx);
  }
  static void second_pass_any(const addition_job& job, std::size_t i, element& inverse) {
    const std::uint64_t* block = job.workspace + i * kBlock;
    const element x1 = F::load(block + kX1);
    const loose y1 = F::load_loose(block + kY1);
    const element own = F::mul_called(inverse, F::load(block + kBefore));
    inverse = F::mul_called(inverse, F::load(block + kDx));
    const element slope = F::mul_called(own, F::load(block + kDy));
    typename R::point sum;
    // Every lane that is kept from here on is a doubling: 2 x1 + 2 p stands for x1 + x2 + 2 p.
    sum.x = F::reduce(F::template sub<4>(F::mul_called(slope, slope), F::add(x1, x1)));
    const element fall = F::tidy(F::template sub<2>(x1, sum.x));
    sum.y = F::reduce(F::template sub<4>(F::mul_called(slope, fall), y1));
    const auto keep = static_cast<mask>(block[kMask]), cancelled = static_cast<mask>(block[kMask + 1]);
    sum.x = F::select(keep, x1, sum.x);
    sum.y = F::select(keep, F::reduce(F::template sub<2>(y1, F::zero())), sum.y);
    sum.x = F::select(cancelled, F::zero(), sum.x);
    sum.y = F::select(cancelled, F::zero(), sum.y);
    std::uint64_t* out[lanes];
    for (std::size_t j = 0; j < lanes; ++j) out[j] = job.target + std::size_t{at(job, i * lanes + j).out} * R::words;
    R::store(out, sum);
  }

  template <bool Signed>
  PROVER_VECTOR_INLINE static void operands(const addition_job& job, std::size_t i, const std::uint64_t** left,
                                            const std::uint64_t** right, mask& left_signs, mask& right_signs) {
    for (std::size_t j = 0; j < lanes; ++j) {
      const addition& a = at(job, i * lanes + j);
      left[j] = job.source + std::size_t{a.left & ~kNegated} * R::words;
      right[j] = job.source + std::size_t{a.right & ~kNegated} * R::words;
      if constexpr (Signed) {
        left_signs |= (a.left >> 31) << j;
        right_signs |= (a.right >> 31) << j;
      }
    }
  }

  static constexpr std::size_t kAhead = 16 / lanes + 1;
};

}  // namespace prover::vector
