// Each route reads its parameters, asks, and writes JSON; what it asks is elsewhere.
#include "api.hpp"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <telltale/core/breakdown.hpp>
#include <telltale/core/critical_path.hpp>

#include "hub/ask/export.hpp"
#include "hub/ask/find.hpp"
#include "hub/ask/json.hpp"
#include "hub/otlp/decode.hpp"
#include "hub/query/compare.hpp"
#include "hub/query/traceql/parse.hpp"
#include "hub/query/view.hpp"

namespace telltale::hub {

namespace {

// What a handler throws when it can't answer.
struct failure {
  int status;
  std::string what;
};

http_response answer(const json& j, int status = 200) {
  http_response out;
  out.status = status;
  out.body = dump(j);
  out.body += '\n';
  return out;
}

template <class T>
T value_of(result<T> r) {
  if (r) return *std::move(r);
  const std::string& what = r.error().message;
  throw failure{what.starts_with("there is no trace") || what.starts_with("there is no job") ? 404 : 400, what};
}
template <class T>
T kept_in_store(result<T> r) {
  if (r) return *std::move(r);
  throw failure{500, r.error().message};
}

std::string text_parameter(const http_request& r, std::string_view name, std::string_view otherwise = {}) {
  const std::string* p = r.parameter(name);
  return p != nullptr ? *p : std::string(otherwise);
}
std::string needed_parameter(const http_request& r, std::string_view name) {
  const std::string* p = r.parameter(name);
  if (p == nullptr || p->empty()) throw failure{400, "the parameter `" + std::string(name) + "` is missing"};
  return *p;
}
template <class T>
T number_parameter(const http_request& r, std::string_view name, T otherwise, T least, T most) {
  const std::string* p = r.parameter(name);
  if (p == nullptr) return otherwise;
  T v{};
  const auto [end, failed] = std::from_chars(p->data(), p->data() + p->size(), v);
  if (failed != std::errc{} || end != p->data() + p->size() || !(v >= least && v <= most)) {
    throw failure{400, "the parameter `" + std::string(name) + "` is \"" + *p + "\", and must be a number from " +
                           json(least).dump() + " to " + json(most).dump()};
  }
  return v;
}
time_range range_of(const http_request& r) {
  const auto at = [&](std::string_view name, std::int64_t otherwise) {
    return number_parameter<std::int64_t>(r, name, otherwise, 0, INT64_MAX);
  };
  return {at("start", 0), at("end", INT64_MAX)};
}
traceql::pipeline query_of(std::string_view text) {
  traceql::parsed p = traceql::parse(text);
  if (!p) throw failure{400, p.error().message};
  return *std::move(p);
}

span_id span_of(std::string_view text) {
  std::uint64_t v = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), v, 16);
  if (text.size() != 16 || failed != std::errc{} || end != text.data() + text.size()) {
    throw failure{400, "\"" + std::string(text) + "\" is no id of a span, which has 16 hexadecimal digits"};
  }
  return {v};
}
trace_id trace_of(std::string_view text) {
  const auto id = parse_trace_id(text);
  if (!id) throw failure{400, "\"" + std::string(text) + "\" is no id of a trace, which has 32 hexadecimal digits"};
  return *id;
}

// --- traces ----------------------------------------------------------------------------------------------------------

json summary_of(const std::vector<span_row>& spans) {
  const traceql::trace_index index(spans);
  json out;
  out["trace_id"] = hex(spans.front().trace);
  const span_row& root = spans[index.root() == traceql::trace_index::none ? 0 : index.root()];
  out["root_name"] = root.name;
  out["root_service"] = root.service;
  if (!root.job_id.empty()) out["job_id"] = root.job_id;
  out["start_ns"] = index.begin_ns();
  out["duration_ns"] = index.end_ns() - index.begin_ns();
  out["spans"] = spans.size();
  const auto count = [&](auto what) { return std::count_if(spans.begin(), spans.end(), what); };
  out["errors"] = count([](const span_row& s) { return s.status == status_code::error; });
  out["open"] = count([](const span_row& s) { return s.state == span_state::open; });
  return out;
}

