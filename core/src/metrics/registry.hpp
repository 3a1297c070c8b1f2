// Instruments and their series: made once, under metrics_mutex, and never freed; read without a lock.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/histogram.hpp>
#include <telltale/core/metric_snapshot.hpp>
#include <unordered_map>
#include <vector>

namespace telltale::detail {

// The latest measurement kept for a counter or for a bucket, guarded by a sequence number: odd while it is written.
struct exemplar_slot {
  std::atomic<std::uint32_t> sequence{0};
  std::atomic<std::uint64_t> value{0};  // a double's bits
  std::atomic<std::uint64_t> time_ns{0};
  std::atomic<std::uint64_t> trace_high{0};
  std::atomic<std::uint64_t> trace_low{0};
  std::atomic<std::uint64_t> span{0};  // zero: nothing kept yet
};

struct series {
  metric_state* metric = nullptr;
  std::shared_ptr<const label_set> labels;
  std::uint64_t hash = 0;
  std::uint32_t cell = 0;  // the first of its cells; 0: there are none left
  series* main = this;     // another one where to Prometheus both have the same labels: it counts for both
  std::atomic<std::uint64_t> gauge{0};
  std::atomic<exemplar_slot*> exemplars{nullptr};  // made with the first
  series* next = nullptr;                          // in metric_state::newest
};

struct metric_state {
  metric_state(const instrument& i, std::uint32_t series_limit);

  std::string name;
  std::string description;
  std::string unit;
  metric_kind kind;
  const bucket_bounds* bounds = nullptr;  // of a histogram
  std::uint32_t cells_per_series;
  std::uint32_t exemplar_slots;
  std::uint32_t max_series;

  std::atomic<series*> plain{nullptr};      // without labels
  std::atomic<series*> overflow{nullptr};   // for what comes after max_series
  std::atomic<series*> newest{nullptr};     // every series, newest first
  std::atomic<std::uint64_t> overflows{0};  // look-ups that ended in `overflow`
  // By hash, open addressing, at most half full; made with the first labels.
  std::atomic<std::atomic<series*>*> table{nullptr};
  std::size_t table_mask = 0;

  // Under metrics_mutex.
  std::uint32_t labelled = 0;
  std::unordered_map<std::string_view, series*> by_exposition;
};

// Those that are exported, in order of name.
std::vector<metric_state*> exported_metrics();

// Exemplars of a series, in order of their slots.
std::vector<exemplar> read_exemplars(const series& s);

// A label set of what a call passed.
std::shared_ptr<const label_set> make_label_set(const label_view* labels, std::size_t count);
// One line on stderr for a definition that contradicts another one; said once per name.
void complain_of_conflict(std::string_view name, std::string_view how);

inline constexpr std::uint32_t max_series_limit = 1u << 20;
// For instruments that say nothing themselves; see options::max_series.
extern constinit std::atomic<std::uint32_t> default_max_series;

// In the child of a fork: gauges, exemplars and overflows are the parent's.
void reset_series_after_fork() noexcept;

}  // namespace telltale::detail
