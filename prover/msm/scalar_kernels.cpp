// Batches of affine additions that share an inversion, as in vector/affine_addition.h: five multiplications and a
// square each. Work that doesn't depend on each other is kept side by side, for multiplications take longer to finish
// than until the next one can start: four running products instead of one, and the last steps of four additions at a
// time.
#include "prover/msm/scalar_kernels.hpp"

#include <array>
#include <cstring>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"

namespace prover::msm {
namespace {

using vector::addition;
using vector::addition_job;
using vector::kNegated;

template <class G, bool WithAdx>
struct scalar_addition {
  using coordinate = typename G::coordinate;
  using point = affine<G>;
  static_assert(sizeof(point) % sizeof(u64) == 0 && alignof(point) == alignof(u64));

  static constexpr std::size_t chains = 4;
  static constexpr std::size_t ahead = 8;

  enum class kind : u64 {
    ordinary,
    doubling,  // of equal points: dx and dy are the tangent's
    known      // the sum is (x1, y1), because an operand is infinity or both cancel
  };

  // What the second pass needs of an addition.
  struct step {
    coordinate dx;
    coordinate dy;
    coordinate x1;
    coordinate y1;
    coordinate before;  // the product of its chain's earlier dx
    kind what;
  };

  static std::size_t workspace_words(std::size_t additions) { return additions * sizeof(step) / sizeof(u64); }

  static void add(const addition_job& job) { job.sign == vector::signs::none ? run<false>(job) : run<true>(job); }

 private:
  template <bool Signed>
  static void run(const addition_job& job) {
    auto* const steps = reinterpret_cast<step*>(job.workspace);
    auto* const target = reinterpret_cast<point*>(job.target);
    std::array<coordinate, chains> products;
    products.fill(coordinate::one());
    for (std::size_t i = 0; i < job.count; ++i) {
      if (i + ahead < job.count) prefetch(job, job.additions[i + ahead]);
      step& s = steps[i];
      begin<Signed>(job, job.additions[i], s);
      coordinate& product = products[i % chains];
      s.before = product;
      product = times(product, s.dx);
    }
    invert(products);
    std::size_t i = job.count;
    for (; i % chains != 0; --i) {
      finish<1>(&steps[i - 1], &products[(i - 1) % chains], &job.additions[i - 1], target);
    }
    for (; i != 0; i -= chains) {
      finish<chains>(&steps[i - chains], products.data(), &job.additions[i - chains], target);
    }
  }

  [[gnu::always_inline]] static coordinate times(const coordinate& a, const coordinate& b) {
    return coordinate::template product<WithAdx>(a, b);
  }

  static const point& at(const addition_job& job, std::uint32_t reference) {
    return reinterpret_cast<const point*>(job.source)[reference & ~kNegated];
  }

  // Inlined by force: g++ drops calls of functions that do nothing but prefetch.
  [[gnu::always_inline]] static void prefetch(const addition_job& job, const addition& a) {
    for (const point* p : {&at(job, a.left), &at(job, a.right)}) {
      for (std::size_t byte = 0; byte < sizeof(point); byte += 64) {
        __builtin_prefetch(reinterpret_cast<const char*>(p) + byte);
      }
    }
  }

  template <bool Signed>
  static void begin(const addition_job& job, const addition& a, step& s) {
    const point& p = at(job, a.left);
    const point& q = at(job, a.right);
    const coordinate y2 = Signed ? q.y.negated_if((a.right & kNegated) != 0) : q.y;
    s.x1 = p.x;
    s.y1 = Signed ? p.y.negated_if((a.left & kNegated) != 0) : p.y;
    s.dx = q.x - p.x;
    s.dy = y2 - s.y1;
    s.what = kind::ordinary;
    if (s.dx.is_zero() || p.is_infinity() || q.is_infinity()) begin_special(p, q, y2, s);
  }

  [[gnu::noinline]] static void begin_special(const point& p, const point& q, const coordinate& y2, step& s) {
    if (!p.is_infinity() && !q.is_infinity() && s.dy.is_zero()) {
      const coordinate xx = s.x1.squared();
      s.dx = s.y1.doubled();  // neither group has a point of order two
      s.dy = xx.doubled() + xx;
      s.what = kind::doubling;
      return;
    }
    if (p.is_infinity()) {
      s.x1 = q.x;
      s.y1 = y2;
    } else if (!q.is_infinity()) {
      s.x1 = s.y1 = coordinate::zero();
    }
    s.dx = coordinate::one();
    s.what = kind::known;
  }

