// Pippenger's method with signed digits, portable.
//
// 1. Sort out the scalars: zeros are skipped, scalars above r/2 negated (so -1 becomes 1), ones added up directly,
//    those below 2^64 kept apart from the full-size ones. Witnesses are full of the small kinds.
// 2. Per window of c bits: sort the points by digit, add each digit's points up as a tree of affine additions that
//    share one inversion per layer (6 multiplications an addition instead of 10), then sum digit * bucket.
// 3. Put the windows together by doubling.
#include "prover/msm/msm.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"
#include "prover/msm/affine_tree.hpp"
#include "prover/parallel/secret.hpp"

namespace prover::msm {
namespace {

constexpr std::size_t chunk = 4096;

// A scalar that is left to do, made positive, and its point.
struct term {
  integer<4> scalar;
  point_ref point;
};

enum class kind : std::uint8_t { zero, one, small, large };

struct classified {
  kind what;
  bool negative;
  integer<4> magnitude;
};

template <class Fr>
classified classify(const integer<4>& scalar) noexcept {
  integer<4> negated = Fr::modulus;
  subtract_from(negated, scalar);
  const bool negative = less(negated, scalar);
  const integer<4>& m = negative ? negated : scalar;
  const kind what = (m[1] | m[2] | m[3]) != 0 ? kind::large
                    : m[0] > 1                ? kind::small
                    : m[0] == 1               ? kind::one
                                              : kind::zero;
  return {what, negative, m};
}

// The scalars of a sum, sorted out.
struct sorted_terms {
  secret_vector<point_ref> ones;
  secret_vector<term> small;
  secret_vector<term> large;
  statistics counts;
};

template <class G>
sorted_terms sort_out(const point_set<G>& set, std::span<const integer<4>> scalars, thread_pool& pool) {
  using fr = typename G::curve::fr;
  const std::size_t n = set.points().size();
  const std::size_t chunks = (n + chunk - 1) / chunk;
  using counts = std::array<std::size_t, 4>;
  std::vector<counts> at(chunks + 1, counts{});
  pool.for_ranges(n, chunk, [&](std::size_t begin, std::size_t end) {
    counts c{};
    for (std::size_t i = begin; i < end; ++i) {
      ++c[static_cast<std::size_t>(classify<fr>(scalars[set.scalar_of(i)]).what)];
    }
    at[begin / chunk + 1] = c;
  });
  for (std::size_t k = 1; k <= chunks; ++k) {
    for (std::size_t j = 0; j < 4; ++j) at[k][j] += at[k - 1][j];
  }
  sorted_terms r;
  r.counts = {n, at[chunks][0], at[chunks][1], at[chunks][2], at[chunks][3]};
  r.ones.resize(r.counts.ones);
  r.small.resize(r.counts.small);
  r.large.resize(r.counts.large);
  pool.for_ranges(n, chunk, [&](std::size_t begin, std::size_t end) {
    counts next = at[begin / chunk];
    for (std::size_t i = begin; i < end; ++i) {
      const classified c = classify<fr>(scalars[set.scalar_of(i)]);
      const point_ref point(i, c.negative);
      const std::size_t place = next[static_cast<std::size_t>(c.what)]++;
      if (c.what == kind::one) r.ones[place] = point;
      if (c.what == kind::small) r.small[place] = {c.magnitude, point};
      if (c.what == kind::large) r.large[place] = {c.magnitude, point};
    }
  });
  return r;
}

template <class G>
xyzz<G> add_ones(std::span<const affine<G>> points, std::span<const point_ref> ones, thread_pool& pool) {
  const std::size_t grain = std::max(chunk, ones.size() / (4 * pool.threads()) + 1);
  std::vector<xyzz<G>> partial((ones.size() + grain - 1) / grain);
  pool.for_ranges(ones.size(), grain, [&](std::size_t begin, std::size_t end) {
    affine_tree<G> tree;
    xyzz<G> sum = xyzz<G>::infinity();
    for (std::size_t k = begin; k < end; k += chunk) {
      sum += tree.add_up(points, ones.subspan(k, std::min(chunk, end - k)));
    }
    partial[begin / grain] = sum;
  });
  xyzz<G> sum = xyzz<G>::infinity();
  for (const auto& p : partial) sum += p;
  return sum;
}

// How scalars of some width are cut into windows.
struct windows {
  unsigned width;  // c
  unsigned count;
  std::size_t buckets() const noexcept { return std::size_t{1} << (width - 1); }
};

// The width that needs the fewest multiplications: per window about 7 for every point and 24 for every bucket.
windows choose_windows(std::size_t n, unsigned bits) noexcept {
  windows best{};
  double best_cost = std::numeric_limits<double>::infinity();
  for (unsigned width = 2; width <= 16; ++width) {
    const unsigned count = (bits + 1 + width - 1) / width;
    const double cost =
        count * (7.0 * static_cast<double>(n) + 24.0 * static_cast<double>(std::size_t{1} << (width - 1)));
    if (cost < best_cost) {
      best_cost = cost;
      best = {width, count};
    }
  }
  return best;
}

// Adds 2^(c-1) to every digit but the last, so that digits read off afterwards, less 2^(c-1), are signed: no carry has
// to travel from window to window.
integer<4> digit_bias(const windows& w) noexcept {
  integer<4> bias{};
  for (unsigned i = 0; i + 1 < w.count; ++i) {
    const unsigned at = w.width * (i + 1) - 1;
    bias[at / 64] |= u64{1} << (at % 64);
  }
  return bias;
}

std::int32_t digit_at(const integer<4>& biased, const windows& w, unsigned window) noexcept {
  const unsigned at = window * w.width;
  u64 bits = biased[at / 64] >> (at % 64);
  if (at % 64 + w.width > 64 && at / 64 < 3) bits |= biased[at / 64 + 1] << (64 - at % 64);
  const auto raw = static_cast<std::int32_t>(bits & ((u64{1} << w.width) - 1));
  return window + 1 == w.count ? raw : raw - (std::int32_t{1} << (w.width - 1));
}

// One window's buckets over some of the terms: in place d the points with digit d, less those with digit -d.
template <class G>
std::vector<affine<G>> fill_buckets(std::span<const affine<G>> points, std::span<const term> terms, const windows& w,
                                    unsigned window) {
  const std::size_t buckets = w.buckets();
  // Counting sort by |digit|: starts[d] is where bucket d's points begin.
  std::vector<std::uint32_t> starts(buckets + 2, 0);
  secret_vector<std::int32_t> digits(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    digits[i] = digit_at(terms[i].scalar, w, window);
    ++starts[static_cast<std::size_t>(std::abs(digits[i])) + 1];
  }
  starts[1] = 0;  // digit zero adds nothing
  for (std::size_t d = 1; d < starts.size(); ++d) starts[d] += starts[d - 1];
  secret_vector<point_ref> sorted(starts.back());
  {
    std::vector<std::uint32_t> next(starts.begin(), starts.end() - 1);
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (digits[i] == 0) continue;
      sorted[next[static_cast<std::size_t>(std::abs(digits[i]))]++] = terms[i].point.negated_if(digits[i] < 0);
    }
  }

