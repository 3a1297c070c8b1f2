// Where spans, logs and metrics are kept, as whoever writes and asks sees it.
//
//   auto store = hub::open_store({.directory = "/var/lib/telltale"});
//   if (!store) …                              // a newer version's directory, no room, taken by another process
//   (*store)->append(std::move(batch));        // returns when the batch is durable
//   (*store)->trace(id);                       // its spans, the open ones too
//   (*store)->query("SELECT name, count(*) FROM spans GROUP BY name");
//
// Every function may be called from any thread. What was acknowledged is visible to questions within a second.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <variant>
#include <vector>

#include "hub/model.hpp"
#include "hub/sampling/settings.hpp"
#include "hub/store/durations.hpp"

namespace telltale::hub {

class batch;  // hub/otlp/batch.hpp: what a request was decoded to

// The answer to a query. A number of the store's that fits neither int64 nor double comes as text, as do times and
// nested values.
using cell = std::variant<std::monostate, bool, std::int64_t, double, std::string>;
struct table {
  std::vector<std::string> columns;
  std::vector<std::vector<cell>> rows;
  bool cut = false;  // there were more rows than the limit
};

struct query_limits {
  std::uint64_t rows = 100'000;
  std::int64_t timeout_ms = 30'000;
};

// How the store's SQL says what differs between stores. The relations are the same everywhere:
//
//   spans(trace_hi, trace_lo, span, parent,            -- ids as UBIGINT; parent is 0 for a root
//         trace_id, span_id, parent_id,                -- the same as lower-case hex; slower to filter by
//         name, service, scope, node, kind, status, state, status_message, start_ns, duration_ns,
//         job_id, module_id, task_id, phase,           -- NULL where the span hasn't got it
//         attributes, resource,                        -- JSON objects as text, {} where there are none
//         events, links)                               -- JSON arrays as text, NULL where there are none
//   logs(time_ns, trace_hi, trace_lo, span, trace_id, span_id, severity, severity_text, service, scope, node,
//        event_name, body, job_id, attributes, resource)
//   metrics(time_ns, name, unit, type, service, node, value, count, buckets, attributes)
//   counted(name, service, kind, status, start_ns, duration_ns)   -- where the dialect names it: all spans, those
//        whose detail was left out by sampling as well
//   links(from_trace_hi, from_trace_lo, from_span, to_trace_hi, to_trace_lo, to_span, kind, start_ns)
//
// `spans` holds ended and lost spans; the open ones are in store::open_spans(). Columns kind, status, state and
// severity are the numbers of hub/model.hpp.
class dialect {
 public:
  virtual ~dialect() = default;
  virtual std::string_view name() const = 0;                    // "duckdb"
  virtual std::string_view counted() const { return "spans"; }  // the relation in which every span is counted
  virtual std::string text(std::string_view value) const = 0;   // a quoted literal
  virtual std::string is_trace(trace_id id) const = 0;          // a condition on spans or logs
  // The value of an attribute as text, NULL where there is none: a promoted column, or out of `attributes`, or with
  // from = resource out of `resource`. The key may hold any bytes.
  enum class from : std::uint8_t { span, resource };
  virtual std::string attribute(std::string_view key, from where) const = 0;
  virtual std::string attribute_number(std::string_view key, from where) const = 0;  // as DOUBLE, NULL where it is none
  // A condition, never NULL: the attribute has exactly this value and type. Much faster than comparing attribute().
  virtual std::string attribute_is(std::string_view key, from where, const attribute_value& value) const = 0;
  virtual std::string quantile(std::string_view expression, double q) const = 0;               // exact, an aggregate
  virtual std::string matches(std::string_view expression, std::string_view regex) const = 0;  // RE2, whole string
};

struct store_stats {
  std::uint64_t spans = 0;
  std::uint64_t thinned = 0;  // spans of which only what is counted was kept
  std::uint64_t logs = 0;
  std::uint64_t metric_points = 0;
  std::uint64_t links = 0;
  std::uint64_t open_spans = 0;
  std::uint64_t repeated = 0;       // spans that came again since the start, and were kept once
  std::uint64_t files = 0;          // of spans
  std::uint64_t bytes = 0;          // on disk: files and journal
  std::uint64_t journal_bytes = 0;  // of it, what isn't in files yet
  std::uint64_t waiting = 0;        // records that are durable and not visible yet
  std::int64_t oldest_ns = 0;       // start of the oldest span kept, 0: there is none
  std::int64_t newest_ns = 0;
};

class store {
 public:
  virtual ~store() = default;

