// The last step of a multi-scalar multiplication: from one point per bit of every window to the result. Jacobian
// coordinates, one window per lane; then the windows' sums one after the other.
// Formulas: https://hyperelliptic.org/EFD, shortw-jacobian-0, dbl-2009-l and the textbook mixed addition.
#pragma once
#include "group_kernels.h"
#include "lane_inverse.h"
#include "records.h"

namespace prover::vector {

template <class F>
struct combination {
  using V = typename F::vector;
  using B = typename F::base;
  using R = records<F>;
  using E = typename F::element;
  using mask = typename V::mask;
  static constexpr std::size_t lanes = V::lanes;
  static constexpr mask kAll = (mask{1} << lanes) - 1;

  struct jacobian {
    E x, y, z;
    mask infinite;
  };

  static void run(const std::uint64_t* records, const std::uint32_t* slots, std::size_t windows, std::size_t width,
                  std::uint64_t* outside) {
    jacobian total{F::one(), F::one(), F::one(), kAll};
    for (std::size_t group = (windows + lanes - 1) / lanes; group-- > 0;) {
      const jacobian sums = sum_bits(records, slots, group * lanes, windows, width);
      // One affine point per lane; a lane at infinity keeps z = 1.
      E inverse;
      invert_lanes<F>(F::select(sums.infinite, F::one(), sums.z), inverse);
      const E inverse2 = F::mul_called(inverse, inverse);
      const typename R::point p{F::mul_called(sums.x, inverse2),
                                F::mul_called(sums.y, F::mul_called(inverse2, inverse))};
      for (unsigned lane = lanes; lane-- > 0;) {
        if (group * lanes + lane >= windows) continue;
        for (std::size_t i = 0; i < width; ++i) total = twice(total);
        const mask infinite = (sums.infinite >> lane & 1) != 0 ? kAll : 0;
        total = add(total, {F::broadcast_lane(p.x, lane), F::broadcast_lane(p.y, lane)}, infinite);
      }
    }
    write(total, outside);
  }

 private:
  static jacobian sum_bits(const std::uint64_t* records, const std::uint32_t* slots, std::size_t first,
                           std::size_t windows, std::size_t width) {
    static constexpr std::uint64_t infinity[R::words] = {};
    jacobian sum{F::one(), F::one(), F::one(), kAll};
    for (std::size_t bit = width; bit-- > 0;) {
      const std::uint64_t* rows[lanes];
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const std::size_t window = first + lane;
        const std::uint32_t slot = window < windows ? slots[window * width + bit] : kAbsent;
        rows[lane] = slot == kAbsent ? infinity : records + std::size_t{slot} * R::words;
      }
      mask infinite;
      const typename R::point p = R::load(rows, infinite);
      sum = add(twice(sum), p, infinite);
    }
    return sum;
  }

  // Values below 2 p to values below 1.1 p.
  [[gnu::noinline]] static E minus(const E& a, const E& b) { return F::reduce(F::template sub<3>(a, b)); }
  [[gnu::noinline]] static E times2(const E& a) { return F::reduce(F::template sub<1>(F::add(a, a), F::zero())); }

  [[gnu::noinline]] static jacobian twice(const jacobian& p) {
    const E a = F::mul_called(p.x, p.x), b = F::mul_called(p.y, p.y), c = F::mul_called(b, b);
    const E d = times2(times2(F::mul_called(p.x, b)));
    const E e = F::reduce(F::template sub<1>(F::add(F::add(a, a), a), F::zero()));
    jacobian r;
    r.x = minus(F::mul_called(e, e), times2(d));
    r.y = minus(F::mul_called(e, minus(d, r.x)), times2(times2(times2(c))));
    r.z = times2(F::mul_called(p.y, p.z));
    r.infinite = p.infinite;  // neither group has a point of order two
    return r;
  }
  [[gnu::noinline]] static jacobian add(const jacobian& p, const typename R::point& q, mask q_infinite) {
    const E zz = F::mul_called(p.z, p.z);
    const E h = minus(F::mul_called(q.x, zz), p.x);
    const E s = minus(F::mul_called(q.y, F::mul_called(zz, p.z)), p.y);
    const E hh = F::mul_called(h, h), hhh = F::mul_called(hh, h), v = F::mul_called(p.x, hh);
    jacobian r;
    r.x = minus(minus(F::mul_called(s, s), hhh), times2(v));
    r.y = minus(F::mul_called(s, minus(v, r.x)), F::mul_called(p.y, hhh));
    r.z = F::mul_called(p.z, h);
    const mask finite = ~(p.infinite | q_infinite) & kAll;
    const mask same_x = F::is_zero(h) & finite, same = same_x & F::is_zero(s);
    r.infinite = (p.infinite & q_infinite) | (same_x & ~same);
    if (same != 0) r = select(same, twice(p), r);
    r = select(p.infinite & ~q_infinite & kAll, {q.x, q.y, F::one(), 0}, r);
    return select(q_infinite, p, r);
  }
  static jacobian select(mask m, const jacobian& yes, const jacobian& no) {
    return {F::select(m, yes.x, no.x), F::select(m, yes.y, no.y), F::select(m, yes.z, no.z),
            (yes.infinite & m) | (no.infinite & ~m)};
  }