  std::vector<affine<G>> sums(buckets + 1, affine<G>::infinity());
  affine_tree<G> tree;
  for (std::size_t d = 1; d <= buckets;) {
    // As many whole buckets as fit a cache-sized tree, and at least one.
    std::size_t end = d + 1;
    while (end <= buckets && starts[end + 1] - starts[d] <= chunk) ++end;
    tree.add_up(points, std::span(sorted), std::span(starts).subspan(d, end - d + 1),
                std::span(sums).subspan(d, end - d));
    d = end;
  }
  return sums;
}

// One window's sum of digit * point over some of the terms: the sum of d * bucket_d, as the sum of all suffix sums.
template <class G>
xyzz<G> sum_window(std::span<const affine<G>> points, std::span<const term> terms, const windows& w, unsigned window) {
  const std::vector<affine<G>> buckets = fill_buckets<G>(points, terms, w, window);
  xyzz<G> suffix = xyzz<G>::infinity();
  xyzz<G> total = xyzz<G>::infinity();
  for (std::size_t d = w.buckets(); d >= 1; --d) {
    suffix += buckets[d];
    total += suffix;
  }
  return total;
}

// For each bit, the sum of the buckets whose number has it. The odd buckets give the lowest bit's; adding up each
// bucket with its neighbour drops that bit from all numbers.
template <class G>
std::vector<affine<G>> sum_by_bits(std::vector<affine<G>> buckets, unsigned width) {
  affine_tree<G> tree;
  std::vector<affine<G>> sums(width, affine<G>::infinity());
  std::vector<point_ref> refs;
  for (auto& sum : sums) {
    refs.clear();
    for (std::size_t d = 1; d < buckets.size(); d += 2) refs.emplace_back(d, false);
    sum = tree.add_up(buckets, refs);
    refs.clear();
    std::vector<std::uint32_t> starts{0};
    for (std::size_t d = 0; d < buckets.size(); ++d) {
      refs.emplace_back(d, false);
      if (d % 2 == 1 || d + 1 == buckets.size()) starts.push_back(static_cast<std::uint32_t>(d + 1));
    }
    std::vector<affine<G>> halved(starts.size() - 1);
    tree.add_up(buckets, refs, starts, std::span(halved));
    buckets = std::move(halved);
  }
  return sums;
}

void add_bias(std::span<term> terms, const windows& w, thread_pool& pool) {
  const integer<4> bias = digit_bias(w);
  pool.for_ranges(terms.size(), chunk, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) add_to(terms[i].scalar, bias);
  });
}

