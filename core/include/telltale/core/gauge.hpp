// Gauges: a value as it is now.
//
//   constinit telltale::gauge temperature{"device.temperature", "of the hottest sensor", "Cel"};
//   temperature.set(71.5);
//   temperature.set(71.5, "device"_a = 0);
//
// The last writer wins, so all threads write one place: for what changes often and on many threads use an
// up_down_counter, and for what can be asked for at any time a callback (callback.hpp).
// instrument.hpp says what holds for all instruments.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <telltale/core/instrument.hpp>

namespace telltale {

namespace detail {
TELLTALE_EXPORT std::atomic<std::uint64_t>& gauge_value(series& s) noexcept;
}

// A series of a gauge, looked up once. Copy it freely; it is good for the life of the process.
class bound_gauge {
 public:
  void set(double v) const noexcept { value_->store(std::bit_cast<std::uint64_t>(v), std::memory_order_relaxed); }
  void add(double v) const noexcept {
    std::uint64_t before = value_->load(std::memory_order_relaxed);
    while (!value_->compare_exchange_weak(before, std::bit_cast<std::uint64_t>(std::bit_cast<double>(before) + v),
                                          std::memory_order_relaxed)) {
    }
  }
  double value() const noexcept { return std::bit_cast<double>(value_->load(std::memory_order_relaxed)); }

 private:
  friend class gauge;
  explicit bound_gauge(detail::series* s) noexcept : value_(&detail::gauge_value(*s)) {}
  std::atomic<std::uint64_t>* value_;
};

class gauge : public instrument {
 public:
  constexpr gauge(std::string_view name, std::string_view description, std::string_view unit = {},
                  instrument_options o = {}) noexcept
      : instrument(metric_kind::gauge, name, description, unit, o) {}

  template <detail::label... A>
  void set(double v, const A&... labels) noexcept {
    with(labels...).set(v);
  }
  template <detail::label... A>
  void add(double v, const A&... labels) noexcept {
    with(labels...).add(v);
  }
  template <detail::label... A>
  bound_gauge with(const A&... labels) noexcept {
    if constexpr (sizeof...(A) == 0) {
      return bound_gauge(plain());
    } else {
      return bound_gauge(series_of(labels...));
    }
  }
};

}  // namespace telltale
