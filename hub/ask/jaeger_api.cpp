// A search in Jaeger's terms becomes a TraceQL query; its answer is written in Jaeger's form.
#include "hub/ask/jaeger_api.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

#include "hub/ask/find.hpp"
#include "hub/ask/jaeger.hpp"
#include "hub/query/traceql/parse.hpp"
#include "hub/query/view.hpp"

namespace telltale::hub {

namespace {

struct failure {
  int status;
  std::string what;
};

http_response answer(const json& data, json errors = nullptr, int status = 200) {
  http_response out;
  out.status = status;
  out.body = dump({{"data", data}, {"total", data.size()}, {"limit", 0}, {"offset", 0}, {"errors", std::move(errors)}});
  out.body += '\n';
  return out;
}

template <class T>
T value_of(result<T> r, int status = 500) {
  if (r) return *std::move(r);
  throw failure{status, r.error().message};
}

std::string in_quotes(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// --- what is there -------------------------------------------------------------------------------------------------

table rows_of(const store& s, const std::string& sql) {
  return value_of(s.query(sql, {10'000, 30'000}));
}
std::string text_of(const cell& c) {
  const auto* text = std::get_if<std::string>(&c);
  return text != nullptr ? *text : std::string();
}

http_response services(const store& s, const http_request&) {
  json out = json::array();
  for (const auto& row : rows_of(s, "SELECT DISTINCT service FROM spans WHERE service <> '' ORDER BY service").rows) {
    out.push_back(text_of(row.at(0)));
  }
  return answer(out);
}

http_response operations_of(const store& s, const http_request& r) {
  std::string service = r.path.at(0);  // which may hold slashes
  constexpr std::string_view end = "/operations";
  if (!service.ends_with(end)) throw failure{404, "of a service there are /api/services/NAME/operations"};
  service.resize(service.size() - end.size());
  json out = json::array();
  const std::string sql = "SELECT DISTINCT name FROM spans WHERE service = " + s.sql().text(service) + " ORDER BY name";
  for (const auto& row : rows_of(s, sql).rows) out.push_back(text_of(row.at(0)));
  return answer(out);
}

// Jaeger says nothing of a kind that a span hasn't got.
std::string kind_text(int kind) {
  return kind == 0 ? "" : kind_name(kind);
}
int kind_of(std::string_view name) {
  const auto found = std::find(std::begin(kind_names) + 1, std::end(kind_names), name);
  if (found != std::end(kind_names)) return static_cast<int>(found - std::begin(kind_names));
  throw failure{
      400, "there is no kind of spans \"" + std::string(name) + "\": internal, server, client, producer, consumer"};
}

http_response operations(const store& s, const http_request& r) {
  const std::string* service = r.parameter("service");
  if (service == nullptr || service->empty()) throw failure{400, "parameter 'service' is required"};
  std::string sql = "SELECT DISTINCT name, kind FROM spans WHERE service = " + s.sql().text(*service);
  const std::string* kind = r.parameter("spanKind");
  if (kind != nullptr && !kind->empty()) sql += " AND kind = " + std::to_string(kind_of(*kind));
  json out = json::array();
  for (const auto& row : rows_of(s, sql + " ORDER BY name, kind").rows) {
    const auto* number = std::get_if<std::int64_t>(&row.at(1));
    out.push_back(
        {{"name", text_of(row.at(0))}, {"spanKind", kind_text(number != nullptr ? static_cast<int>(*number) : 0)}});
  }
  return answer(out);
}

// --- search --------------------------------------------------------------------------------------------------------

// As Go writes durations: 1.5ms, 1h30m.
std::int64_t duration_ns(std::string_view name, std::string_view text) {
  static const RE2 part("([0-9]+(?:\\.[0-9]*)?|\\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)");
  double ns = 0;
  std::string number;
  std::string unit;
  std::string_view rest = text;
  const auto next = [&] {
    re2::StringPiece piece(rest.data(), rest.size());
    if (!RE2::Consume(&piece, part, &number, &unit)) return false;
    rest.remove_prefix(rest.size() - piece.size());
    return true;
  };
  while (next()) {
    const double of = unit == "ns"   ? 1
                      : unit == "ms" ? 1e6
                      : unit == "s"  ? 1e9
                      : unit == "m"  ? 6e10
                      : unit == "h"  ? 3.6e12
                                     : 1e3;
    double v = 0;
    std::from_chars(number.data(), number.data() + number.size(), v);
    ns += v * of;
  }
  if (text.empty() || !rest.empty() || !(ns < 9.2e18)) {
    throw failure{400,
                  std::string(name) + " is \"" + std::string(text) + "\", and must be a duration like 1.2s or 300ms"};
  }
  return static_cast<std::int64_t>(ns);
}

template <class T>
T number(const http_request& r, std::string_view name, T otherwise, T most) {
  const std::string* p = r.parameter(name);
  if (p == nullptr || p->empty()) return otherwise;
  T v{};
  const auto [end, failed] = std::from_chars(p->data(), p->data() + p->size(), v);
  if (failed != std::errc{} || end != p->data() + p->size() || v < 0 || v > most) {
    throw failure{400,
                  std::string(name) + " is \"" + *p + "\", and must be a number from 0 to " + std::to_string(most)};
  }
  return v;
}

// A tag's value is text there, and of any type here.
std::string condition(const std::string& key, const std::string& value) {
  if (key == "error" && (value == "true" || value == "false"))
    return value == "true" ? "status = error" : "status != error";
  if (key == "span.kind") return std::string("kind = ") + kind_name(kind_of(value));
  if (key == "otel.status_code" && (value == "OK" || value == "ERROR")) {
    return value == "OK" ? "status = ok" : "status = error";
  }
  if (key == "otel.status_description") return "statusMessage = " + in_quotes(value);
  if (key == "otel.scope.name") throw failure{400, "the hub doesn't search by otel.scope.name"};
  const std::string field = "." + in_quotes(key);
  std::string out = "(" + field + " = " + in_quotes(value);
  std::int64_t whole = 0;
  const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), whole);
  const bool is_whole = failed == std::errc{} && end == value.data() + value.size();
  static const RE2 fraction("-?[0-9]{1,18}\\.[0-9]{1,18}");
  if (is_whole || RE2::FullMatch(value, fraction) || value == "true" || value == "false") {
    out += " || " + field + " = " + value;
  }
  return out + ")";
}

std::string query_of(const http_request& r) {
  const std::string* service = r.parameter("service");
  if (service == nullptr || service->empty()) throw failure{400, "parameter 'service' is required"};
  std::string out = "{ resource.service.name = " + in_quotes(*service);
  const auto add = [&](const std::string& what) { out += " && " + what; };
  if (const std::string* name = r.parameter("operation"); name != nullptr && !name->empty()) {
    add("name = " + in_quotes(*name));
  }
  for (const auto& [name, compare] : {std::pair("minDuration", ">="), std::pair("maxDuration", "<=")}) {
    const std::string* p = r.parameter(name);
    if (p == nullptr || p->empty()) continue;
    add(std::string("duration ") + compare + " " + std::to_string(duration_ns(name, *p)) + "ns");
  }
  for (const auto& [key, value] : r.query) {
    if (key == "tag") {
      const std::size_t colon = value.find(':');
      if (colon == std::string::npos) {
        throw failure{400, "malformed 'tag' parameter, expecting key:value, received: " + value};
      }
      add(condition(value.substr(0, colon), value.substr(colon + 1)));
    } else if (key == "tags" && !value.empty()) {
      const json all = json::parse(value, nullptr, false);
      const bool texts =
          all.is_object() && std::all_of(all.begin(), all.end(), [](const json& v) { return v.is_string(); });
      if (!texts) throw failure{400, "'tags' must be a JSON object whose values are strings, received: " + value};
      for (const auto& [tag, text] : all.items()) add(condition(tag, text.get<std::string>()));
    }
  }
  return out + " }";
}

trace_id trace_of(std::string_view text) {
  const auto digits = text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
  if (!digits || text.empty() || text.size() > 32) {
    throw failure{400, "\"" + std::string(text) + "\" is no id of a trace: it has up to 32 hexadecimal digits"};
  }
  const std::string whole = std::string(32 - text.size(), '0') + std::string(text);
  trace_id out;
  std::from_chars(whole.data(), whole.data() + 16, out.high, 16);
  std::from_chars(whole.data() + 16, whole.data() + 32, out.low, 16);
  return out;
}

std::vector<span_row> spans_of(const store& s, std::string_view id) {
  return each_once(value_of(s.trace(trace_of(id))));
}

http_response find(const store& s, const http_request& r) {
  std::vector<span_row> found;
  const auto take = [&](std::vector<span_row> rows) { std::move(rows.begin(), rows.end(), std::back_inserter(found)); };
  json errors = json::array();
  bool by_id = false;
  for (const auto& [key, id] : r.query) {
    if (key != "traceID") continue;
    by_id = true;
    std::vector<span_row> rows = spans_of(s, id);
    if (rows.empty()) errors.push_back({{"msg", "trace not found"}, {"traceID", id}});
    take(std::move(rows));
  }
  if (by_id) return answer(jaeger_traces(found), errors.empty() ? json(nullptr) : std::move(errors));
  const traceql::parsed query = traceql::parse(query_of(r));
  if (!query) throw failure{400, query.error().message};
  constexpr std::int64_t latest_us = INT64_MAX / 1000;
  const time_range when{number<std::int64_t>(r, "start", 0, latest_us) * 1000,
                        number<std::int64_t>(r, "end", latest_us, latest_us) * 1000 + 1};
  const search_limits limits{number<std::uint64_t>(r, "limit", 100, 1'000)};
  search_result all = value_of(search(s, *query, when, limits));
  for (found_trace& t : all.traces) take(std::move(t.spans));
  return answer(jaeger_traces(found));
}

http_response one_trace(const store& s, const http_request& r) {
  const std::vector<span_row> rows = spans_of(s, r.path.at(0));
  if (rows.empty()) throw failure{404, "trace not found"};
  return answer(jaeger_traces(rows));
}

}  // namespace

void add_jaeger_api(router& to, store& from) {
  using handler = http_response (*)(const store&, const http_request&);
  constexpr std::pair<const char*, handler> routes[] = {{"/api/services", services},
                                                        {"/api/services/{service_and_more*}", operations_of},
                                                        {"/api/operations", operations},
                                                        {"/api/traces", find},
                                                        {"/api/traces/{id}", one_trace}};
  for (const auto& [pattern, handle] : routes) {
    to.add("GET", pattern, [&from, handle](const http_request& r) {
      try {
        return handle(from, r);
      } catch (const failure& f) {
        return answer(nullptr, json::array({{{"code", f.status}, {"msg", f.what}}}), f.status);
      }
    });
  }
}

}  // namespace telltale::hub