template <class G>
xyzz<G> pippenger(std::span<const affine<G>> points, std::span<term> terms, unsigned bits, thread_pool& pool) {
  if (terms.empty()) return xyzz<G>::infinity();
  // A window is one task; where there are too few of them for the threads, the terms are divided as well.
  const unsigned few = choose_windows(terms.size(), bits).count;
  const std::size_t parts = std::clamp<std::size_t>(2 * pool.threads() / few, 1, terms.size() / 256 + 1);
  const std::size_t part_size = (terms.size() + parts - 1) / parts;
  const windows w = choose_windows(part_size, bits);
  add_bias(terms, w, pool);

  std::vector<xyzz<G>> sums(w.count * parts);
  pool.for_each(sums.size(), [&](std::size_t task) {
    const std::size_t begin = std::min(terms.size(), (task % parts) * part_size);
    const std::size_t size = std::min(part_size, terms.size() - begin);
    sums[task] = sum_window<G>(points, terms.subspan(begin, size), w, static_cast<unsigned>(task / parts));
  });

  xyzz<G> total = xyzz<G>::infinity();
  for (std::size_t window = w.count; window-- > 0;) {
    for (unsigned i = 0; i < w.width; ++i) total = total.doubled();
    for (std::size_t part = 0; part < parts; ++part) total += sums[window * parts + part];
  }
  return total;
}

}  // namespace

template <class G>
point_set<G>::point_set(std::vector<affine<G>> all) : points_(std::move(all)), scalar_count_(points_.size()) {
  assert(scalar_count_ <= max_points);
  const auto is_infinity = [](const affine<G>& p) { return p.is_infinity(); };
  const auto infinities = static_cast<std::size_t>(std::count_if(points_.begin(), points_.end(), is_infinity));
  if (infinities == 0) return;
  index_.reserve(points_.size() - infinities);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); ++i) {
    if (points_[i].is_infinity()) continue;
    points_[kept++] = points_[i];
    index_.push_back(static_cast<std::uint32_t>(i));
  }
  points_.resize(kept);
  points_.shrink_to_fit();
}

