// Rows as JSON, for the API and the exports. Only the sources of this folder include it: nlohmann's header is heavy.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "hub/model.hpp"

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

inline json to_json(const span_row& r) {
  json out;
  out["trace_id"] = hex(r.trace);
  out["span_id"] = hex(r.id.value);
  if (r.parent) out["parent_id"] = hex(r.parent.value);
  out["name"] = r.name;
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out[key] = value;
  };
  text("service", r.service);
  text("scope", r.scope);
  text("node", r.node);
  out["kind"] = kind_name(r.kind);
  out["status"] = r.status == status_code::ok ? "ok" : r.status == status_code::error ? "error" : "unset";
  text("status_message", r.status_message);
  out["state"] = r.state == span_state::open ? "open" : r.state == span_state::lost ? "lost" : "ended";
  out["start_ns"] = r.start_ns;
  out["duration_ns"] = r.duration_ns;
  text("job_id", r.job_id);
  text("module_id", r.module_id);
  text("task_id", r.task_id);
  text("phase", r.phase);
  if (!r.attributes.empty()) out["attributes"] = to_json(r.attributes);
  if (!r.resource.empty()) out["resource"] = to_json(r.resource);
  for (const span_event& e : r.events) {
    out["events"].push_back({{"time_ns", e.time_ns}, {"name", e.name}, {"attributes", to_json(e.attributes)}});
  }
  for (const span_link& l : r.links) {
    json link{{"trace_id", hex(l.trace)}, {"span_id", hex(l.span.value)}};
    if (!l.kind.empty()) link["kind"] = l.kind;
    if (!l.attributes.empty()) link["attributes"] = to_json(l.attributes);
    out["links"].push_back(std::move(link));
  }
  return out;
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
