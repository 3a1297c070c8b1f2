// What the hub keeps, as plain data: a span, a log line, a point of a metric, a link. Times are nanoseconds since 1970
// (UTC), ids are core's, and an empty string in one of the promoted fields means "hasn't got it".
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/attribute_value.hpp>
#include <utility>
#include <vector>

namespace telltale::hub {

// In the order in which they were sent, each key once.
using attribute_list = std::vector<std::pair<std::string, attribute_value>>;

enum class status_code : std::uint8_t { unset = 0, ok = 1, error = 2 };  // OTLP's numbers
enum class span_state : std::uint8_t {
  ended = 0,
  open = 1,  // it runs still: duration_ns goes up to the last sign of life
  lost = 2,  // it never ended: its heartbeats stopped, or its process is known to be gone
};

struct span_event {
  std::int64_t time_ns = 0;
  std::string name;
  attribute_list attributes;
};

struct span_link {
  trace_id trace;
  span_id span;
  std::string kind;  // "input-of", … as core's link_kind says it; empty where the sender gave none
  attribute_list attributes;
};

struct span_row {
  trace_id trace;
  span_id id;
  span_id parent;
  std::string name;
  std::string service;    // service.name
  std::string scope;      // the instrumentation scope: for our own spans, the module
  std::string node;       // k8s.node.name, else host.name
  std::uint8_t kind = 0;  // OTLP's SpanKind: 1 internal, 2 server, 3 client, 4 producer, 5 consumer, 0 unsaid
  status_code status = status_code::unset;
  std::string status_message;
  span_state state = span_state::ended;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::string job_id;
  std::string module_id;
  std::string task_id;
  std::string phase;
  attribute_list attributes;  // all others
  attribute_list resource;    // all of the resource's
  std::vector<span_event> events;
  std::vector<span_link> links;

  std::int64_t end_ns() const noexcept { return start_ns + duration_ns; }
};

struct log_row {
  std::int64_t time_ns = 0;
  trace_id trace;
  span_id span;
  std::uint8_t severity = 0;  // OTLP's number: 1-4 trace, 5-8 debug, 9-12 info, 13-16 warn, 17-20 error, 21-24 fatal
  std::string severity_text;
  std::string service;
  std::string scope;
  std::string node;
  std::string event_name;
  std::string body;
  std::string job_id;
  attribute_list attributes;
  attribute_list resource;
};

// A number of a metric at a moment; a histogram has count, sum and buckets as well.
struct metric_row {
  std::int64_t time_ns = 0;
  std::string name;
  std::string unit;
  std::string type;  // gauge, counter, sum, histogram, exponential_histogram
  std::string service;
  std::string node;
  double value = 0;  // of a histogram: its sum
  std::uint64_t count = 0;
  std::string buckets;  // JSON: {"bounds":[…],"counts":[…]} or {"scale":…,"zero":…,"offset":…,"counts":[…]}
  attribute_list attributes;
};

// A link with both its ends: `from` is the span that carries it.
struct link_row {
  trace_id from_trace;
  span_id from_span;
  trace_id to_trace;
  span_id to_span;
  std::string kind;
  std::int64_t start_ns = 0;  // when `from` began
};

}  // namespace telltale::hub
