#include "hub/ask/jaeger.hpp"

#include <map>
#include <utility>

namespace telltale::hub {

namespace {

// JavaScript's numbers are exact up to 2^53; beyond, Jaeger writes text, and so do we.
template <class T>
bool is_safe(T x) {
  constexpr std::int64_t most = (std::int64_t{1} << 53) - 1;
  return std::cmp_less_equal(x, most) && std::cmp_greater_equal(x, -most);
}

json tag(std::string_view key, const attribute_value& v) {
  return std::visit(
      [&]<class T>(const T& x) -> json {
        if constexpr (std::is_same_v<T, std::string>) {
          return {{"key", key}, {"type", "string"}, {"value", x}};
        } else if constexpr (std::is_same_v<T, bool>) {
          return {{"key", key}, {"type", "bool"}, {"value", x}};
        } else if constexpr (std::is_same_v<T, double>) {
          return {{"key", key}, {"type", "float64"}, {"value", x}};
        } else {
          return {{"key", key}, {"type", "int64"}, {"value", is_safe(x) ? json(x) : json(std::to_string(x))}};
        }
      },
      v);
}

json tags(const attribute_list& list) {
  json out = json::array();
  for (const auto& [key, value] : list) out.push_back(tag(key, value));
  return out;
}

json process_of(const span_row& r) {
  json out{{"serviceName", r.service.empty() ? "unknown" : r.service}, {"tags", json::array()}};
  for (const auto& [key, value] : r.resource) {
    if (key != "service.name") out["tags"].push_back(tag(key, value));
  }
  return out;
}

json tags_of(const span_row& r) {
  json out = tags(r.attributes);
  const std::pair<const char*, const std::string*> texts[] = {
      {"job_id", &r.job_id}, {"module_id", &r.module_id},   {"task_id", &r.task_id},
      {"phase", &r.phase},   {"otel.scope.name", &r.scope}, {"otel.status_description", &r.status_message}};
  for (const auto& [key, value] : texts) {
    if (!value->empty()) out.push_back(tag(key, *value));
  }
  if (r.kind != 0) out.push_back(tag("span.kind", std::string(kind_name(r.kind))));
  if (r.status != status_code::unset) {
    out.push_back(tag("otel.status_code", std::string(r.status == status_code::ok ? "OK" : "ERROR")));
  }
  if (r.status == status_code::error) out.push_back(tag("error", true));
  return out;
}

json references_of(const span_row& r) {
  json out = json::array();
  const auto add = [&](const char* type, trace_id trace, span_id span) {
    out.push_back({{"refType", type}, {"traceID", hex(trace)}, {"spanID", hex(span.value)}});
  };
  if (r.parent) add("CHILD_OF", r.trace, r.parent);
  for (const span_link& l : r.links) add("FOLLOWS_FROM", l.trace, l.span);
  return out;
}

json span_of(const span_row& r, const std::string& process) {
  json logs = json::array();
  for (const span_event& e : r.events) {
    json fields = tags(e.attributes);
    fields.insert(fields.begin(), tag("event", e.name));
    logs.push_back({{"timestamp", e.time_ns / 1000}, {"fields", std::move(fields)}});
  }
  json warnings = nullptr;
  if (r.state == span_state::open)
    warnings = json::array({"it runs still; its duration is up to its last sign of life"});
  if (r.state == span_state::lost) warnings = json::array({"it never ended: its process is gone"});
  return {{"traceID", hex(r.trace)},
          {"spanID", hex(r.id.value)},
          {"operationName", r.name},
          {"references", references_of(r)},
          {"startTime", r.start_ns / 1000},
          {"duration", r.duration_ns / 1000},
          {"tags", tags_of(r)},
          {"logs", std::move(logs)},
          {"processID", process},
          {"warnings", std::move(warnings)}};
}

}  // namespace

json jaeger_traces(std::span<const span_row> rows) {
  struct one {
    json spans = json::array();
    json processes = json::object();
    std::map<std::string, std::string> numbers;  // of a process as text
  };
  std::vector<std::pair<std::string, one>> traces;
  std::map<std::string, std::size_t> places;
  for (const span_row& r : rows) {
    std::string id = hex(r.trace);
    const auto [place, is_new] = places.try_emplace(id, traces.size());
    if (is_new) traces.emplace_back(std::move(id), one{});
    one& t = traces[place->second].second;
    json process = process_of(r);
    const auto [number, is_first] = t.numbers.try_emplace(dump(process), "p" + std::to_string(t.numbers.size() + 1));
    if (is_first) t.processes[number->second] = std::move(process);
    t.spans.push_back(span_of(r, number->second));
  }
  json out = json::array();
  for (auto& [id, t] : traces) {
    out.push_back(
        {{"traceID", id}, {"spans", std::move(t.spans)}, {"processes", std::move(t.processes)}, {"warnings", nullptr}});
  }
  return out;
}

}  // namespace telltale::hub