  static void write(const jacobian& p, std::uint64_t* outside) {
    for (std::size_t i = 0; i < R::outside_words; ++i) outside[i] = 0;
    if ((p.infinite & 1) != 0) return;
    const E z = F::broadcast_lane(p.z, 0);
    E inverse;
    invert_lanes<F>(z, inverse);
    const E inverse2 = F::mul_called(inverse, inverse);
    const typename R::point affine{F::mul_called(p.x, inverse2), F::mul_called(p.y, F::mul_called(inverse2, inverse))};
    for (std::size_t c = 0; c < R::parts; ++c) {
      typename V::word w[B::W];
      B::pack(B::canonical(B::mul_called(R::part(affine, c), B::constant(B::constants::to_outside))), w);
      for (std::size_t i = 0; i < B::W; ++i) {
        std::uint64_t out[lanes];
        V::store(out, w[i]);
        outside[c * B::W + i] = out[0];
      }
    }
  }
};

// target[out] = left, negated where bit 31 says so. Plain word arithmetic: the work is one cache miss each.
template <class F>
void copy_points(const std::uint64_t* source, std::uint64_t* target, const addition* copies, std::size_t count) {
  using B = typename F::base;
  using R = records<F>;
  constexpr auto p = B::constants::modulus;
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kAhead < count) {
      const std::uint64_t* next = source + std::size_t{copies[i + kAhead].left & ~kNegated} * R::words;
      for (std::size_t line = 0; line < R::words; line += 8) __builtin_prefetch(next + line);
    }
    const std::uint64_t* from = source + std::size_t{copies[i].left & ~kNegated} * R::words;
    std::uint64_t* to = target + std::size_t{copies[i].out} * R::words;
    for (std::size_t j = 0; j < R::words; ++j) to[j] = from[j];
    if ((copies[i].left & kNegated) == 0) continue;
    for (std::size_t c = F::components; c < R::parts; ++c) {
      std::uint64_t* y = to + c * R::stride;
      std::uint64_t borrow = 0;
      for (std::size_t j = 0; j < B::W; ++j) {
        const std::uint64_t twice_p = p.w[j] << 1 | (j > 0 ? p.w[j - 1] >> 63 : 0);
        const std::uint64_t t = twice_p - y[j];
        const std::uint64_t out_borrow = std::uint64_t{twice_p < y[j]} | std::uint64_t{t < borrow};
        y[j] = t - borrow;
        borrow = out_borrow;
      }
    }
  }
}

// Points in the outside form to records. Nothing is checked; infinity must not be among them.
template <class F>
void import_points(const std::uint64_t* outside, std::size_t count, std::uint64_t* records_out) {
  using V = typename F::vector;
  using B = typename F::base;
  using R = records<F>;
  for (std::size_t begin = 0; begin < count; begin += V::lanes) {
    typename R::point p;
    std::uint64_t* rows[V::lanes];
    const auto index = [&](std::size_t lane) { return begin + lane < count ? begin + lane : count - 1; };
    for (std::size_t c = 0; c < R::parts; ++c) {
      typename V::word w[B::W];
      for (std::size_t i = 0; i < B::W; ++i) {
        std::uint64_t lane_words[V::lanes];
        for (std::size_t lane = 0; lane < V::lanes; ++lane)
          lane_words[lane] = outside[index(lane) * R::outside_words + c * B::W + i];
        w[i] = V::load(lane_words);
      }
      const typename B::element t = B::mul_called(B::unpack(w), B::constant(B::constants::from_outside));
      R::part(p, c) = B::reduce(B::template sub<1>(t, B::zero()));
    }
    for (std::size_t lane = 0; lane < V::lanes; ++lane) rows[lane] = records_out + index(lane) * R::words;
    R::store(rows, p);
  }
}

}  // namespace prover::vector
