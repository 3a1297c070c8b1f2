// Records into histograms. Cells of a series with fixed bounds: the sum, then the buckets.
#include <bit>
#include <cmath>
#include <telltale/core/histogram.hpp>

#include "exponential.hpp"
#include "refused.hpp"

namespace telltale {

namespace detail {

constinit std::atomic<std::uint64_t> refused_values{0};

namespace {

bool is_finite(double v) noexcept {
  if (std::isfinite(v)) [[likely]]
    return true;
  refused_values.fetch_add(1, std::memory_order_relaxed);
  return false;
}

// `get_series` is asked only where an exemplar is kept.
template <class F>
[[gnu::always_inline]] inline void count(metric_cell* mine, const bucket_bounds& bounds, double v,
                                         F get_series) noexcept {
  const std::uint32_t bucket = bounds.bucket_of(v);
  const double sum = std::bit_cast<double>(mine[0].load(std::memory_order_relaxed)) + v;
  mine[0].store(std::bit_cast<std::uint64_t>(sum), std::memory_order_relaxed);
  const std::uint64_t before = add_to(&mine[1 + bucket], 1);
  if (keeps_exemplar(before, before + 1)) [[unlikely]]
    keep_exemplar(*get_series(), bucket, v);
}

}  // namespace

}  // namespace detail

void histogram::record(double v) noexcept {
  detail::metric_cell* mine = detail::find_cell(plain_cell());
  if (mine == nullptr) [[unlikely]]
    return bound_histogram(plain()).record(v);
  if (detail::is_finite(v)) [[likely]]
    detail::count(mine, bounds_, v, [this] { return plain(); });
}

void bound_histogram::record(double v) const noexcept {
  detail::metric_cell* mine = detail::cell_of(cell_);
  if (mine != nullptr && detail::is_finite(v)) [[likely]]
    detail::count(mine, *bounds_, v, [this] { return series_; });
}

void bound_exponential_histogram::record(double v) const noexcept {
  detail::metric_cell* mine = detail::cell_of(cell_);
  if (mine == nullptr || !detail::is_finite(v)) [[unlikely]]
    return;
  const std::uint64_t before = detail::record_exponential(mine, v);
  if (detail::keeps_exemplar(before, before + 1)) [[unlikely]] {
    const int power = v == 0 ? 0 : std::ilogb(v);
    detail::keep_exemplar(*series_, static_cast<std::uint32_t>(power) % detail::exponential_exemplars, v);
  }
}

}  // namespace telltale
