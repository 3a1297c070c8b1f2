// Files of spans as OTLP/JSON requests, so that there is one way into the store.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <optional>

#include "export.hpp"
#include "hub/ask/json.hpp"

namespace telltale::hub {

namespace {

constexpr std::size_t records_per_request = 1'000;

template <class F>
result<void> each_line(std::string_view text, F f) {
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    json j = json::parse(line, nullptr, false);
    if (j.is_discarded()) {
      return error{"line " + std::to_string(number) + " is no JSON. Is the file whole, and is the format right?"};
    }
    if (auto done = f(j); !done) return error{"line " + std::to_string(number) + ": " + done.error().message};
  }
  return {};
}

std::string text_of(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? it->get<std::string>() : std::string{};
}

// "2026-05-08T20:45:12.183456Z"
std::optional<std::int64_t> parse_time(const std::string& text) {
  std::tm t{};
  int read = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min,
                  &t.tm_sec, &read) != 6) {
    return std::nullopt;
  }
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  const std::time_t seconds = ::timegm(&t);
  std::int64_t ns = 0;
  std::int64_t unit = 100'000'000;
  std::size_t i = static_cast<std::size_t>(read);
  if (i < text.size() && text[i] == '.') {
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
      ns += (text[i] - '0') * unit;
      unit /= 10;
    }
  }
  if (i + 1 != text.size() || text[i] != 'Z' || seconds < 0 || seconds > 9'000'000'000) return std::nullopt;
  return static_cast<std::int64_t>(seconds) * 1'000'000'000 + ns;
}

json otlp_value(const json& v) {
  if (v.is_boolean()) return {{"boolValue", v}};
  if (v.is_number_integer()) return {{"intValue", v.dump()}};
  if (v.is_number()) return {{"doubleValue", v}};
  return {{"stringValue", v.is_string() ? v.get<std::string>() : dump(v)}};
}
json otlp_attributes(const json& object) {
  json out = json::array();
  if (!object.is_object()) return out;
  for (const auto& [key, value] : object.items()) out.push_back({{"key", key}, {"value", otlp_value(value)}});
  return out;
}

constexpr std::array own_fields = {"ts",      "level",     "target",      "span",  "message",   "trace_id",
                                   "span_id", "parent_id", "attributes",  "kind",  "status",    "events",
                                   "links",   "thread",    "duration_ms", "event", "recovered", "incomplete"};

int kind_number(const std::string& name) {
  for (int i = 0; i < 6; ++i) {
    if (name == kind_names[i]) return i;
  }
  return 1;  // internal is not written
}

// A line of core's sink `json` that tells a finished span, as an OTLP span.
result<json> span_of_line(const json& j) {
  const auto end = parse_time(text_of(j, "ts"));
  const auto duration = j.find("duration_ms");
  if (!end || duration == j.end() || !duration->is_number()) return error{"ts and duration_ms are needed"};
  const double ns = duration->get<double>() * 1e6;
  if (!(ns >= 0 && ns < 9e18)) return error{"duration_ms must not be negative"};
  if (text_of(j, "trace_id").size() != 32 || text_of(j, "span_id").size() != 16) {
    return error{"trace_id and span_id are needed, 32 and 16 hexadecimal digits"};
  }
  json s;
  s["traceId"] = text_of(j, "trace_id");
  s["spanId"] = text_of(j, "span_id");
  if (const std::string parent = text_of(j, "parent_id"); !parent.empty()) s["parentSpanId"] = parent;
  s["name"] = text_of(j, "span");
  s["kind"] = kind_number(text_of(j, "kind"));
  s["startTimeUnixNano"] = std::to_string(*end - std::llround(ns));
  s["endTimeUnixNano"] = std::to_string(*end);
  json attributes = otlp_attributes(j.value("attributes", json::object()));
  for (const auto& [key, value] : j.items()) {  // inherited ones stand at the top
    if (std::find(own_fields.begin(), own_fields.end(), key) == own_fields.end()) {
      attributes.push_back({{"key", key}, {"value", otlp_value(value)}});
    }
  }
  if (const std::string thread = text_of(j, "thread"); !thread.empty()) {
    attributes.push_back({{"key", "thread.name"}, {"value", {{"stringValue", thread}}}});
  }
  s["attributes"] = std::move(attributes);
  if (const auto events = j.find("events"); events != j.end() && events->is_array()) {
    for (const json& e : *events) {
      const auto at = parse_time(text_of(e, "ts"));
      if (!at) return error{"an event without ts"};
      s["events"].push_back({{"timeUnixNano", std::to_string(*at)},
                             {"name", text_of(e, "name")},
                             {"attributes", otlp_attributes(e.value("attributes", json::object()))}});
    }
  }
  if (const auto links = j.find("links"); links != j.end() && links->is_array()) {
    for (const json& l : *links) {
      json link{{"traceId", text_of(l, "trace_id")}, {"spanId", text_of(l, "span_id")}};
      if (const std::string kind = text_of(l, "kind"); !kind.empty()) {
        link["attributes"] = json::array({{{"key", "telltale.link.kind"}, {"value", {{"stringValue", kind}}}}});
      }
      s["links"].push_back(std::move(link));
    }
  }
  if (text_of(j, "status") == "error") s["status"] = {{"code", 2}};
  return s;
}

