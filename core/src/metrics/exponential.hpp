// The exponential histogram of the OpenTelemetry data model: which bucket a value belongs to, and how one thread keeps
// its buckets in cells while others read them.
//
// At scale s the buckets' bounds are the powers of 2^(2^-s); bucket i holds (base^i, base^(i+1)]. A thread starts at
// scale 20 and halves its resolution (two neighbours become one) whenever its values need more than 160 buckets. Each
// thread does so by itself; reading brings all to the coarsest scale, which loses nothing more than that.
//
// Cells of a series: 0 sequence, 1 sum, 2 zeros, 3 halvings (20 - scale), then for positive and for negative values
// the window and 160 buckets. The window is the lowest index (low half, signed) and how many follow (high half); the
// bucket of index i lies at i modulo 160, so a growing window moves nothing. Only halving moves counts, and is what
// the sequence number is for: odd meanwhile.
#pragma once

#include <cmath>
#include <cstdint>
#include <telltale/core/detail/cells.hpp>
#include <telltale/core/metric_snapshot.hpp>

namespace telltale::detail {

inline constexpr std::int32_t max_scale = 20;
inline constexpr std::int32_t min_scale = -10;
inline constexpr std::int32_t max_exponential_buckets = 160;
inline constexpr std::uint32_t exponential_cells = 4 + 2 * (1 + max_exponential_buckets);
inline constexpr std::uint32_t exponential_exemplars = 16;  // one per power of two, modulo 16

// The index of the bucket of v > 0. Exact where scale <= 0 and for powers of two; elsewhere a value within a rounding
// error of a bound may lie on either side of it.
inline std::int32_t exponential_index(double v, std::int32_t scale) noexcept {
  int exponent = 0;
  const double fraction = std::frexp(v, &exponent);  // v = fraction · 2^exponent, fraction in [0.5, 1)
  const bool is_power = fraction == 0.5;
  if (scale <= 0) return (is_power ? exponent - 2 : exponent - 1) >> -scale;
  const std::int32_t below = (exponent - 1) * (1 << scale);  // the index after the power of two that is not above v
  if (is_power) return below - 1;
  const auto within = static_cast<std::int32_t>(std::ceil(std::log2(fraction * 2) * (1 << scale))) - 1;
  return below + (within < 0 ? 0 : within >= 1 << scale ? (1 << scale) - 1 : within);
}

// base^index: the upper bound of the bucket before `index`. Infinite where no double can hold it.
inline double exponential_bound(std::int32_t index, std::int32_t scale) noexcept {
  if (scale > 0) return std::exp2(std::ldexp(static_cast<double>(index), -scale));
  const std::int64_t power = static_cast<std::int64_t>(index) * (std::int64_t{1} << -scale);
  return std::ldexp(1.0, static_cast<int>(power > 2000 ? 2000 : power < -2000 ? -2000 : power));
}

// By how many halvings indices from `low` to `high` fit into 160 buckets.
inline std::int32_t halvings_for(std::int64_t low, std::int64_t high) noexcept {
  std::int32_t n = 0;
  while (high - low >= max_exponential_buckets) {
    low >>= 1;
    high >>= 1;
    ++n;
  }
  return n;
}

// Records v into this thread's cells; v is finite. Returns the count that its bucket had before.
std::uint64_t record_exponential(metric_cell* cells, double v) noexcept;

// One thread's cells as they are, added to a point (which starts as a default exponential_point of scale 20).
void add_exponential(exponential_point& to, const metric_cell* cells);

// Halves the resolution of a point `times` times.
void halve(exponential_point& p, std::int32_t times);

}  // namespace telltale::detail
