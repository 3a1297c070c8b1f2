#include "hub/store/clickhouse/schema.hpp"

#include <iterator>

namespace telltale::hub {

namespace {

constexpr std::string_view nanoseconds_per_day = "86400000000000";

struct definition {
  std::string_view name;
  std::string_view columns;
  std::string_view engine;  // of the MergeTree family
  std::string_view order;
  std::string_view time;   // nanoseconds since 1970
  std::string_view shard;  // what decides on which shard a row lies
};

// Spans lie twice: for searches by service, name and time, and by trace. A text that a span hasn't got is NULL, as in
// the relations. Attributes are JSON members, as the dialect asks for them.
#define TELLTALE_SPAN_COLUMNS                                                                                     \
  "trace_hi UInt64, trace_lo UInt64, span UInt64, parent UInt64, name LowCardinality(String), service "           \
  "LowCardinality(String), scope LowCardinality(String), node LowCardinality(String), kind UInt8, status UInt8, " \
  "state UInt8, status_message Nullable(String), start_ns Int64 CODEC(Delta, ZSTD), duration_ns Int64 "           \
  "CODEC(T64, ZSTD), job_id Nullable(String), module_id Nullable(String), task_id Nullable(String), phase "       \
  "LowCardinality(Nullable(String)), attribute_items Array(String) CODEC(ZSTD), events Nullable(String) "         \
  "CODEC(ZSTD), links Nullable(String) CODEC(ZSTD), resource_items Array(LowCardinality(String)) CODEC(ZSTD)"
constexpr definition spans = {
    "spans_data",
    TELLTALE_SPAN_COLUMNS
    ", INDEX by_item attribute_items TYPE bloom_filter(0.01) GRANULARITY 1, INDEX by_job job_id TYPE "
    "bloom_filter(0.01) GRANULARITY 1, INDEX by_module module_id TYPE bloom_filter(0.01) GRANULARITY 1, INDEX "
    "by_task task_id TYPE bloom_filter(0.01) GRANULARITY 1, INDEX by_time start_ns TYPE minmax GRANULARITY 1",
    "MergeTree",
    "(service, name, start_ns)",
    "start_ns",
    "sipHash64(trace_hi, trace_lo)"};
constexpr definition spans_by_trace = {"spans_by_trace", TELLTALE_SPAN_COLUMNS,
                                       "MergeTree",      "(trace_hi, trace_lo, start_ns)",
                                       "start_ns",       "sipHash64(trace_hi, trace_lo)"};
#undef TELLTALE_SPAN_COLUMNS
constexpr definition names_by_minute = {
    "names_by_minute",
    "minute_ns Int64, service LowCardinality(String), name LowCardinality(String), kind UInt8, spans "
    "SimpleAggregateFunction(sum, UInt64), errors SimpleAggregateFunction(sum, UInt64), total_ns "
    "SimpleAggregateFunction(sum, Int64), max_ns SimpleAggregateFunction(max, Int64), durations "
    "AggregateFunction(quantilesDD(0.01, 0.5, 0.95, 0.99), Int64)",
    "AggregatingMergeTree",
    "(service, name, kind, minute_ns)",
    "minute_ns",
    "sipHash64(service, name)"};
// Links lie where the trace is that they point at: followed backwards, one place is asked.
constexpr definition links = {
    "links_data",
    "from_trace_hi UInt64, from_trace_lo UInt64, from_span UInt64, to_trace_hi UInt64, to_trace_lo UInt64, to_span "
    "UInt64, kind LowCardinality(String), start_ns Int64",
    "MergeTree",
    "(to_trace_hi, to_trace_lo, to_span)",
    "start_ns",
    "sipHash64(to_trace_hi, to_trace_lo)"};
// Most lines of a log belong to no trace, so logs are spread by service and time.
constexpr definition logs = {
    "logs_data",
    "time_ns Int64 CODEC(Delta, ZSTD), trace_hi UInt64, trace_lo UInt64, span UInt64, severity UInt8, severity_text "
    "LowCardinality(String), service LowCardinality(String), scope LowCardinality(String), node "
    "LowCardinality(String), event_name LowCardinality(Nullable(String)), body String CODEC(ZSTD), job_id "
    "Nullable(String), attribute_items Array(String) CODEC(ZSTD), resource_items Array(LowCardinality(String)) "
    "CODEC(ZSTD), INDEX by_trace trace_lo TYPE bloom_filter(0.01) GRANULARITY 1, INDEX by_job job_id TYPE "
    "bloom_filter(0.01) GRANULARITY 1",
    "MergeTree",
    "(service, time_ns)",
    "time_ns",
    "sipHash64(service, time_ns)"};
constexpr definition metrics = {
    "metrics_data",
    "time_ns Int64 CODEC(Delta, ZSTD), name LowCardinality(String), unit LowCardinality(String), type "
    "LowCardinality(String), service LowCardinality(String), node LowCardinality(String), value Float64, count UInt64, "
    "buckets Nullable(String) CODEC(ZSTD), attribute_items Array(String) CODEC(ZSTD)",
    "MergeTree",
    "(name, time_ns)",
    "time_ns",
    "sipHash64(name, service, node)"};
constexpr const definition* tables[] = {&spans, &spans_by_trace, &names_by_minute, &links, &logs, &metrics};

// What is asked: the relations of hub/store/store.hpp.
constexpr std::string_view hex_of_trace =
    "concat(leftPad(lower(hex(trace_hi)), 16, '0'), leftPad(lower(hex(trace_lo)), 16, '0'))";
constexpr std::string_view attributes_of_items = "concat('{', arrayStringConcat(attribute_items, ','), '}')";
constexpr std::string_view resource_of_items = "concat('{', arrayStringConcat(resource_items, ','), '}')";

}  // namespace

std::string clickhouse_schema::engine(std::string_view kind, std::string_view table) const {
  if (cluster.empty()) return std::string(kind);
  return "Replicated" + std::string(kind) + "('/clickhouse/tables/{shard}/" + database + "/" + std::string(table) +
         "', '{replica}')";
}

std::vector<std::string> clickhouse_schema::foundation() const {
  // On a cluster every server has all versions, so its path has no shard in it.
  const std::string engine_of_versions = cluster.empty() ? "MergeTree"
                                                         : "ReplicatedMergeTree('/clickhouse/tables/" + database +
                                                               "/telltale_schema', '{shard}-{replica}')";
  return {"CREATE DATABASE IF NOT EXISTS `" + database + "`" + on_cluster(),
          "CREATE TABLE IF NOT EXISTS " + versions_table() + on_cluster() +
              " (version UInt32, at DateTime DEFAULT now()) ENGINE = " + engine_of_versions + " ORDER BY version"};
}

std::vector<std::string> clickhouse_schema::migration(std::uint32_t to) const {
  std::vector<std::string> out;
  if (to != 1) return out;
  for (const definition* t : tables) {
    out.push_back("CREATE TABLE IF NOT EXISTS " + qualified(local(t->name)) + on_cluster() + " (" +
                  std::string(t->columns) + ") ENGINE = " + engine(t->engine, local(t->name)) +
                  " PARTITION BY intDiv(" + std::string(t->time) + ", " + std::string(nanoseconds_per_day) +
                  ") ORDER BY " + std::string(t->order) + " SETTINGS ttl_only_drop_parts = 1");
    if (cluster.empty()) continue;
    out.push_back("CREATE TABLE IF NOT EXISTS " + qualified(t->name) + on_cluster() + " AS " +
                  qualified(local(t->name)) + " ENGINE = Distributed('" + cluster + "', '" + database + "', '" +
                  local(t->name) + "', " + std::string(t->shard) + ")");
  }
  const std::string from = " FROM " + qualified(local(spans.name));
  out.push_back("CREATE MATERIALIZED VIEW IF NOT EXISTS " + qualified("fill_spans_by_trace") + on_cluster() + " TO " +
                qualified(local(spans_by_trace.name)) + " AS SELECT *" + from);
  out.push_back("CREATE MATERIALIZED VIEW IF NOT EXISTS " + qualified("fill_names_by_minute") + on_cluster() + " TO " +
                qualified(local(names_by_minute.name)) +
                " AS SELECT intDiv(start_ns, 60000000000) * 60000000000 AS minute_ns, service, name, kind, count() AS "
                "spans, countIf(status = 2) AS errors, sum(duration_ns) AS total_ns, max(duration_ns) AS max_ns, "
                "quantilesDDState(0.01, 0.5, 0.95, 0.99)(duration_ns) AS durations" +
                from + " GROUP BY minute_ns, service, name, kind");
  const auto view = [&](std::string_view name, const std::string& select) {
    out.push_back("CREATE OR REPLACE VIEW " + qualified(name) + on_cluster() + " AS SELECT " + select);
  };
  const std::string attributes = std::string(attributes_of_items) + " AS attributes";
  const std::string resource = std::string(resource_of_items) + " AS resource";
  view("spans", "*, " + attributes + ", " + resource + ", " + std::string(hex_of_trace) +
                    " AS trace_id, leftPad(lower(hex(span)), 16, '0') AS span_id, if(parent = 0, NULL, "
                    "leftPad(lower(hex(parent)), 16, '0')) AS parent_id FROM " +
                    qualified(spans.name));
  view("logs", "*, " + attributes + ", " + resource + ", if(trace_hi = 0 AND trace_lo = 0, NULL, " +
                   std::string(hex_of_trace) +
                   ") AS trace_id, if(span = 0, NULL, leftPad(lower(hex(span)), 16, '0')) AS span_id FROM " +
                   qualified(logs.name));
  view("metrics", "*, " + attributes + " FROM " + qualified(metrics.name));
  view("links", "* FROM " + qualified(links.name));
  view("durations",
       "minute_ns, service, name, kind, sum(spans) AS count, sum(errors) AS errors, sum(total_ns) AS total_ns, "
       "max(max_ns) AS max_ns, quantilesDDMerge(0.01, 0.5, 0.95, 0.99)(durations) AS quantiles FROM " +
           qualified(names_by_minute.name) + " GROUP BY minute_ns, service, name, kind");
  return out;
}

std::string clickhouse_schema::last_retained() const {
  return local(std::end(tables)[-1]->name);
}

std::vector<std::string> clickhouse_schema::retention(std::int64_t seconds) const {
  std::vector<std::string> out;
  for (const definition* t : tables) {
    std::string alter = "ALTER TABLE " + qualified(local(t->name)) + on_cluster();
    if (seconds == 0) {
      alter += " REMOVE TTL";
    } else {
      alter += " MODIFY TTL toDateTime(intDiv(" + std::string(t->time) + ", 1000000000)) + toIntervalSecond(" +
               std::to_string(seconds) + ")";
    }
    out.push_back(std::move(alter));
  }
  return out;
}

}  // namespace telltale::hub
