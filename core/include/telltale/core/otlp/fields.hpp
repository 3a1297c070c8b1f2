// The OpenTelemetry protocol's messages, as far as we write or read them: each field's number in protobuf and its name
// in JSON. Whoever speaks OTLP (the sinks here, a receiver elsewhere) takes them from this header and from nowhere
// else.
//
// The protocol: opentelemetry-proto 1.x. Numbers never change meaning there; a field that is not listed is skipped by
// readers. Wire types: ids are bytes, times fixed64, flags fixed32, enumerations and int64 varints.
#pragma once

#include <cstdint>
#include <string_view>

namespace telltale::otlp {

struct field {
  std::uint32_t number;
  std::string_view json;
};

enum class signal_kind : std::uint8_t { traces = 0, logs = 1, metrics = 2 };
inline constexpr std::size_t signals = 3;

// The five messages of a request, from the outside in, differ between signals by names only.
struct export_request {
  static constexpr field resources[signals] = {{1, "resourceSpans"}, {1, "resourceLogs"}, {1, "resourceMetrics"}};
};
struct resource_records {
  static constexpr field resource{1, "resource"};
  static constexpr field scopes[signals] = {{2, "scopeSpans"}, {2, "scopeLogs"}, {2, "scopeMetrics"}};
};
struct resource {
  static constexpr field attributes{1, "attributes"};
};
struct scope_records {
  static constexpr field scope{1, "scope"};
  static constexpr field records[signals] = {{2, "spans"}, {2, "logRecords"}, {2, "metrics"}};
};
struct instrumentation_scope {
  static constexpr field name{1, "name"};
  static constexpr field version{2, "version"};
};

struct key_value {
  static constexpr field key{1, "key"};
  static constexpr field value{2, "value"};
};
struct any_value {
  static constexpr field string_value{1, "stringValue"};
  static constexpr field bool_value{2, "boolValue"};
  static constexpr field int_value{3, "intValue"};
  static constexpr field double_value{4, "doubleValue"};
};

struct span {
  static constexpr field trace_id{1, "traceId"};
  static constexpr field span_id{2, "spanId"};
  static constexpr field trace_state{3, "traceState"};
  static constexpr field parent_span_id{4, "parentSpanId"};
  static constexpr field name{5, "name"};
  static constexpr field kind{6, "kind"};
  static constexpr field start_time{7, "startTimeUnixNano"};
  static constexpr field end_time{8, "endTimeUnixNano"};
  static constexpr field attributes{9, "attributes"};
  static constexpr field dropped_attributes{10, "droppedAttributesCount"};
  static constexpr field events{11, "events"};
  static constexpr field dropped_events{12, "droppedEventsCount"};
  static constexpr field links{13, "links"};
  static constexpr field dropped_links{14, "droppedLinksCount"};
  static constexpr field status{15, "status"};
  static constexpr field flags{16, "flags"};
};
struct span_event {
  static constexpr field time{1, "timeUnixNano"};
  static constexpr field name{2, "name"};
  static constexpr field attributes{3, "attributes"};
};
struct span_link {
  static constexpr field trace_id{1, "traceId"};
  static constexpr field span_id{2, "spanId"};
  static constexpr field attributes{4, "attributes"};
};
struct span_status {
  static constexpr field message{2, "message"};
  static constexpr field code{3, "code"};
  static constexpr std::uint32_t ok = 1;
  static constexpr std::uint32_t error = 2;
};
// Span.SpanKind is our span_kind + 1.

struct log_record {
  static constexpr field time{1, "timeUnixNano"};
  static constexpr field severity_number{2, "severityNumber"};
  static constexpr field severity_text{3, "severityText"};
  static constexpr field body{5, "body"};
  static constexpr field attributes{6, "attributes"};
  static constexpr field flags{8, "flags"};
  static constexpr field trace_id{9, "traceId"};
  static constexpr field span_id{10, "spanId"};
  static constexpr field observed_time{11, "observedTimeUnixNano"};
  static constexpr field event_name{12, "eventName"};
};
// SeverityNumber of our levels: error, warn, info, debug, trace.
inline constexpr std::uint32_t severities[] = {0, 17, 13, 9, 5, 1};

// Bit of Span.flags and LogRecord.flags: the W3C "sampled" flag. What is exported was sampled.
inline constexpr std::uint32_t flag_sampled = 1;

struct metric {
  static constexpr field name{1, "name"};
  static constexpr field description{2, "description"};
  static constexpr field unit{3, "unit"};
  static constexpr field gauge{5, "gauge"};
  static constexpr field sum{7, "sum"};
  static constexpr field histogram{9, "histogram"};
  static constexpr field exponential_histogram{10, "exponentialHistogram"};
};
// Gauge, Sum, Histogram and ExponentialHistogram agree on these.
struct metric_data {
  static constexpr field points{1, "dataPoints"};
  static constexpr field temporality{2, "aggregationTemporality"};
  static constexpr field is_monotonic{3, "isMonotonic"};
  static constexpr std::uint32_t cumulative = 2;
};
struct number_point {
  static constexpr field start_time{2, "startTimeUnixNano"};
  static constexpr field time{3, "timeUnixNano"};
  static constexpr field as_double{4, "asDouble"};
  static constexpr field exemplars{5, "exemplars"};
  static constexpr field as_int{6, "asInt"};
  static constexpr field attributes{7, "attributes"};
};
struct histogram_point {
  static constexpr field start_time{2, "startTimeUnixNano"};
  static constexpr field time{3, "timeUnixNano"};
  static constexpr field count{4, "count"};
  static constexpr field sum{5, "sum"};
  static constexpr field bucket_counts{6, "bucketCounts"};
  static constexpr field bounds{7, "explicitBounds"};
  static constexpr field exemplars{8, "exemplars"};
  static constexpr field attributes{9, "attributes"};
};
struct exponential_point {
  static constexpr field attributes{1, "attributes"};
  static constexpr field start_time{2, "startTimeUnixNano"};
  static constexpr field time{3, "timeUnixNano"};
  static constexpr field count{4, "count"};
  static constexpr field sum{5, "sum"};
  static constexpr field scale{6, "scale"};
  static constexpr field zero_count{7, "zeroCount"};
  static constexpr field positive{8, "positive"};
  static constexpr field negative{9, "negative"};
  static constexpr field exemplars{11, "exemplars"};
};
struct exponential_buckets {
  static constexpr field offset{1, "offset"};
  static constexpr field counts{2, "bucketCounts"};
};
struct exemplar {
  static constexpr field time{2, "timeUnixNano"};
  static constexpr field as_double{3, "asDouble"};
  static constexpr field span_id{4, "spanId"};
  static constexpr field trace_id{5, "traceId"};
};

// Answers to an export: what the receiver did not take, and why.
struct export_response {
  static constexpr field partial_success{1, "partialSuccess"};
};
struct partial_success {
  static constexpr field rejected[signals] = {
      {1, "rejectedSpans"}, {1, "rejectedLogRecords"}, {1, "rejectedDataPoints"}};
  static constexpr field error_message{2, "errorMessage"};
};

// Where a signal goes: the method of a gRPC call, and what HTTP appends to the endpoint.
inline constexpr std::string_view grpc_paths[signals] = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
    "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"};
inline constexpr std::string_view http_paths[signals] = {"v1/traces", "v1/logs", "v1/metrics"};

// Names of our own in what is sent.
inline constexpr std::string_view event_open = "telltale.span.open";            // a span has been open for a second
inline constexpr std::string_view event_heartbeat = "telltale.span.heartbeat";  // … and still is
inline constexpr std::string_view event_loss = "telltale.loss";                 // records were dropped here

}  // namespace telltale::otlp