template <class G>
point_set<G>::point_set(std::size_t given, std::size_t kept, memory& to_fill)
    : points_(kept), index_(kept == given ? 0 : kept), scalar_count_(given) {
  to_fill = {index_, points_};
}

template <class G>
sum_result<G> multiply_sum(const point_set<G>& set, std::span<const integer<4>> scalars, thread_pool& pool) {
  assert(scalars.size() == set.scalar_count());
  sorted_terms terms = sort_out(set, scalars, pool);
  constexpr auto large_bits = static_cast<unsigned>(G::curve::fr::modulus_bits - 1);  // |scalar| <= r / 2
  xyzz<G> sum = add_ones<G>(set.points(), terms.ones, pool);
  sum += pippenger<G>(set.points(), std::span(terms.small), 64, pool);
  sum += pippenger<G>(set.points(), std::span(terms.large), large_bits, pool);
  return {sum, terms.counts};
}

template <class G>
std::vector<affine<G>> digit_sums(const point_set<G>& set, std::span<const integer<4>> scalars, unsigned bits,
                                  thread_pool& pool) {
  assert(scalars.size() == set.scalar_count());
  std::size_t longest = 1;
  secret_vector<term> terms(set.points().size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i] = {scalars[set.scalar_of(i)], point_ref(i, false)};
    longest = std::max(longest, bit_length(terms[i].scalar));
  }
  if (terms.empty()) return {};
  const windows w = choose_windows(terms.size(), static_cast<unsigned>(longest));
  add_bias(terms, w, pool);
  const std::size_t per_window = (w.width + bits - 1) / bits;
  std::vector<affine<G>> results(w.count * per_window);
  pool.for_each(w.count, [&](std::size_t window) {
    const auto by_bits = sum_by_bits<G>(
        fill_buckets<G>(set.points(), std::span<const term>(terms), w, static_cast<unsigned>(window)), w.width);
    for (std::size_t k = 0; k < per_window; ++k) {
      xyzz<G> sum = xyzz<G>::infinity();
      for (std::size_t j = std::min<std::size_t>(w.width, (k + 1) * bits); j-- > k * bits;) {
        sum = sum.doubled();
        sum += by_bits[j];
      }
      results[window * per_window + k] = sum.to_affine();
    }
  });
  return results;
}

template class point_set<bn254::g1>;
template class point_set<bn254::g2>;
template class point_set<bls12_381::g1>;
template class point_set<bls12_381::g2>;
template sum_result<bn254::g1> multiply_sum(const point_set<bn254::g1>&, std::span<const integer<4>>, thread_pool&);
template sum_result<bn254::g2> multiply_sum(const point_set<bn254::g2>&, std::span<const integer<4>>, thread_pool&);
template sum_result<bls12_381::g1> multiply_sum(const point_set<bls12_381::g1>&, std::span<const integer<4>>,
                                                thread_pool&);
template sum_result<bls12_381::g2> multiply_sum(const point_set<bls12_381::g2>&, std::span<const integer<4>>,
                                                thread_pool&);

template std::vector<affine<bn254::g1>> digit_sums(const point_set<bn254::g1>&, std::span<const integer<4>>, unsigned,
                                                   thread_pool&);
template std::vector<affine<bn254::g2>> digit_sums(const point_set<bn254::g2>&, std::span<const integer<4>>, unsigned,
                                                   thread_pool&);
template std::vector<affine<bls12_381::g1>> digit_sums(const point_set<bls12_381::g1>&, std::span<const integer<4>>,
                                                       unsigned, thread_pool&);
template std::vector<affine<bls12_381::g2>> digit_sums(const point_set<bls12_381::g2>&, std::span<const integer<4>>,
                                                       unsigned, thread_pool&);

}  // namespace prover::msm
