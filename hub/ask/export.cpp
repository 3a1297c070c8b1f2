// Timelines and JSON lines are written by core's own sinks, fed with spans that come from the store.
#include "export.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <telltale/core/sink.hpp>
#include <unordered_map>

#include "hub/ask/jaeger.hpp"
#include "hub/ask/json.hpp"

namespace telltale::hub {

namespace {

// --- through core's sinks
// ---------------------------------------------------------------------------------------------

attribute_view view_of(const std::string& key, const attribute_value& value) {
  attribute_view a;
  a.key = key;
  std::visit(
      [&]<class T>(const T& v) {
        if constexpr (std::is_same_v<T, std::string>) {
          a.type = attribute_type::string;
          a.text = v;
        } else if constexpr (std::is_same_v<T, bool>) {
          a.type = attribute_type::boolean;
          a.bits = v ? 1 : 0;
        } else if constexpr (std::is_same_v<T, double>) {
          a.type = attribute_type::float64;
          a.bits = std::bit_cast<std::uint64_t>(v);
        } else {
          a.type = std::is_same_v<T, std::int64_t> ? attribute_type::int64 : attribute_type::uint64;
          a.bits = static_cast<std::uint64_t>(v);
        }
      },
      value);
  return a;
}

const std::string* text_in(const attribute_list& list, std::string_view key) {
  for (const auto& [k, v] : list) {
    if (k == key) return std::get_if<std::string>(&v);
  }
  return nullptr;
}

// Where a span ran, as one name: its node or service, and its thread.
std::string lane_of(const span_row& r) {
  const std::string& where = r.node.empty() ? r.service : r.node;
  const std::string* thread = text_in(r.attributes, "thread.name");
  if (thread == nullptr) return where;
  return where.empty() ? *thread : where + " " + *thread;
}

link_kind kind_of_link(std::string_view text) {
  for (const link_kind k : {link_kind::detail_of, link_kind::retry_of, link_kind::input_of, link_kind::waits_for}) {
    if (to_string(k) == text) return k;
  }
  return link_kind::related;
}

// What a sink wants to know beside the span lives here until the sink is flushed.
class feeder {
 public:
  explicit feeder(sink& to) : to_(to) {}

  void feed(const span_row& r) {
    if (r.state == span_state::open) return;
    std::vector<attribute_view> attributes;
    const std::string promoted_keys[] = {"job_id", "module_id", "task_id", "phase"};
    const attribute_value promoted[] = {r.job_id, r.module_id, r.task_id, r.phase};
    for (std::size_t i = 0; i < 4; ++i) {
      if (!std::get<std::string>(promoted[i]).empty()) attributes.push_back(view_of(promoted_keys[i], promoted[i]));
    }
    for (const auto& [key, value] : r.attributes) attributes.push_back(view_of(key, value));
    for (attribute_view& a : attributes) a.key_number = number_of(std::string(a.key));
    std::vector<event_view> events;
    for (const span_event& e : r.events) {
      events.push_back({e.time_ns, &site(e.name, r.scope, site_kind::event), {}});
      for (const auto& [key, value] : e.attributes) {
        events.back().attributes.push_back(view_of(key, value));
        events.back().attributes.back().key_number = number_of(key);
      }
    }
    std::vector<link_view> links;
    for (const span_link& l : r.links) links.push_back({l.trace, l.span, kind_of_link(l.kind)});
    const auto kind = r.kind >= 1 && r.kind <= 5 ? static_cast<span_kind>(r.kind - 1) : span_kind::internal;
    to_.on_span({site(r.name, r.scope, site_kind::span), nullptr, thread(lane_of(r)), r.trace, r.id, r.parent,
                 r.start_ns, r.end_ns(), r.status == status_code::error, false, kind, attributes, events, links});
  }

 private:
  const site_info& site(const std::string& name, const std::string& module, site_kind kind) {
    std::unique_ptr<site_info>& s = sites_[{name, module, kind == site_kind::span}];
    if (s == nullptr) {
      s = std::make_unique<site_info>();
      s->id = static_cast<std::uint32_t>(sites_.size());
      s->name = name;
      s->module = module;
      s->kind = kind;
    }
    return *s;
  }
  const thread_info& thread(const std::string& name) {
    std::unique_ptr<thread_info>& t = threads_[name];
    if (t == nullptr) {
      const auto number = static_cast<std::uint32_t>(threads_.size());
      t = std::make_unique<thread_info>(thread_info{number, number, name});
    }
    return *t;
  }
  std::uint32_t number_of(const std::string& key) {
    return keys_.try_emplace(key, static_cast<std::uint32_t>(keys_.size() + 1)).first->second;
  }