  // Returns when the batch survives the process being killed. Fails where it can't be kept; `overloaded()` says
  // whether sending it again a little later may help.
  virtual result<void> append(std::shared_ptr<const batch> b) = 0;
  virtual bool overloaded() const = 0;

  // By start; at most `limit`. An unknown trace is an empty list.
  virtual result<std::vector<span_row>> trace(trace_id id, std::uint64_t limit = 2'000'000) const = 0;
  // The same of several, in the order asked for: a store that is elsewhere is asked once.
  virtual result<std::vector<std::vector<span_row>>> traces(const std::vector<trace_id>& ids) const;
  // Spans that a condition of the dialect over `spans` selects. `order` is what stands behind ORDER BY, or empty.
  virtual result<std::vector<span_row>> spans(std::string_view where, std::string_view order,
                                              std::uint64_t limit) const = 0;
  virtual result<std::vector<log_row>> logs(std::string_view where, std::string_view order,
                                            std::uint64_t limit) const = 0;
  // Links that a span carries, and links of others that point at it. Without a span: at any span of the trace.
  virtual result<std::vector<link_row>> links_from(trace_id trace, std::optional<span_id> span = {}) const = 0;
  virtual result<std::vector<link_row>> links_to(trace_id trace, std::optional<span_id> span = {}) const = 0;
  virtual std::vector<span_row> open_spans() const = 0;

  // Durations of the spans that began in [begin, end), by name and kind. None where the store keeps no histograms, or
  // where so few spans began then that counting them with SQL takes no time.
  virtual result<std::optional<durations_by_name>> durations(std::int64_t /*begin_ns*/, std::int64_t /*end_ns*/) const {
    return std::optional<durations_by_name>{};
  }

  // One SELECT over the relations above. It can't write, and can't read files.
  virtual result<table> query(std::string_view sql, query_limits limits = {}) const = 0;
  virtual const dialect& sql() const = 0;

  // Waits until everything acknowledged before the call is visible to questions.
  virtual void settle() = 0;
  virtual store_stats stats() const = 0;

  // Calls `f` with spans as they arrive (open ones when they open, too), from the store's thread, until the returned
  // object is dropped. For a live tail: `f` must be quick.
  using listener = std::function<void(const span_row&)>;
  virtual std::shared_ptr<void> watch(listener f) = 0;
};

struct store_options {
  std::string directory;  // empty: in memory only, nothing survives
  // To ask a directory that no hub has open: nothing in it is changed, and nothing can be added. Several may read.
  bool read_only = false;
  enum class fsync : std::uint8_t {
    batch,     // each group of batches reaches the disk before it is acknowledged
    interval,  // once a second: a power failure may cost the last second, a killed process nothing
  };
  fsync sync = fsync::batch;
  // What is held in memory before it becomes a file: as many spans, or requests of a quarter of memory_bytes, …
  std::uint64_t rows_per_file = 100'000;
  std::int64_t seconds_per_file = 600;          // … or that old
  std::uint64_t max_bytes = 0;                  // 0: no limit. The oldest files go first
  std::int64_t max_age_seconds = 0;             // 0: no limit
  std::uint64_t max_waiting_bytes = 64u << 20;  // acknowledged and not visible yet; more is refused for now
  std::uint64_t memory_bytes = 256u << 20;      // for DuckDB
  unsigned threads = 2;                         // for questions
  std::uint64_t spans_counted = 200'000;        // up to as many are counted exactly where histograms could tell
  sampling_settings sampling{};
  std::int64_t heartbeat_timeout_seconds = 35;  // an open span without a sign of life is lost: three missed, and a bit
};
result<std::unique_ptr<store>> open_store(store_options options);

}  // namespace telltale::hub
