// The library watches itself: its statistics as metrics.
#include <string>
#include <telltale/core/runtime.hpp>

#include "../processor_time.hpp"
#include "collect.hpp"
#include "refused.hpp"
#include "registry.hpp"
#include "shards.hpp"

namespace telltale::detail {

constinit std::atomic<std::int64_t> sink_threads_ns{0};

namespace {

metric described(std::string_view name, metric_kind kind, std::string_view unit, std::string_view description) {
  metric m;
  m.name = name;
  m.kind = kind;
  m.unit = unit;
  m.description = description;
  return m;
}

// One label, or none where the key is empty.
void add(metric& m, std::variant<std::int64_t, double> value, std::string_view key = {}, std::string_view label = {}) {
  const label_view view{key, 0, attribute_type::string, 0, label};
  m.numbers.push_back({make_label_set(&view, key.empty() ? 0 : 1), value, {}});
}
std::int64_t whole(std::uint64_t n) noexcept {
  return static_cast<std::int64_t>(n);
}
double seconds(std::chrono::nanoseconds t) noexcept {
  return std::chrono::duration<double>(t).count();
}

}  // namespace

std::vector<metric> own_figures(const std::map<std::string, std::uint64_t>& overflows, std::uint64_t callback_errors) {
  const statistics s = stats();
  std::vector<metric> out;
  const auto one = [&](std::string_view name, metric_kind kind, std::string_view unit, std::string_view description,
                       std::variant<std::int64_t, double> value) {
    add(out.emplace_back(described(name, kind, unit, description)), value);
  };
  using enum metric_kind;
  one("telltale.records.written", counter, "{record}", "records handed to the sinks", whole(s.written));
  metric& dropped = out.emplace_back(
      described("telltale.records.dropped", counter, "{record}", "records that no sink will see, by reason"));
  for (std::size_t r = 0; r < drop_reasons; ++r) {
    add(dropped, whole(s.dropped[r]), "reason", to_string(static_cast<drop_reason>(r)));
  }
  one("telltale.records.aggregated", counter, "{call}", "calls of spans that were counted rather than recorded",
      whole(s.counted));
  one("telltale.values.truncated", counter, "{value}", "values that were cut to a cap", whole(s.truncated));
  one("telltale.scopes.lost", counter, "{scope}", "scopes whose attributes could not be kept", whole(s.lost_scopes));
  one("telltale.records.stale_scope", counter, "{record}", "records whose inherited attributes were gone",
      whole(s.stale_scopes));
  one("telltale.sink.records.dropped", counter, "{record}", "records that a sink could not take",
      whole(s.sink_dropped));
  one("telltale.sink.errors", counter, "{error}", "failures of sinks", whole(s.sink_errors));
  one("telltale.sink.retries", counter, "{retry}", "deliveries that sinks tried again", whole(s.sink_retries));
  one("telltale.sink.spool.size", gauge, "By", "what waits on disk for a sink's receiver", whole(s.sink_spooled_bytes));
  one("telltale.threads", gauge, "{thread}", "threads that have a ring", whole(s.threads));
  one("telltale.spans.open", gauge, "{span}", "spans that have begun and not ended", whole(s.open_spans));
  one("telltale.drain.lag", gauge, "s", "age of the oldest record when it was last drained", seconds(s.drain_lag));
  one("telltale.drain.cpu.time", counter, "s", "processor time of the drain", seconds(s.drain_cpu));
  one("telltale.sink.cpu.time", counter, "s", "processor time of the sinks' own threads",
      seconds(std::chrono::nanoseconds(sink_threads_ns.load(std::memory_order_relaxed))));
  one("telltale.metric.lost", counter, "{measurement}", "measurements that found no memory",
      whole(lost_measurements()));
  one("telltale.metric.refused", counter, "{measurement}", "values of histograms that are not finite",
      whole(refused_values.load(std::memory_order_relaxed)));
  one("telltale.metric.callback_errors", counter, "{error}", "callbacks that threw", whole(callback_errors));
  if (!overflows.empty()) {
    metric& m = out.emplace_back(described("telltale.metric.overflows", counter, "{lookup}",
                                           "look-ups of label sets for which there was no series left, by metric"));
    for (const auto& [name, n] : overflows) add(m, whole(n), "metric", name);
  }
  return out;
}

}  // namespace telltale::detail
