// Counters: sums that only grow, and sums that also shrink, added to from any thread without contention.
//
//   constinit telltale::counter points{"prover.msm.points", "points that went into an MSM", "{point}"};
//   points.add(n);
//   points.add(n, "group"_a = "g1");
//
// A thread adds to a cell of its own (a load and a store, no locked instruction); reading adds the cells up.
// instrument.hpp says what holds for all instruments.
#pragma once

#include <cstdint>
#include <string_view>
#include <telltale/core/instrument.hpp>

namespace telltale {

// A series of a counter, looked up once. Copy it freely; it is good for the life of the process.
class bound_counter {
 public:
  void add(std::uint64_t n = 1) const noexcept {
    detail::metric_cell* mine = detail::cell_of(cell_);
    if (mine == nullptr) [[unlikely]]
      return;
    const std::uint64_t before = detail::add_to(mine, n);
    if (detail::keeps_exemplar(before, before + n)) [[unlikely]]
      detail::keep_exemplar(*series_, 0, static_cast<double>(n));
  }
  std::uint64_t value() const noexcept { return detail::sum_of(cell_); }

 private:
  friend class counter;
  explicit bound_counter(detail::series* s) noexcept : series_(s), cell_(detail::first_cell(*s)) {}
  detail::series* series_;
  std::uint32_t cell_;
};

class counter : public instrument {
 public:
  constexpr counter(std::string_view name, std::string_view description, std::string_view unit = {},
                    instrument_options o = {}) noexcept
      : instrument(metric_kind::counter, name, description, unit, o) {}

  void add(std::uint64_t n = 1) noexcept {
    detail::metric_cell* mine = detail::find_cell(plain_cell());
    if (mine == nullptr) [[unlikely]]
      return bound_counter(plain()).add(n);
    const std::uint64_t before = detail::add_to(mine, n);
    if (detail::keeps_exemplar(before, before + n)) [[unlikely]]
      detail::keep_exemplar(*plain(), 0, static_cast<double>(n));
  }
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  void add(std::uint64_t n, const A&... labels) noexcept {
    with(labels...).add(n);
  }
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  bound_counter with(const A&... labels) noexcept {
    return bound_counter(series_of(labels...));
  }

  // The sum of the series without labels over all threads, dead ones included. Never smaller than a sum read before.
  std::uint64_t value() const noexcept { return detail::sum_of(plain_cell()); }
};

class bound_up_down_counter {
 public:
  void add(std::int64_t n) const noexcept {
    if (detail::metric_cell* mine = detail::cell_of(cell_)) detail::add_to(mine, static_cast<std::uint64_t>(n));
  }
  std::int64_t value() const noexcept { return static_cast<std::int64_t>(detail::sum_of(cell_)); }

 private:
  friend class up_down_counter;
  explicit bound_up_down_counter(detail::series* s) noexcept : cell_(detail::first_cell(*s)) {}
  std::uint32_t cell_;
};

// What is in use, in flight, waiting: add(1) when it begins, add(-1) when it ends, on whichever thread.
class up_down_counter : public instrument {
 public:
  constexpr up_down_counter(std::string_view name, std::string_view description, std::string_view unit = {},
                            instrument_options o = {}) noexcept
      : instrument(metric_kind::up_down_counter, name, description, unit, o) {}

  void add(std::int64_t n) noexcept {
    detail::metric_cell* mine = detail::find_cell(plain_cell());
    if (mine == nullptr) [[unlikely]]
      return bound_up_down_counter(plain()).add(n);
    detail::add_to(mine, static_cast<std::uint64_t>(n));
  }
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  void add(std::int64_t n, const A&... labels) noexcept {
    with(labels...).add(n);
  }
  template <detail::label... A>
    requires(sizeof...(A) > 0)
  bound_up_down_counter with(const A&... labels) noexcept {
    return bound_up_down_counter(series_of(labels...));
  }

  std::int64_t value() const noexcept { return static_cast<std::int64_t>(detail::sum_of(plain_cell())); }
};

}  // namespace telltale
