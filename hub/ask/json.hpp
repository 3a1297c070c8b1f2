// Rows as JSON, for the API and the exports. Only the sources of this folder include it: nlohmann's header is heavy.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "hub/model.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

using json = nlohmann::ordered_json;

inline std::string hex(std::uint64_t v) {
  constexpr char digits[] = "0123456789abcdef";
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; v >>= 4) out[i] = digits[v & 15];
  return out;
}
inline std::string hex(trace_id t) {
  return hex(t.high) + hex(t.low);
}

inline json to_json(const attribute_value& v) {
  return std::visit([](const auto& x) { return json(x); }, v);
}
inline json to_json(const attribute_list& list) {
  json out = json::object();
  for (const auto& [key, value] : list) out[key] = to_json(value);
  return out;
}

// Every text is valid UTF-8 by then: what isn't becomes U+FFFD.
inline std::string dump(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

constexpr const char* kind_names[] = {"unspecified", "internal", "server", "client", "producer", "consumer"};
inline const char* kind_name(int kind) {
  return kind_names[kind >= 0 && kind < 6 ? kind : 0];
}

// A span as JSON text: there may be 100,000 in an answer, so it is written without a tree in between.
inline void append_json(std::string& out, const span_row& r) {
  char before = '{';
  const auto name = [&](std::string_view key) {
    out += before;
    out += '"';
    out += key;
    out += "\":";
    before = ',';
  };
  const auto text = [&](std::string_view key, std::string_view value) {
    name(key);
    append_json(out, value);
  };
  const auto text_if = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) text(key, value);
  };
  const auto number = [&](std::string_view key, std::int64_t value) {
    name(key);
    append_json(out, value);
  };
  const auto attributes = [&](std::string_view key, const attribute_list& list) {
    name(key);
    out += object_text(list);
  };
  text("trace_id", to_hex(r.trace));
  text("span_id", to_hex(r.id));
  if (r.parent) text("parent_id", to_hex(r.parent));
  text("name", r.name);
  text_if("service", r.service);
  text_if("scope", r.scope);
  text_if("node", r.node);
  text("kind", kind_name(r.kind));
  text("status", r.status == status_code::ok ? "ok" : r.status == status_code::error ? "error" : "unset");
  text_if("status_message", r.status_message);
  text("state", r.state == span_state::open ? "open" : r.state == span_state::lost ? "lost" : "ended");
  number("start_ns", r.start_ns);
  number("duration_ns", r.duration_ns);
  text_if("job_id", r.job_id);
  text_if("module_id", r.module_id);
  text_if("task_id", r.task_id);
  text_if("phase", r.phase);
  if (!r.attributes.empty()) attributes("attributes", r.attributes);
  if (!r.resource.empty()) attributes("resource", r.resource);
  const auto list = [&](std::string_view key, const auto& items, const auto& members) {
    if (items.empty()) return;
    name(key);
    for (const auto& item : items) {
      out += &item == items.data() ? "[" : ",";
      before = '{';
      members(item);
      out += '}';
    }
    out += ']';
    before = ',';
  };
  list("events", r.events, [&](const span_event& e) {
    number("time_ns", e.time_ns);
    text("name", e.name);
    attributes("attributes", e.attributes);
  });
  list("links", r.links, [&](const span_link& l) {
    text("trace_id", to_hex(l.trace));
    text("span_id", to_hex(l.span));
    text_if("kind", l.kind);
    if (!l.attributes.empty()) attributes("attributes", l.attributes);
  });
  out += '}';
}

inline json to_json(const log_row& l) {
  json out;
  out["time_ns"] = l.time_ns;
  if (l.trace) out["trace_id"] = hex(l.trace);
  if (l.span) out["span_id"] = hex(l.span.value);
  out["severity"] = l.severity;
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  text("severity_text", l.severity_text);
  text("service", l.service);
  text("scope", l.scope);
  text("node", l.node);
  text("event_name", l.event_name);
  out["body"] = l.body;
  text("job_id", l.job_id);
  if (!l.attributes.empty()) out["attributes"] = to_json(l.attributes);
  return out;
}

}  // namespace telltale::hub