http_response search_traces(const store& s, const http_request& r) {
  const traceql::pipeline query = query_of(text_parameter(r, "q", "{}"));
  const search_limits limits{number_parameter<std::size_t>(r, "limit", 20, 1, 1'000),
                             number_parameter<std::size_t>(r, "candidates", 2'000, 1, 100'000)};
  const search_result found = value_of(search(s, query, range_of(r), limits));
  json out;
  out["traces"] = json::array();
  for (const found_trace& t : found.traces) {
    json one = summary_of(t.spans);
    std::size_t matched = 0;
    json some = json::array();
    for (const traceql::span_group& g : t.groups) {
      matched += g.spans.size();
      for (const std::size_t i : g.spans) {
        if (some.size() == 3) break;
        some.push_back({{"span_id", hex(t.spans[i].id.value)},
                        {"name", t.spans[i].name},
                        {"start_ns", t.spans[i].start_ns},
                        {"duration_ns", t.spans[i].duration_ns}});
      }
    }
    one["matched"] = matched;
    one["matched_spans"] = std::move(some);
    out["traces"].push_back(std::move(one));
  }
  out["looked_at"] = found.looked_at;
  out["cut"] = found.cut;
  return answer(out);
}

subject subject_of(const store& s, const http_request& r, std::string_view name, std::size_t most = 100) {
  return value_of(find_subject(s, name, range_of(r), most));
}

// `j`, an object, with one more member: the spans.
http_response answer_with(const json& j, std::string_view name, const std::vector<span_row>& spans) {
  http_response out = answer(j);
  std::string& to = out.body;
  to.resize(to.rfind('}'));
  to += to.size() > 1 ? ",\"" : "\"";
  to += name;
  to += "\":[";
  for (const span_row& row : spans) {
    if (&row != spans.data()) to += ',';
    append_json(to, row);
  }
  to += "]}\n";
  return out;
}

http_response one_trace(const store& s, const http_request& r) {
  subject found = subject_of(s, r, r.path.at(0), 1);
  return answer_with(summary_of(found.traces.front()), "rows", found.traces.front());
}

// What had to be put right before the numbers could be made.
void add_notes(json& out, const span_view_tree& v, bool cut) {
  out["notes"] = {{"joined_roots", v.joined_roots}, {"missing_parents", v.missing_parents}, {"moved", v.moved}};
  out["cut"] = cut;
}

http_response breakdown_of(const store& s, const http_request& r) {
  subject found = subject_of(s, r, needed_parameter(r, "of"), 1);
  const span_view_tree v = view_of(std::move(found.traces.front()));
  const breakdown b = break_down(v.tree, v.root);
  json out{{"name", v.tree.spans()[v.root].name}, {"total_ns", b.total_ns}, {"phases", json::array()}};
  for (const phase_time& p : b.phases) {
    out["phases"].push_back(
        {{"name", p.name},
         {"count", p.count},
         {"total_ns", p.total_ns},
         {"busy_ns", p.busy_ns},
         {"wall_ns", p.wall_ns},
         {"share", b.total_ns > 0 ? static_cast<double>(p.wall_ns) / static_cast<double>(b.total_ns) : 0.0}});
  }
  add_notes(out, v, found.cut);
  return answer(out);
}

http_response critical_path_of(const store& s, const http_request& r) {
  subject found = subject_of(s, r, needed_parameter(r, "of"), 1);
  const span_view_tree v = view_of(std::move(found.traces.front()));
  const critical_path p = find_critical_path(v.tree, v.root);
  const auto share = [&](std::int64_t ns) {
    return p.total_ns > 0 ? static_cast<double>(ns) / static_cast<double>(p.total_ns) : 0.0;
  };
  const auto id_of = [&](std::size_t i) -> json {
    return i < v.rows.size() ? json(hex(v.rows[i].id.value)) : json(nullptr);
  };
  json out{{"name", v.tree.spans()[v.root].name}, {"total_ns", p.total_ns}};
  out["segments"] = json::array();
  for (const path_segment& x : p.segments) {
    out["segments"].push_back({{"span_id", id_of(x.span)},
                               {"name", v.tree.spans()[x.span].name},
                               {"begin_ns", x.begin_ns},
                               {"end_ns", x.end_ns}});
  }
  out["phases"] = json::array();
  for (const path_phase& x : p.phases) {
    out["phases"].push_back(
        {{"name", x.name}, {"count", x.count}, {"self_ns", x.self_ns}, {"share", share(x.self_ns)}});
  }
  out["spans"] = json::array();
  for (const path_span& x : p.spans) {
    out["spans"].push_back({{"span_id", id_of(x.span)},
                            {"name", v.tree.spans()[x.span].name},
                            {"self_ns", x.self_ns},
                            {"path_ns", x.path_ns},
                            {"slack_ns", x.slack_ns}});
  }
  add_notes(out, v, found.cut);
  return answer(out);
}

http_response diff(const store& s, const http_request& r) {
  const auto side = [&](std::string_view name) {
    subject found = subject_of(s, r, needed_parameter(r, name));
    std::vector<breakdown> all;
    for (std::vector<span_row>& t : found.traces) {
      const span_view_tree v = view_of(std::move(t));
      all.push_back(break_down(v.tree, v.root));
    }
    return all;
  };
  const difference d = compare(side("a"), side("b"));
  json out{{"a", {{"traces", d.traces_a}, {"total_ns", d.total_a_ns}}},
           {"b", {{"traces", d.traces_b}, {"total_ns", d.total_b_ns}}},
           {"change_ns", d.total_b_ns - d.total_a_ns},
           {"phases", json::array()}};
  for (const phase_change& p : d.phases) {
    out["phases"].push_back({{"name", p.name},
                             {"count_a", p.count_a},
                             {"count_b", p.count_b},
                             {"a_ns", p.a_ns},
                             {"b_ns", p.b_ns},
                             {"change_ns", p.change_ns},
                             {"share", p.share}});
  }
  return answer(out);
}

http_response top(const store& s, const http_request& r) {
  const std::string* q = r.parameter("q");
  std::optional<traceql::pipeline> filter;
  if (q != nullptr) filter = query_of(*q);
  const auto rows = value_of(
      find_top(s, filter ? &*filter : nullptr, range_of(r), number_parameter<std::size_t>(r, "limit", 100, 1, 10'000)));
  json out{{"names", json::array()}, {"exact", rows.empty() || rows[0].exact}};
  for (const top_row& t : rows) {
    out["names"].push_back({{"name", t.name},
                            {"kind", kind_name(t.kind)},
                            {"count", t.count},
                            {"errors", t.errors},
                            {"rate", t.rate},
                            {"p50_ns", t.p50_ns},
                            {"p95_ns", t.p95_ns},
                            {"p99_ns", t.p99_ns},
                            {"max_ns", t.max_ns},
                            {"total_ns", t.total_ns}});
  }
  return answer(out);
}

bool is_duration(traceql::intrinsic i) {
  return i == traceql::intrinsic::duration || i == traceql::intrinsic::trace_duration;
}

http_response metrics(const store& s, const http_request& r) {
  const traceql::pipeline query = query_of(needed_parameter(r, "q"));
  if (query.stages.empty() || !std::holds_alternative<traceql::metrics>(query.stages.back())) {
    throw failure{400,
                  "this query makes no numbers over time: end it with | rate(), | quantile_over_time(duration, .99) …"};
  }
  const time_range when = range_of(r);
  if (when.begin_ns == 0 || when.end_ns == INT64_MAX || when.end_ns <= when.begin_ns) {
    throw failure{400, "numbers over time need `start` and `end`, in nanoseconds since 1970, start before end"};
  }
  const auto count = number_parameter<std::size_t>(r, "steps", 60, 1, 10'000);
  const std::int64_t step = std::max<std::int64_t>(1, (when.end_ns - when.begin_ns) / static_cast<std::int64_t>(count));
  const traceql::steps over{when.begin_ns, step, count};
  const metrics_result found = value_of(measure(s, query, over));
  json out{{"start_ns", over.begin_ns}, {"step_ns", over.step_ns}, {"series", json::array()}, {"cut", found.cut}};
  const auto& m = std::get<traceql::metrics>(query.stages.back());
  if (!m.of.empty() && is_duration(m.of[0].what)) out["unit"] = "ns";
  for (const traceql::series& line : found.series) {
    json one{{"labels", json::object()}, {"values", json::array()}};
    for (const auto& [key, value] : line.labels) one["labels"][key] = value;
    for (const double v : line.values) one["values"].push_back(std::isnan(v) ? json(nullptr) : json(v));
    out["series"].push_back(std::move(one));
  }
  return answer(out);
}

http_response outliers_of(const store& s, const http_request& r) {
  const traceql::pipeline query = query_of(needed_parameter(r, "q"));
  const search_result found = value_of(search(s, query, range_of(r), {100'000, 20'000}));
  std::vector<span_row> spans;
  for (const found_trace& t : found.traces) {
    for (const traceql::span_group& g : t.groups) {
      for (const std::size_t i : g.spans) spans.push_back(t.spans[i]);
    }
  }
  if (spans.empty()) throw failure{404, "there is no span that matches"};
  const outliers o = find_outliers(spans, number_parameter<double>(r, "slow", 0.95, 0, 1));
  json out{{"slow", o.slow}, {"rest", o.rest}, {"threshold_ns", o.threshold_ns}, {"attributes", json::array()}};
  for (const outlier_attribute& a : o.attributes) {
    out["attributes"].push_back(
        {{"key", a.key}, {"what", a.what}, {"slow_with", a.slow_with}, {"rest_with", a.rest_with}, {"score", a.score}});
  }
  out["cut"] = found.cut;
  return answer(out);
}

// --- logs, links, live -----------------------------------------------------------------------------------------------

http_response logs(const store& s, const http_request& r) {
  const time_range when = range_of(r);
  std::string where = "time_ns >= " + std::to_string(when.begin_ns);
  if (when.end_ns != INT64_MAX) where += " AND time_ns < " + std::to_string(when.end_ns);
  if (const std::string* of = r.parameter("of"); of != nullptr) {
    if (of->starts_with('{') || of->starts_with('(')) {
      throw failure{400,
                    "log lines are asked for by trace, job or span: `traces` finds the traces that a query matches"};
    }
    const auto trace = parse_trace_id(*of);
    where += " AND " + (trace ? s.sql().is_trace(*trace) : "job_id = " + s.sql().text(*of));
  }
  if (const std::string* span = r.parameter("span"); span != nullptr) {
    where += " AND span = " + std::to_string(span_of(*span).value);
  }
  if (const std::string* level = r.parameter("level"); level != nullptr) {
    constexpr std::pair<std::string_view, int> levels[] = {{"trace", 1}, {"debug", 5},  {"info", 9},
                                                           {"warn", 13}, {"error", 17}, {"fatal", 21}};
    const auto l = std::find_if(std::begin(levels), std::end(levels), [&](const auto& x) { return x.first == *level; });
    if (l == std::end(levels)) throw failure{400, "`level` is trace, debug, info, warn, error or fatal"};
    where += " AND severity >= " + std::to_string(l->second);
  }
  if (const std::string* text = r.parameter("text"); text != nullptr) {
    where += " AND " + s.sql().matches("body", "(?s).*" + RE2::QuoteMeta(*text) + ".*");
  }
  const auto limit = number_parameter<std::uint64_t>(r, "limit", 1'000, 1, 100'000);
  // The newest, told in order of time.
  auto rows = kept_in_store(s.logs(where, "time_ns DESC", limit));
  std::reverse(rows.begin(), rows.end());
  json out{{"logs", json::array()}, {"cut", rows.size() == limit}};
  for (const log_row& l : rows) out["logs"].push_back(to_json(l));
  return answer(out);
}

http_response links(const store& s, const http_request& r) {
  const trace_id trace = trace_of(needed_parameter(r, "trace"));
  std::optional<span_id> span;
  if (const std::string* text = r.parameter("span"); text != nullptr) span = span_of(*text);
  const auto side = [&](const std::vector<link_row>& rows, bool outgoing) {
    json out = json::array();
    for (const link_row& l : rows) {
      const trace_id other_trace = outgoing ? l.to_trace : l.from_trace;
      const span_id other = outgoing ? l.to_span : l.from_span;
      json one{{"kind", l.kind},
               {"span_id", hex((outgoing ? l.from_span : l.to_span).value)},
               {"other_trace_id", hex(other_trace)},
               {"other_span_id", hex(other.value)}};
      const auto named = s.spans(s.sql().is_trace(other_trace) + " AND span = " + std::to_string(other.value), "", 1);
      if (named && !named->empty()) {
        one["other_name"] = named->front().name;
        one["other_service"] = named->front().service;
        one["other_start_ns"] = named->front().start_ns;
        one["other_duration_ns"] = named->front().duration_ns;
      }
      out.push_back(std::move(one));
    }
    return out;
  };
  return answer({{"from_here", side(kept_in_store(s.links_from(trace, span)), true)},
                 {"to_here", side(kept_in_store(s.links_to(trace, span)), false)}});
}

http_response open_spans(const store& s, const http_request&) {
  return answer_with(json::object(), "spans", s.open_spans());
}

// Spans as they come, as server-sent events. What a slow reader can't take is dropped and told.
class tail_queue {
 public:
  explicit tail_queue(std::optional<traceql::pipeline> filter) {
    if (filter) filter_.emplace(*std::move(filter));
  }
  void push(const span_row& row) {
    if (filter_ && !filter_->first_filter_accepts(row)) return;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() >= most) {
        ++dropped_;
        return;
      }
      waiting_.push_back(row);
    }
    changed_.notify_one();
  }
  // Something to send within half a second; a comment where nothing came, so that a dead client is noticed.
  std::string next() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(500), [&] { return !waiting_.empty(); });
    std::deque<span_row> rows = std::exchange(waiting_, {});
    const std::uint64_t dropped = std::exchange(dropped_, 0);
    lock.unlock();
    std::string out;
    for (const span_row& row : rows) {
      out += "data: ";
      append_json(out, row);
      out += "\n\n";
    }
    if (dropped != 0) out += "event: dropped\ndata: " + std::to_string(dropped) + "\n\n";
    return out.empty() ? ": \n\n" : out;
  }

 private:
  static constexpr std::size_t most = 10'000;
  std::optional<traceql::evaluator> filter_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<span_row> waiting_;
  std::uint64_t dropped_ = 0;
};

http_response tail(store& s, const http_request& r) {
  std::optional<traceql::pipeline> filter;
  if (const std::string* q = r.parameter("q"); q != nullptr) filter = query_of(*q);
  const auto queue = std::make_shared<tail_queue>(std::move(filter));
  std::shared_ptr<void> watching = s.watch([queue](const span_row& row) { queue->push(row); });
  http_response out;
  out.type = "text/event-stream";
  out.headers.emplace_back("Cache-Control", "no-store");
  out.stream = [queue, watching = std::move(watching)] { return queue->next(); };
  return out;
}

// --- sql, export, import, store --------------------------------------------------------------------------------------

http_response sql(const store& s, const http_request& r) {
  if (r.body.empty()) throw failure{400, "send the SELECT as the body of the request"};
  const query_limits limits{number_parameter<std::uint64_t>(r, "limit", 10'000, 1, 1'000'000),
                            number_parameter<std::int64_t>(r, "timeout_ms", 30'000, 1, 600'000)};
  const table t = value_of(s.query(r.body, limits));
  json out{{"columns", t.columns}, {"rows", json::array()}, {"cut", t.cut}};
  for (const auto& row : t.rows) {
    json cells = json::array();
    for (const cell& c : row) {
      cells.push_back(std::visit(
          []<class T>(const T& x) -> json {
            if constexpr (std::is_same_v<T, std::monostate>) {
              return nullptr;
            } else {
              return x;
            }
          },
          c));
    }
    out["rows"].push_back(std::move(cells));
  }
  return answer(out);
}

http_response export_route(const store& s, const http_request& r) {
  const std::string format = text_parameter(r, "format", "otlp");
  subject found = subject_of(s, r, needed_parameter(r, "of"));
  std::vector<span_row> all;
  for (auto& t : found.traces) std::move(t.begin(), t.end(), std::back_inserter(all));
  http_response out;
  out.body = value_of(export_spans(all, format));
  out.type = content_type(format);
  return out;
}

http_response import_route(store& s, const http_request& r) {
  const imported in = value_of(read_import(r.body, text_parameter(r, "format", "otlp")));
  std::uint64_t rejected = 0;
  std::uint64_t log_lines = 0;
  std::string why;
  const auto keep = [&](otlp::signal_kind signal, const std::vector<std::string>& requests) {
    for (const std::string& one : requests) {
      const auto batch = value_of(decode(signal, value_of(protobuf_of_json(signal, one))));
      rejected += batch->rejected;
      log_lines += batch->logs.size();
      if (why.empty()) why = batch->why;
      if (const auto kept = s.append(batch); !kept) {
        throw failure{s.overloaded() ? 503 : 500, kept.error().message};
      }
    }
  };
  keep(otlp::signal_kind::traces, in.traces);
  keep(otlp::signal_kind::logs, in.logs);
  json out{{"spans", in.spans},
           {"log_lines", log_lines},
           {"lines", in.lines},
           {"skipped", in.skipped},
           {"rejected", rejected}};
  if (!why.empty()) out["why"] = why;
  return answer(out);
}

http_response store_route(const store& s, const http_request&) {
  const store_stats t = s.stats();
  return answer({{"kind", s.sql().name()},
                 {"spans", t.spans},
                 {"thinned", t.thinned},
                 {"logs", t.logs},
                 {"metric_points", t.metric_points},
                 {"links", t.links},
                 {"open_spans", t.open_spans},
                 {"files", t.files},
                 {"bytes", t.bytes},
                 {"journal_bytes", t.journal_bytes},
                 {"waiting", t.waiting},
                 {"oldest_ns", t.oldest_ns},
                 {"newest_ns", t.newest_ns}});
}

http_response openapi(const store&, const http_request&) {
  http_response out;
  out.body = openapi_document;
  return out;
}

struct route {
  const char* method;
  const char* pattern;
  std::function<http_response(store&, const http_request&)> handle;
};
const std::vector<route>& routes() {
  static const std::vector<route> all = {
      {"GET", "/api/v1/traces", search_traces},
      {"GET", "/api/v1/traces/{id}", one_trace},
      {"GET", "/api/v1/breakdown", breakdown_of},
      {"GET", "/api/v1/critical-path", critical_path_of},
      {"GET", "/api/v1/diff", diff},
      {"GET", "/api/v1/top", top},
      {"GET", "/api/v1/metrics", metrics},
      {"GET", "/api/v1/outliers", outliers_of},
      {"GET", "/api/v1/logs", logs},
      {"GET", "/api/v1/links", links},
      {"GET", "/api/v1/open", open_spans},
      {"GET", "/api/v1/tail", tail},
      {"POST", "/api/v1/sql", sql},
      {"GET", "/api/v1/export", export_route},
      {"POST", "/api/v1/import", import_route},
      {"GET", "/api/v1/store", store_route},
      {"GET", "/api/v1/openapi.json", openapi},
  };
  return all;
}

}  // namespace

void add_api(router& to, store& from) {
  for (const route& r : routes()) {
    to.add(r.method, r.pattern, [&from, &r](const http_request& request) {
      try {
        return r.handle(from, request);
      } catch (const failure& f) {
        return answer({{"error", f.what}}, f.status);
      }
    });
  }
}

std::vector<std::pair<std::string, std::string>> api_routes() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const route& r : routes()) out.emplace_back(r.method, r.pattern);
  return out;
}

}  // namespace telltale::hub
