// Instruments whose value is asked for: when a snapshot is taken, their function is called.
//
//   telltale::callback_gauge depth{"queue.depth", "jobs that wait", "{job}", [&] { return queue.size(); }};
//   telltale::callback_gauge used{"device.memory.used", "", "By", [&](telltale::observer& o) {
//     for (const device& d : devices) o.observe(d.used(), "device"_a = d.index);
//   }};
//
// An object that registers when it is made and is gone when it is destroyed, which waits for a call that is running.
// The functions run one at a time, on the thread that takes the snapshot: they must not take snapshots, nor make or
// destroy callback instruments. One that throws gives no values that time (telltale.metric.callback_errors).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <telltale/core/instrument.hpp>
#include <type_traits>
#include <utility>
#include <variant>

namespace telltale {

// Takes the values of one callback. Of two with the same labels the later one holds; sets of labels above
// options::max_series are left out and counted as overflows.
class observer {
 public:
  template <class N, detail::label... A>
    requires std::is_arithmetic_v<N>
  void observe(N value, const A&... labels) {
    static_assert(sizeof...(A) <= detail::max_labels, "telltale: a series has at most 32 labels");
    static_assert(detail::distinct_keys<A...>(), "telltale: two labels of this call have the same key");
    if constexpr (sizeof...(A) == 0) {
      take(number(value), nullptr, 0);
    } else {
      const detail::label_view views[] = {detail::label_from(labels)...};
      take(number(value), views, sizeof...(A));
    }
  }

 protected:
  observer() = default;
  ~observer() = default;

 private:
  using either = std::variant<std::int64_t, double>;
  template <class N>
  static either number(N value) noexcept {
    if constexpr (std::is_integral_v<N>) {
      return static_cast<std::int64_t>(value);
    } else {
      return static_cast<double>(value);
    }
  }
  virtual void take(either value, const detail::label_view* labels, std::size_t count) = 0;
};

namespace detail {

class TELLTALE_EXPORT callback {
 public:
  callback(metric_kind kind, std::string_view name, std::string_view description, std::string_view unit,
           std::function<void(observer&)> f);
  ~callback();
  callback(const callback&) = delete;
  callback& operator=(const callback&) = delete;

 protected:
  template <class F>
  static std::function<void(observer&)> observing(F f) {
    if constexpr (std::is_invocable_v<F&, observer&>) {
      return f;
    } else {
      return [f = std::move(f)](observer& o) mutable { o.observe(f()); };
    }
  }
};

}  // namespace detail

// A value as it is now.
class callback_gauge : public detail::callback {
 public:
  template <class F>
  callback_gauge(std::string_view name, std::string_view description, std::string_view unit, F f)
      : callback(metric_kind::gauge, name, description, unit, observing(std::move(f))) {}
};

// A sum that somebody else keeps and that only grows.
class callback_counter : public detail::callback {
 public:
  template <class F>
  callback_counter(std::string_view name, std::string_view description, std::string_view unit, F f)
      : callback(metric_kind::counter, name, description, unit, observing(std::move(f))) {}
};

}  // namespace telltale