  sink& to_;
  std::map<std::tuple<std::string, std::string, bool>, std::unique_ptr<site_info>> sites_;
  std::map<std::string, std::unique_ptr<thread_info>> threads_;
  std::unordered_map<std::string, std::uint32_t> keys_;
};

// Core's sinks write files; this one is read back and gone.
result<std::string> through_sink(std::span<const span_row> rows, std::string_view kind) {
  const char* folder = std::getenv("TMPDIR");
  std::string path = (folder != nullptr && *folder != '\0' ? std::string(folder) : "/tmp") + "/telltale-export-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (file < 0) return error{"cannot export: no file could be made in " + path + ". Set TMPDIR to a writable folder"};
  ::close(file);
  struct remover {
    const std::string& path;
    ~remover() { ::unlink(path.c_str()); }
  } const gone_afterwards{path};
  ::unlink(path.c_str());  // the sink wants to begin it
  {
    auto sinks = make_sinks(std::string(kind) + ":" + path + "?overflow=block");
    if (!sinks) return sinks.error();
    sink& to = *sinks->front();
    // In order of their ends, as a running program tells them.
    std::vector<const span_row*> order;
    for (const span_row& r : rows) order.push_back(&r);
    std::stable_sort(order.begin(), order.end(),
                     [](const span_row* a, const span_row* b) { return a->end_ns() < b->end_ns(); });
    feeder feed(to);
    for (const span_row* r : order) feed.feed(*r);
    to.on_batch_end();
    to.flush(std::chrono::steady_clock::now() + std::chrono::minutes(5));
    if (to.errors() != 0 || to.dropped() != 0) return error{"cannot export: " + path + " could not be written whole"};
  }
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  std::string out = std::move(all).str();
  if (kind == "chrome") out += "\n]\n";
  return out;
}

// --- OTLP
// -------------------------------------------------------------------------------------------------------------

json otlp_value(const attribute_value& v) {
  return std::visit(
      []<class T>(const T& x) -> json {
        if constexpr (std::is_same_v<T, std::string>) return {{"stringValue", x}};
        if constexpr (std::is_same_v<T, bool>) return {{"boolValue", x}};
        if constexpr (std::is_same_v<T, double>) {
          if (std::isnan(x)) return {{"doubleValue", "NaN"}};
          if (std::isinf(x)) return {{"doubleValue", x > 0 ? "Infinity" : "-Infinity"}};
          return {{"doubleValue", x}};
        }
        return {{"intValue", to_string(attribute_value(x))}};
      },
      v);
}
void add_attribute(json& list, std::string_view key, const attribute_value& v) {
  list.push_back({{"key", key}, {"value", otlp_value(v)}});
}
json otlp_attributes(const attribute_list& list) {
  json out = json::array();
  for (const auto& [key, value] : list) add_attribute(out, key, value);
  return out;
}

json otlp_span(const span_row& r) {
  json s;
  s["traceId"] = hex(r.trace);
  s["spanId"] = hex(r.id.value);
  if (r.parent) s["parentSpanId"] = hex(r.parent.value);
  s["name"] = r.name;
  s["kind"] = r.kind;
  s["startTimeUnixNano"] = std::to_string(r.start_ns);
  s["endTimeUnixNano"] = std::to_string(r.end_ns());
  json attributes = otlp_attributes(r.attributes);
  for (const auto& [key, value] : {std::pair<const char*, const std::string*>{"job_id", &r.job_id},
                                   {"module_id", &r.module_id},
                                   {"task_id", &r.task_id},
                                   {"phase", &r.phase}}) {
    if (!value->empty()) add_attribute(attributes, key, *value);
  }
  if (r.state == span_state::open) add_attribute(attributes, "telltale.open", true);
  if (r.state == span_state::lost) add_attribute(attributes, "telltale.lost", true);
  s["attributes"] = std::move(attributes);
  for (const span_event& e : r.events) {
    s["events"].push_back(
        {{"timeUnixNano", std::to_string(e.time_ns)}, {"name", e.name}, {"attributes", otlp_attributes(e.attributes)}});
  }
  for (const span_link& l : r.links) {
    json link{{"traceId", hex(l.trace)}, {"spanId", hex(l.span.value)}, {"attributes", otlp_attributes(l.attributes)}};
    if (!l.kind.empty()) add_attribute(link["attributes"], "telltale.link.kind", l.kind);
    s["links"].push_back(std::move(link));
  }
  json status{{"code", static_cast<int>(r.status)}};
  if (!r.status_message.empty()) status["message"] = r.status_message;
  s["status"] = std::move(status);
  return s;
}

std::string to_otlp(std::span<const span_row> rows) {
  // Spans of one resource and one scope stand together, in the order in which they come.
  std::vector<std::pair<std::string, std::vector<std::pair<std::string, json>>>> by_resource;
  for (const span_row& r : rows) {
    attribute_list resource = r.resource;
    if (text_in(resource, "service.name") == nullptr && !r.service.empty()) {
      resource.emplace_back("service.name", r.service);
    }
    const std::string key = dump(otlp_attributes(resource));
    auto of = std::find_if(by_resource.begin(), by_resource.end(), [&](const auto& x) { return x.first == key; });
    if (of == by_resource.end()) of = by_resource.insert(by_resource.end(), {key, {}});
    auto& scopes = of->second;
    auto scope = std::find_if(scopes.begin(), scopes.end(), [&](const auto& x) { return x.first == r.scope; });
    if (scope == scopes.end()) scope = scopes.insert(scopes.end(), {r.scope, json::array()});
    scope->second.push_back(otlp_span(r));
  }
  json out;
  out["resourceSpans"] = json::array();
  for (auto& [resource, scopes] : by_resource) {
    json one{{"resource", {{"attributes", json::parse(resource)}}}};
    for (auto& [name, spans] : scopes) {
      one["scopeSpans"].push_back({{"scope", {{"name", name}}}, {"spans", std::move(spans)}});
    }
    out["resourceSpans"].push_back(std::move(one));
  }
  return dump(out) + "\n";
}

// --- speedscope
// -------------------------------------------------------------------------------------------------------

// Its profiles want frames that nest: spans that don't go on a lane of their own.
std::string to_speedscope(std::span<const span_row> rows) {
  struct lane {
    std::string name;
    std::vector<const span_row*> open;
    json events = json::array();
  };
  std::map<std::string, std::vector<lane>> lanes;
  std::map<std::string, std::size_t> frame_of;
  json frames = json::array();
  std::vector<const span_row*> order;
  std::int64_t begin = INT64_MAX;
  std::int64_t end = INT64_MIN;
  for (const span_row& r : rows) {
    if (r.state == span_state::open) continue;
    order.push_back(&r);
    begin = std::min(begin, r.start_ns);
    end = std::max(end, r.end_ns());
  }
  std::stable_sort(order.begin(), order.end(), [](const span_row* a, const span_row* b) {
    return std::pair(a->start_ns, -a->duration_ns) < std::pair(b->start_ns, -b->duration_ns);
  });
  const auto event = [&](lane& l, const char* type, const span_row& r, std::int64_t at) {
    const auto [frame, is_new] = frame_of.try_emplace(r.name, frame_of.size());
    if (is_new) frames.push_back({{"name", r.name}});
    l.events.push_back({{"type", type}, {"frame", frame->second}, {"at", at - begin}});
  };
  const auto close_until = [&](lane& l, std::int64_t at) {
    while (!l.open.empty() && l.open.back()->end_ns() <= at) {
      event(l, "C", *l.open.back(), l.open.back()->end_ns());
      l.open.pop_back();
    }
  };
  for (const span_row* r : order) {
    auto& of = lanes[lane_of(*r)];
    lane* place = nullptr;
    for (lane& l : of) {
      close_until(l, r->start_ns);
      if (place == nullptr && (l.open.empty() || l.open.back()->end_ns() >= r->end_ns())) place = &l;
    }
    if (place == nullptr) {
      of.emplace_back();
      place = &of.back();
    }
    event(*place, "O", *r, r->start_ns);
    place->open.push_back(r);
  }
  json profiles = json::array();
  for (auto& [name, of] : lanes) {
    for (std::size_t i = 0; i < of.size(); ++i) {
      close_until(of[i], INT64_MAX);
      profiles.push_back(
          {{"type", "evented"},
           {"name", (name.empty() ? "spans" : name) + (i == 0 ? "" : " (" + std::to_string(i + 1) + ")")},
           {"unit", "nanoseconds"},
           {"startValue", 0},
           {"endValue", end - begin},
           {"events", std::move(of[i].events)}});
    }
  }
  return dump({{"$schema", "https://www.speedscope.app/file-format-schema.json"},
               {"shared", {{"frames", std::move(frames)}}},
               {"profiles", std::move(profiles)},
               {"exporter", "telltale"}}) +
         "\n";
}

}  // namespace

result<std::string> export_spans(std::span<const span_row> rows, std::string_view format) {
  if (format == "perfetto" || format == "chrome") return through_sink(rows, format);
  if (format == "jsonl") return through_sink(rows, "json");
  if (format == "otlp") return to_otlp(rows);
  if (format == "jaeger") return dump({{"data", jaeger_traces(rows)}}) + "\n";
  if (format == "speedscope") return to_speedscope(rows);
  return error{"there is no format \"" + std::string(format) + "\": perfetto, chrome, otlp, jaeger, speedscope, jsonl"};
}

std::string_view content_type(std::string_view format) {
  if (format == "perfetto") return "application/octet-stream";
  return format == "jsonl" ? "application/x-ndjson" : "application/json";
}

}  // namespace telltale::hub
