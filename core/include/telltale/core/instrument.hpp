// What counters, gauges and histograms have in common: a name, a unit, labels and their limit.
//
//   constinit telltale::counter served{"shop.orders", "orders served", "{order}"};
//
//   served.add();                                                // one line, from any thread
//   served.add(2, "route"_a = "/pay", "status"_a = 200);          // a series per set of labels
//   const auto paid = served.with("route"_a = "/pay");           // the same series, looked up once: for hot loops
//   paid.add();
//
// Names are OpenTelemetry's: lower case, dots, no unit in them ("prover.proof.duration", "s"); Prometheus' names are
// made from them. Units are UCUM's: "s", "By", "1", or what is counted in braces: "{proof}".
//
// An instrument is an object of static storage duration, constant-initialised: it can be used at any time, also in
// static constructors and destructors, and registers itself when it is first used. Objects of the same name, kind and
// unit are one instrument. A name that comes a second time with something else is not exported, and stderr says so.
//
// Labels are attributes (attribute.hpp): numbers, literals, named enums, ids that opted in, text{…} said explicitly.
// An instrument has at most `max_series` sets of labels (options::max_series by default). What comes after those is
// aggregated in one series, otel.metric.overflow="true", and telltale.metric.overflows counts it.
//
// Recording is wait-free and allocates nothing once the thread has recorded into the series before; the first use of
// a series takes a lock that is held shortly. Not for signal handlers.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <telltale/core/attribute.hpp>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/cells.hpp>

namespace telltale {

enum class metric_kind : std::uint8_t {
  counter,                // a sum that only grows
  up_down_counter,        // a sum that also shrinks
  gauge,                  // a value as it is now; not to be summed
  histogram,              // counts between fixed bounds
  exponential_histogram,  // counts between bounds that grow by a factor
};

struct instrument_options {
  std::uint32_t max_series = 0;  // the overflow's included; 0: options::max_series
};

namespace detail {

struct metric_state;  // what all objects of one instrument share; never freed
struct series;        // one set of labels of it; never freed

// A label as a call passes it.
struct label_view {
  std::string_view key;
  std::uint64_t key_hash;
  attribute_type type;
  std::uint64_t bits;
  std::string_view text;
};

// FNV-1a, at compile time.
consteval std::uint64_t hash_of_key(std::string_view key) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (const char c : key) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return h;
}

template <class A>
constexpr label_view label_from(const A& a) noexcept {
  constexpr std::uint64_t hash = hash_of_key(A::key);
  if constexpr (A::type == attribute_type::string) {
    return {A::key, hash, A::type, 0, a.value};
  } else if constexpr (A::type == attribute_type::uint64) {
    // 200 and 200u are the same label.
    const bool fits = a.bits <= static_cast<std::uint64_t>(INT64_MAX);
    return {A::key, hash, fits ? attribute_type::int64 : A::type, a.bits, {}};
  } else {
    return {A::key, hash, A::type, a.bits, {}};
  }
}

template <class... A>
consteval bool distinct_keys() {
  const std::array<std::string_view, sizeof...(A)> keys{A::key...};
  for (std::size_t i = 0; i < keys.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (keys[i] == keys[k]) return false;
    }
  }
  return true;
}

template <class T>
concept label = requires {
  { T::key } -> std::convertible_to<std::string_view>;
  { T::type } -> std::convertible_to<attribute_type>;
};

inline constexpr std::size_t max_labels = 32;

}  // namespace detail

class instrument {
 public:
  instrument(const instrument&) = delete;
  instrument& operator=(const instrument&) = delete;

  std::string_view name() const noexcept { return name_; }
  std::string_view description() const noexcept { return description_; }
  std::string_view unit() const noexcept { return unit_; }
  metric_kind kind() const noexcept { return kind_; }

 protected:
  // The texts must outlive the first use (literals do).
  constexpr instrument(metric_kind kind, std::string_view name, std::string_view description, std::string_view unit,
                       instrument_options o) noexcept
      : name_(name), description_(description), unit_(unit), max_series_(o.max_series), kind_(kind) {}

  // The series without labels, registering the instrument first where that has not happened.
  TELLTALE_EXPORT detail::series* plain() noexcept;
  // The series of these labels; the overflow's where there is no room for another.
  TELLTALE_EXPORT detail::series* find(detail::label_view* labels, std::size_t count) noexcept;

  template <detail::label... A>
  detail::series* series_of(const A&... a) noexcept {
    static_assert(sizeof...(A) <= detail::max_labels, "telltale: a series has at most 32 labels");
    static_assert(detail::distinct_keys<A...>(), "telltale: two labels of this call have the same key");
    detail::label_view labels[] = {detail::label_from(a)...};
    return find(labels, sizeof...(A));
  }

  // The first cell of the series without labels; 0: not registered yet.
  std::uint32_t plain_cell() const noexcept { return cell_.load(std::memory_order_relaxed); }

 private:
  detail::metric_state& state();  // registers on first use
  std::string_view name_;
  std::string_view description_;
  std::string_view unit_;
  std::uint32_t max_series_;
  metric_kind kind_;
  std::atomic<std::uint32_t> cell_{0};
  std::atomic<detail::metric_state*> state_{nullptr};
};

namespace detail {

TELLTALE_EXPORT std::uint32_t first_cell(const series& s) noexcept;
// The sum of a series' first cell over all threads, dead ones included.
TELLTALE_EXPORT std::uint64_t sum_of(std::uint32_t cell) noexcept;
// Keeps a measurement together with the current span, as the latest of its slot.
TELLTALE_EXPORT void keep_exemplar(series& s, std::uint32_t slot, double value) noexcept;

}  // namespace detail

}  // namespace telltale
