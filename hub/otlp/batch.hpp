// What a request was decoded to: flat records whose strings point into the request's own bytes or into the batch's
// memory. Attributes are already what the store keeps, a JSON object as text; the promoted ones aren't in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <telltale/core/otlp/fields.hpp>
#include <vector>

#include "hub/model.hpp"
#include "hub/otlp/arena.hpp"

namespace telltale::hub {

struct resource_record {
  std::string_view service;
  std::string_view node;
  std::string_view job_id;  // for records that have none of their own; so are the other three
  std::string_view module_id;
  std::string_view task_id;
  std::string_view phase;
  std::string_view instance;  // host, process id and service: whose spans are lost when it is gone
  std::string_view json = "{}";
};

struct link_record {
  trace_id trace;
  span_id span;
  std::string_view kind;
};

struct span_record {
  trace_id trace;
  span_id id;
  span_id parent;
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
  std::string_view name;
  std::string_view status_message;
  std::string_view job_id;
  std::string_view module_id;
  std::string_view task_id;
  std::string_view phase;
  std::string_view attributes = "{}";
  std::string_view events;  // JSON arrays; empty where there are none
  std::string_view links;
  std::uint32_t resource = 0;  // index into batch::resources
  std::uint32_t scope = 0;     // index into batch::scopes
  std::uint32_t first_link = 0;
  std::uint32_t link_count = 0;
  std::uint8_t kind = 0;
  std::uint8_t status = 0;
  span_state state = span_state::ended;
};

struct log_record {
  std::int64_t time_ns = 0;
  trace_id trace;
  span_id span;
  std::uint8_t severity = 0;
  std::string_view severity_text;
  std::string_view event_name;
  std::string_view body;
  std::string_view job_id;
  std::string_view attributes = "{}";
  std::uint32_t resource = 0;
  std::uint32_t scope = 0;
};

struct point_record {
  std::int64_t time_ns = 0;
  std::string_view name;
  std::string_view unit;
  std::string_view type;
  double value = 0;
  std::uint64_t count = 0;
  std::string_view buckets;
  std::string_view attributes = "{}";
  std::uint32_t resource = 0;
};

class batch {
 public:
  batch(otlp::signal_kind of, std::string request) : signal(of), body(std::move(request)) {}
  batch(const batch&) = delete;
  batch& operator=(const batch&) = delete;

  const otlp::signal_kind signal;
  const std::string body;  // the request as protobuf
  arena text;

  std::vector<resource_record> resources;
  std::vector<std::string_view> scopes;
  std::vector<span_record> spans;
  std::vector<span_record> open;  // told by telltale.span.open and its heartbeats: duration_ns is up to then
  std::vector<link_record> links;
  std::vector<log_record> logs;
  std::vector<point_record> points;

  // What was not taken, and why the first of them was not.
  std::uint64_t rejected = 0;
  std::string why;
  // What was taken but shortened: strings cut, attributes, events and links left out.
  std::uint64_t shortened = 0;

  std::uint64_t records() const noexcept { return spans.size() + open.size() + logs.size() + points.size(); }
  // What it occupies, about.
  std::size_t bytes() const noexcept {
    return body.size() + text.bytes() + spans.capacity() * sizeof(span_record) + logs.capacity() * sizeof(log_record) +
           points.capacity() * sizeof(point_record);
  }
};

}  // namespace telltale::hub