  static void invert(std::array<coordinate, chains>& values) {
    std::array<coordinate, chains> before;
    coordinate all = coordinate::one();
    for (std::size_t k = 0; k < chains; ++k) {
      before[k] = all;
      all *= values[k];
    }
    coordinate inverse = all.inverse();
    for (std::size_t k = chains; k-- > 0;) {
      const coordinate own = inverse * before[k];
      inverse *= values[k];
      values[k] = own;
    }
  }

  // The sums of N additions, each with the running inverse of its chain.
  template <std::size_t N>
  static void finish(const step* s, coordinate* inverse, const addition* additions, point* target) {
    std::array<coordinate, N> slope;
    std::array<point, N> sum;
    for (std::size_t k = 0; k < N; ++k) slope[k] = times(inverse[k], s[k].before);
    for (std::size_t k = 0; k < N; ++k) inverse[k] = times(inverse[k], s[k].dx);
    for (std::size_t k = 0; k < N; ++k) slope[k] = times(slope[k], s[k].dy);
    for (std::size_t k = 0; k < N; ++k) {
      sum[k].x = coordinate::template square<WithAdx>(slope[k]) - s[k].x1.doubled() - s[k].dx;
    }
    for (std::size_t k = 0; k < N; ++k) sum[k].y = times(slope[k], s[k].x1 - sum[k].x) - s[k].y1;
    for (std::size_t k = 0; k < N; ++k) {
      if (s[k].what != kind::ordinary) finish_special(s[k], slope[k], sum[k]);
      target[additions[k].out] = sum[k];
    }
  }

  [[gnu::noinline]] static void finish_special(const step& s, const coordinate& slope, point& sum) {
    sum = {s.x1, s.y1};
    if (s.what == kind::known) return;
    sum.x = slope.squared() - s.x1.doubled();
    sum.y = slope * (s.x1 - sum.x) - s.y1;
  }
};

template <class G>
void add(const addition_job& job) {
  multiply_with_adx ? scalar_addition<G, true>::add(job) : scalar_addition<G, false>::add(job);
}

template <class G>
void import_points(const u64* outside, std::size_t count, u64* records) {
  std::memcpy(records, outside, count * sizeof(affine<G>));
}

template <class G>
void copy_points(const u64* source, u64* target, const addition* copies, std::size_t count) {
  constexpr std::size_t ahead = 8;
  const auto* const from = reinterpret_cast<const affine<G>*>(source);
  auto* const to = reinterpret_cast<affine<G>*>(target);
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) __builtin_prefetch(&from[copies[i + ahead].left & ~kNegated]);
    const affine<G>& p = from[copies[i].left & ~kNegated];
    to[copies[i].out] = {p.x, p.y.negated_if((copies[i].left & kNegated) != 0)};
  }
}

template <class G>
void combine(const u64* records, const std::uint32_t* slots, std::size_t windows, std::size_t width, u64* outside) {
  const auto* const points = reinterpret_cast<const affine<G>*>(records);
  xyzz<G> sum = xyzz<G>::infinity();
  for (std::size_t bit = windows * width; bit-- > 0;) {
    sum = sum.doubled();
    if (slots[bit] != vector::kAbsent) sum += points[slots[bit]];
  }
  const affine<G> result = sum.to_affine();
  std::memcpy(outside, &result, sizeof result);
}

}  // namespace

template <class G>
const vector::group_kernels& scalar_kernels() noexcept {
  static constexpr std::size_t words = sizeof(affine<G>) / sizeof(u64);
  static constexpr vector::group_kernels kernels{
      words,          words,  1,         scalar_addition<G, false>::workspace_words, import_points<G>,
      copy_points<G>, add<G>, combine<G>};
  return kernels;
}

template const vector::group_kernels& scalar_kernels<bn254::g1>() noexcept;
template const vector::group_kernels& scalar_kernels<bn254::g2>() noexcept;
template const vector::group_kernels& scalar_kernels<bls12_381::g1>() noexcept;
template const vector::group_kernels& scalar_kernels<bls12_381::g2>() noexcept;

}  // namespace prover::msm
