// Tables and layers of the transforms. A layer combines elements `half` apart; once 2 * half elements fit into the
// second-level cache, all remaining layers of such a block are done before the next block is touched.
#include "prover/ntt/domain.hpp"

#include <array>
#include <cassert>
#include <map>
#include <mutex>

#include "prover/curve/bls12_381.hpp"
#include "prover/curve/bn254.hpp"

namespace prover::ntt {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 12;  // 128 KiB of elements
constexpr std::size_t grain = std::size_t{1} << 11;

std::size_t reverse_bits(std::size_t value, unsigned bits) noexcept {
  std::size_t r = 0;
  for (unsigned i = 0; i < bits; ++i) r |= ((value >> i) & 1) << (bits - 1 - i);
  return r;
}

}  // namespace

template <class Curve>
domain<Curve>::domain(unsigned log_size, thread_pool& pool) : log_size_(log_size) {
  assert(log_size <= max_log_size);
  const std::size_t n = size();
  roots_.resize(n);
  shifts_.resize(n);
  const std::size_t half = n / 2;
  if (half > 0) {
    const fr w = root_of_unity<Curve>(log_size);
    pool.for_ranges(half, grain, [&](std::size_t begin, std::size_t end) {
      fr power = w.power(small_integer<1>(begin));
      for (std::size_t j = begin; j < end; ++j, power *= w) roots_[half + j] = power;
    });
    for (std::size_t m = half / 2; m > 0; m /= 2) {
      for (std::size_t j = 0; j < m; ++j) roots_[m + j] = roots_[2 * m + 2 * j];
    }
  }
  const fr w2 = root_of_unity<Curve>(log_size + 1);
  const fr scale = fr::from_u64(n).inverse();
  pool.for_ranges(n, grain, [&](std::size_t begin, std::size_t end) {
    fr power = scale * w2.power(small_integer<1>(begin));
    for (std::size_t i = begin; i < end; ++i, power *= w2) shifts_[reverse_bits(i, log_size_)] = power;
  });
}

template <class Curve>
std::shared_ptr<const domain<Curve>> domain<Curve>::shared(unsigned log_size, thread_pool& pool) {
  static std::mutex mutex;
  static std::map<unsigned, std::weak_ptr<const domain>> in_use;
  {
    const std::lock_guard lock(mutex);
    if (auto found = in_use[log_size].lock()) return found;
  }
  auto made = std::make_shared<const domain>(log_size, pool);  // not under the lock: the pool may come back here
  const std::lock_guard lock(mutex);
  auto& slot = in_use[log_size];
  if (auto found = slot.lock()) return found;
  slot = made;
  return made;
}

// Elements begin..end of the layer's lower half; low points at the block's first element.
template <class Curve>
void domain<Curve>::interpolate_layer(fr* low, std::size_t half, std::size_t begin, std::size_t end) const noexcept {
  fr* high = low + half;
  if (begin == 0) {
    const fr u = low[0];
    low[0] = u + high[0];
    high[0] = u - high[0];
    ++begin;
  }
  // w^-j = -w^(half - j): the inverse transform needs no table of its own.
  const fr* root = roots_.data() + 2 * half;
  for (std::size_t j = begin; j < end; ++j) {
    const fr u = low[j];
    const fr v = high[j];
    low[j] = u + v;
    high[j] = (v - u) * root[-static_cast<std::ptrdiff_t>(j)];
  }
}

template <class Curve>
void domain<Curve>::evaluate_layer(fr* low, std::size_t half, std::size_t begin, std::size_t end) const noexcept {
  fr* high = low + half;
  const fr* root = roots_.data() + half;
  for (std::size_t j = begin; j < end; ++j) {
    const fr u = low[j];
    const fr v = j == 0 ? high[j] : high[j] * root[j];
    low[j] = u + v;
    high[j] = u - v;
  }
}

template <class Curve>
void domain<Curve>::interpolate(std::span<fr> values, thread_pool& pool) const {
  assert(values.size() == size());
  fr* const a = values.data();
  const std::size_t n = size();
  for (std::size_t half = n / 2; half >= block_size; half /= 2) {
    pool.for_ranges(n / 2, grain, [&](std::size_t begin, std::size_t end) {
      const std::size_t first = begin & (half - 1);
      interpolate_layer(a + 2 * (begin - first), half, first, first + (end - begin));
    });
  }
  pool.for_ranges(n, block_size, [&](std::size_t begin, std::size_t end) {
    for (std::size_t half = (end - begin) / 2; half > 0; half /= 2) {
      for (std::size_t k = begin; k < end; k += 2 * half) interpolate_layer(a + k, half, 0, half);
    }
  });
}

template <class Curve>
void domain<Curve>::shift(std::span<fr> coefficients, thread_pool& pool) const {
  assert(coefficients.size() == size());
  pool.for_ranges(size(), grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) coefficients[i] *= shifts_[i];
  });
}

template <class Curve>
void domain<Curve>::evaluate(std::span<fr> coefficients, thread_pool& pool) const {
  assert(coefficients.size() == size());
  fr* const a = coefficients.data();
  const std::size_t n = size();
  pool.for_ranges(n, block_size, [&](std::size_t begin, std::size_t end) {
    for (std::size_t half = 1; half < end - begin; half *= 2) {
      for (std::size_t k = begin; k < end; k += 2 * half) evaluate_layer(a + k, half, 0, half);
    }
  });
  for (std::size_t half = block_size; half < n; half *= 2) {
    pool.for_ranges(n / 2, grain, [&](std::size_t begin, std::size_t end) {
      const std::size_t first = begin & (half - 1);
      evaluate_layer(a + 2 * (begin - first), half, first, first + (end - begin));
    });
  }
}

template class domain<bn254>;
template class domain<bls12_381>;

}  // namespace prover::ntt
