// Histograms: how values are distributed, counted without contention.
//
//   constinit telltale::histogram latency{"prover.proof.duration", "how long a proof takes", "s"};
//   constinit telltale::histogram rows{"store.rows", "rows per query", "{row}", {1, 10, 100, 1000}};
//   constinit telltale::exponential_histogram bytes{"http.body.size", "bytes per request", "By"};
//
//   latency.record(seconds);
//   latency.record(seconds, "kind"_a = "groth16");
//
// A value lies in the first bucket whose bound is not below it. The exponential kind needs no bounds: it keeps up to
// 160 buckets per sign whose bounds grow by a factor, and halves its resolution where the range outgrows them, as the
// OpenTelemetry data model has it. A value that is not finite is not recorded, and counted (telltale.metric.refused).
// instrument.hpp says what holds for all instruments.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <telltale/core/instrument.hpp>

namespace telltale {

inline constexpr std::size_t max_bounds = 64;

// Upper bounds of buckets, inclusive: 1 to 64 finite numbers, each above the one before. Others don't compile where
// the histogram is a constant, and throw std::invalid_argument where it is made at run time.
class bucket_bounds {
 public:
  constexpr bucket_bounds(std::initializer_list<double> bounds)  // NOLINT(google-explicit-constructor)
      : bucket_bounds(std::span<const double>(bounds.begin(), bounds.size())) {}
  constexpr explicit bucket_bounds(std::span<const double> bounds)
      : size_(static_cast<std::uint32_t>(bounds.size())), first_half_(std::bit_ceil(size_) / 2) {
    if (bounds.empty() || bounds.size() > max_bounds) throw std::invalid_argument("a histogram has 1 to 64 bounds");
    for (double& v : values_) v = std::numeric_limits<double>::infinity();
    double last = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      if (!(bounds[i] > last && bounds[i] < std::numeric_limits<double>::infinity())) {
        throw std::invalid_argument("the bounds of a histogram are finite and increase");
      }
      last = values_[i] = bounds[i];
    }
  }
  // Those that OpenTelemetry gives: seconds get 5 ms to 10 s, everything else 0 to 10,000.
  static constexpr bucket_bounds for_unit(std::string_view unit) {
    if (unit == "s") return {0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10};
    return {0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000};
  }

  constexpr std::span<const double> values() const noexcept { return {values_, size_}; }

  // The number of the bucket that `v` belongs to: how many bounds are below it. Halving leaves sixteen, and these are
  // compared all at once: in a chain of comparisons each waits for the one before, and the next value for them all.
  std::uint32_t bucket_of(double v) const noexcept {
    std::uint32_t below = 0;
    for (std::uint32_t half = first_half_; half > at_once / 2; half /= 2) {
      below += values_[below + half - 1] < v ? half : 0;
    }
    using two_values [[gnu::vector_size(16)]] = double;
    using two_counts [[gnu::vector_size(16)]] = std::int64_t;
    const double* left = &values_[below];
    two_counts even{};
    two_counts odd{};
#pragma GCC unroll 4
    for (std::uint32_t i = 0; i < at_once; i += 4) {
      two_values first;
      two_values second;
      __builtin_memcpy(&first, left + i, sizeof first);
      __builtin_memcpy(&second, left + i + 2, sizeof second);
      even -= first < v;  // -1 where it holds
      odd -= second < v;
    }
    even += odd;
    return below + static_cast<std::uint32_t>(even[0] + even[1]);
  }

 private:
  static constexpr std::uint32_t at_once = 16;

  double values_[max_bounds + 1] = {};  // infinite above the last
  std::uint32_t size_;
  std::uint32_t first_half_;
};

namespace detail {
TELLTALE_EXPORT const bucket_bounds& bounds_of(const series& s) noexcept;
}

// A series of a histogram, looked up once. Copy it freely; it is good for the life of the process.
class bound_histogram {
 public:
  TELLTALE_EXPORT void record(double v) const noexcept;

 private:
  friend class histogram;
  explicit bound_histogram(detail::series* s) noexcept
      : bounds_(&detail::bounds_of(*s)), series_(s), cell_(detail::first_cell(*s)) {}
  const bucket_bounds* bounds_;
  detail::series* series_;
  std::uint32_t cell_;
};

class histogram : public instrument {
 public:
  constexpr histogram(std::string_view name, std::string_view description, std::string_view unit = {})
      : histogram(name, description, unit, bucket_bounds::for_unit(unit)) {}
  constexpr histogram(std::string_view name, std::string_view description, std::string_view unit,
                      const bucket_bounds& bounds, instrument_options o = {}) noexcept
      : instrument(metric_kind::histogram, name, description, unit, o), bounds_(bounds) {}

  TELLTALE_EXPORT void record(double v) noexcept;
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  void record(double v, const A&... labels) noexcept {
    with(labels...).record(v);
  }
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  bound_histogram with(const A&... labels) noexcept {
    return bound_histogram(series_of(labels...));
  }
  const bucket_bounds& bounds() const noexcept { return bounds_; }

 private:
  bucket_bounds bounds_;
};

class bound_exponential_histogram {
 public:
  TELLTALE_EXPORT void record(double v) const noexcept;

 private:
  friend class exponential_histogram;
  explicit bound_exponential_histogram(detail::series* s) noexcept : series_(s), cell_(detail::first_cell(*s)) {}
  detail::series* series_;
  std::uint32_t cell_;
};

class exponential_histogram : public instrument {
 public:
  constexpr exponential_histogram(std::string_view name, std::string_view description, std::string_view unit = {},
                                  instrument_options o = {}) noexcept
      : instrument(metric_kind::exponential_histogram, name, description, unit, o) {}

  template <detail::label... A>
  void record(double v, const A&... labels) noexcept {
    with(labels...).record(v);
  }
  template <detail::label... A>
  bound_exponential_histogram with(const A&... labels) noexcept {
    if constexpr (sizeof...(A) == 0) {
      return bound_exponential_histogram(plain());
    } else {
      return bound_exponential_histogram(series_of(labels...));
    }
  }
};

}  // namespace telltale