class requests {
 public:
  void add(const std::string& scope, json span) {
    scopes_[scope].push_back(std::move(span));
    if (++count_ == records_per_request) finish();
  }
  std::vector<std::string> take() {
    finish();
    return std::move(out_);
  }

 private:
  void finish() {
    if (count_ == 0) return;
    json scopes = json::array();
    for (auto& [name, spans] : scopes_) {
      scopes.push_back({{"scope", {{"name", name}}}, {"spans", std::move(spans)}});
    }
    json resource{{"resource", {{"attributes", json::array()}}}, {"scopeSpans", std::move(scopes)}};
    out_.push_back(dump({{"resourceSpans", json::array({std::move(resource)})}}));
    scopes_.clear();
    count_ = 0;
  }
  std::map<std::string, std::vector<json>> scopes_;
  std::size_t count_ = 0;
  std::vector<std::string> out_;
};

std::uint64_t spans_in(const json& request) {
  std::uint64_t n = 0;
  for (const json& r : request.value("resourceSpans", json::array())) {
    if (!r.is_object()) continue;
    for (const json& s : r.value("scopeSpans", json::array())) {
      if (s.is_object()) n += s.value("spans", json::array()).size();
    }
  }
  return n;
}

}  // namespace

result<imported> read_import(std::string_view text, std::string_view format) {
  imported out;
  if (format == "jsonl") {
    requests all;
    const auto done = each_line(text, [&](const json& j) -> result<void> {
      ++out.lines;
      const std::string event = text_of(j, "event");
      if (event != "complete" && event != "lost") {
        ++out.skipped;
        return {};
      }
      auto span = span_of_line(j);
      if (!span) return span.error();
      ++out.spans;
      all.add(text_of(j, "target"), *std::move(span));
      return {};
    });
    if (!done) return done.error();
    out.traces = all.take();
    return out;
  }
  if (format != "otlp") return error{"there is no format \"" + std::string(format) + "\" to import: jsonl, otlp"};
  const auto take = [&](const json& j) -> result<void> {
    ++out.lines;
    if (j.is_object() && j.contains("resourceSpans")) {
      out.spans += spans_in(j);
      out.traces.push_back(dump(j));
    } else if (j.is_object() && j.contains("resourceLogs")) {
      out.logs.push_back(dump(j));
    } else {
      return error{
          "this is no OTLP/JSON: it has neither resourceSpans nor resourceLogs. JSON lines of core's sink are imported "
          "with the format jsonl"};
    }
    return {};
  };
  // One document over many lines, or one a line.
  if (json whole = json::parse(text, nullptr, false); !whole.is_discarded()) {
    if (auto done = take(whole); !done) return done.error();
    return out;
  }
  if (auto done = each_line(text, take); !done) return done.error();
  return out;
}

}  // namespace telltale::hub
