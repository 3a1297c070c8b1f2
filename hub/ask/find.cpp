// The store narrows down by SQL, the evaluator decides.
#include "find.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>

#include "hub/query/traceql/parse.hpp"
#include "hub/query/traceql/sql.hpp"
#include "hub/query/view.hpp"

namespace telltale::hub {

namespace {

constexpr std::uint64_t max_spans_of_a_job = 2'000'000;

std::string in_range(time_range when) {
  std::string out = "start_ns >= " + std::to_string(when.begin_ns);
  if (when.end_ns != INT64_MAX) out += " AND start_ns < " + std::to_string(when.end_ns);
  return out;
}
bool contains(time_range when, std::int64_t ns) {
  return ns >= when.begin_ns && ns < when.end_ns;
}

std::optional<std::uint64_t> unsigned_of(const cell& c) {
  if (const auto* i = std::get_if<std::int64_t>(&c)) return static_cast<std::uint64_t>(*i);
  const auto* s = std::get_if<std::string>(&c);
  std::uint64_t v = 0;
  if (s == nullptr || std::from_chars(s->data(), s->data() + s->size(), v).ec != std::errc{}) return std::nullopt;
  return v;
}
double number_of(const cell& c) {
  if (const auto* i = std::get_if<std::int64_t>(&c)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&c)) return *d;
  if (const auto* s = std::get_if<std::string>(&c)) {
    double v = 0;
    if (std::from_chars(s->data(), s->data() + s->size(), v).ec == std::errc{}) return v;
  }
  return std::nan("");
}
std::string text_of(const cell& c) {
  const auto* s = std::get_if<std::string>(&c);
  return s != nullptr ? *s : std::string{};
}

struct trace_order {
  bool operator()(const trace_id& a, const trace_id& b) const noexcept {
    return std::pair(a.high, a.low) < std::pair(b.high, b.low);
  }
};

// Traces of which some spans fulfil what the query needs, the newest first; those with open spans before all others.
result<std::vector<trace_id>> candidates(const store& s, const traceql::pipeline& query, time_range when,
                                         std::size_t most) {
  std::set<trace_id, trace_order> seen;
  std::vector<trace_id> out;
  for (const span_row& open : s.open_spans()) {
    if (contains(when, open.start_ns) && seen.insert(open.trace).second) out.push_back(open.trace);
  }
  std::string any;
  std::string all;
  for (const traceql::condition& c : traceql::conditions_of(query, s.sql())) {
    any += (any.empty() ? "" : " OR ") + c.sql;
    if (c.sql != "TRUE")
      all += (all.empty() ? " HAVING " : " AND ") + ("max(CASE WHEN " + c.sql + " THEN 1 ELSE 0 END) = 1");
  }
  const auto rows =
      s.query("SELECT CAST(trace_hi AS VARCHAR), CAST(trace_lo AS VARCHAR), max(start_ns) AS newest FROM spans WHERE " +
                  in_range(when) + " AND (" + any + ") GROUP BY trace_hi, trace_lo" + all +
                  " ORDER BY newest DESC LIMIT " + std::to_string(most),
              {most, 60'000});
  if (!rows) return rows.error();
  for (const auto& r : rows->rows) {
    const auto high = unsigned_of(r.at(0));
    const auto low = unsigned_of(r.at(1));
    if (high && low && seen.insert({*high, *low}).second) out.push_back({*high, *low});
  }
  return out;
}

// As many traces are asked for at once: few enough to hold, should each be large.
constexpr std::size_t at_once = 16;
std::vector<trace_id> part_of(const std::vector<trace_id>& ids, std::size_t from, std::size_t most) {
  const auto n = std::min({most, at_once, ids.size() - from});
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(from);
  return {begin, begin + static_cast<std::ptrdiff_t>(n)};
}

}  // namespace

std::optional<trace_id> parse_trace_id(std::string_view text) {
  trace_id id;
  if (text.size() != 32) return std::nullopt;
  for (std::uint64_t* half : {&id.high, &id.low}) {
    const char* begin = text.data() + (half == &id.low ? 16 : 0);
    const auto [end, failed] = std::from_chars(begin, begin + 16, *half, 16);
    if (failed != std::errc{} || end != begin + 16) return std::nullopt;
  }
  return id;
}

result<search_result> search(const store& s, const traceql::pipeline& query, time_range when, search_limits limits) {
  auto ids = candidates(s, query, when, limits.candidates + 1);
  if (!ids) return ids.error();
  const traceql::evaluator evaluate(query);
  search_result out;
  while (out.looked_at < ids->size()) {
    if (out.traces.size() == limits.traces || out.looked_at == limits.candidates) {
      out.cut = true;
      break;
    }
    // No more than are missing, should all match.
    const std::size_t n = std::min(limits.traces - out.traces.size(), limits.candidates - out.looked_at);
    auto some = s.traces(part_of(*ids, out.looked_at, n));
    if (!some) return some.error();
    for (std::vector<span_row>& one : *some) {
      ++out.looked_at;
      std::vector<span_row> spans = each_once(std::move(one));
      auto groups = evaluate.run(traceql::trace_index(spans));
      if (!groups.empty()) out.traces.push_back({std::move(spans), std::move(groups)});
    }
  }
  return out;
}

namespace {

// A trace with those that tell its details.
result<std::vector<span_row>> with_details(const store& s, trace_id id) {
  std::set<trace_id, trace_order> seen{id};
  std::vector<trace_id> todo{id};
  std::vector<span_row> all;
  for (std::size_t i = 0; i < todo.size() && i < 1'000; ++i) {
    auto spans = s.trace(todo[i]);
    if (!spans) return spans.error();
    std::move(spans->begin(), spans->end(), std::back_inserter(all));
    const auto links = s.links_to(todo[i]);
    if (!links) return links.error();
    for (const link_row& l : *links) {
      if (l.kind == "detail-of" && seen.insert(l.from_trace).second) todo.push_back(l.from_trace);
    }
  }
  return each_once(std::move(all));
}

// Many a program says only at its root which job it works on: what is below a span of the job and names no job itself
// is part of it. `of_job` are those that name it.
result<void> add_unmarked(const store& s, time_range when, std::vector<span_row>& of_job) {
  constexpr std::size_t most_traces = 1'000;
  std::map<trace_id, std::size_t, trace_order> traces;  // and how many spans of each name the job
  for (const span_row& r : of_job) ++traces[r.trace];
  if (traces.size() > most_traces) return {};
  const std::string job = of_job.front().job_id;
  for (const auto& [id, marked] : traces) {
    const auto whole = s.trace(id);
    if (!whole) return whole.error();
    if (whole->size() <= marked) continue;
    std::unordered_map<std::uint64_t, std::vector<const span_row*>> children;
    std::vector<const span_row*> todo;
    for (const span_row& r : *whole) {
      if (r.job_id.empty()) children[r.parent.value].push_back(&r);
      if (r.job_id == job) todo.push_back(&r);
    }
    while (!todo.empty()) {
      const auto below = children.find(todo.back()->id.value);
      todo.pop_back();
      if (below == children.end()) continue;
      for (const span_row* r : below->second) {
        todo.push_back(r);
        if (contains(when, r->start_ns)) of_job.push_back(*r);
      }
      children.erase(below);  // once, also where a span is its own ancestor
    }
  }
  return {};
}

}  // namespace

result<subject> find_subject(const store& s, std::string_view name, time_range when, std::size_t most_traces) {
  subject out;
  if (name.empty()) return error{"which trace, job or query? Give 32 hexadecimal digits, a job id, or { … }"};
  if (name.front() == '{' || name.front() == '(') {
    const traceql::parsed query = traceql::parse(name);
    if (!query) return query.error();
    auto found = search(s, *query, when, {most_traces, 20 * most_traces});
    if (!found) return found.error();
    for (found_trace& t : found->traces) out.traces.push_back(std::move(t.spans));
    out.cut = found->cut;
    if (out.traces.empty()) return error{"there is no trace that matches " + std::string(name)};
    return out;
  }
  if (const auto id = parse_trace_id(name)) {
    auto spans = with_details(s, *id);
    if (!spans) return spans.error();
    if (spans->empty()) return error{"there is no trace " + std::string(name)};
    out.traces.push_back(std::move(*spans));
    return out;
  }
  auto spans = s.spans("job_id = " + s.sql().text(name) + " AND " + in_range(when), "start_ns", max_spans_of_a_job);
  if (!spans) return spans.error();
  for (span_row& open : s.open_spans()) {
    if (open.job_id == name && contains(when, open.start_ns)) spans->push_back(std::move(open));
  }
  if (spans->empty()) {
    return error{"there is no job " + std::string(name) +
                 " (nor a trace: its id has 32 hexadecimal digits). `telltale traces` lists what there is"};
  }
  out.cut = spans->size() >= max_spans_of_a_job;
  if (const auto added = add_unmarked(s, when, *spans); !added) return added.error();
  out.traces.push_back(each_once(*std::move(spans)));
  return out;
}

namespace {

// The query's only filter as an exact condition, where it is that simple, and where spans are counted by it: those of
// which only what is counted was kept count as well, unless it asks more of them than that.
struct counting {
  std::string where = "TRUE";
  std::string_view from;
};
std::optional<counting> exact_filter(const traceql::pipeline& query, std::size_t stages, const dialect& d) {
  if (query.stages.size() != stages) return std::nullopt;
  const auto* set = std::get_if<traceql::spanset>(&query.stages[0]);
  if (set == nullptr) return std::nullopt;
  const auto* f = std::get_if<traceql::spanset::filter>(&set->node);
  if (f == nullptr) return std::nullopt;
  if (f->condition.empty()) return counting{"TRUE", d.counted()};
  const traceql::condition c = traceql::to_sql(f->condition[0], d);
  if (!c.exact) return std::nullopt;
  return counting{c.sql, traceql::is_counted(f->condition[0]) ? d.counted() : "spans"};
}

// By the store alone: nothing where it can't.
std::optional<result<metrics_result>> measure_in_store(const store& s, const traceql::pipeline& query,
                                                       const traceql::steps& over) {
  const dialect& d = s.sql();
  auto filter = exact_filter(query, 2, d);
  const auto& m = std::get<traceql::metrics>(query.stages.back());
  if (!filter) return std::nullopt;
  // What runs counts as well, but only where the traces are still there to be read.
  if (!s.open_spans().empty() && s.stats().thinned == 0) return std::nullopt;
  std::string by;
  for (const traceql::expression& e : m.by) {
    const auto* f = std::get_if<traceql::field>(&e.node);
    const std::string column = f != nullptr ? traceql::column_of(*f, d) : std::string{};
    if (column.empty()) return std::nullopt;
    if (!traceql::is_counted(e)) filter->from = "spans";
    by += ", " + column + " AS by" + std::to_string(&e - m.by.data());
  }
  std::string of;
  if (!m.of.empty()) {
    if (m.of[0].what != traceql::intrinsic::duration) return std::nullopt;
    of = "duration_ns";
  }
  std::vector<std::string> numbers;
  using enum traceql::metric;
  switch (m.what) {
    case rate:
    case count:
      numbers = {"count(*)"};
      break;
    case minimum:
      numbers = {"min(" + of + ")"};
      break;
    case maximum:
      numbers = {"max(" + of + ")"};
      break;
    case sum:
      numbers = {"sum(" + of + ")"};
      break;
    case average:
      numbers = {"avg(" + of + ")"};
      break;
    case quantile:
      for (const double q : m.quantiles) numbers.push_back(d.quantile(of, q));
  }
  // No `/` or `//`: stores differ in what they make of whole numbers.
  std::string sql = "SELECT CAST(floor(CAST(start_ns - " + std::to_string(over.begin_ns) + " AS DOUBLE) / " +
                    std::to_string(over.step_ns) + ") AS BIGINT) AS step" + by;
  for (const std::string& n : numbers) sql += ", " + n;
  const std::int64_t end = over.begin_ns + over.step_ns * static_cast<std::int64_t>(over.count);
  sql += " FROM " + std::string(filter->from) + " WHERE " + in_range({over.begin_ns, end}) + " AND " + filter->where +
         " GROUP BY step";
  for (std::size_t i = 0; i < m.by.size(); ++i) sql += ", by" + std::to_string(i);
  constexpr std::uint64_t most_rows = 500'000;
  const auto rows = s.query(sql, {most_rows, 60'000});
  if (!rows) return result<metrics_result>(rows.error());

  std::map<std::vector<std::string>, std::vector<traceql::series>> lines;
  const bool counts = m.what == rate || m.what == count || m.what == sum;
  for (const auto& r : rows->rows) {
    std::vector<std::string> key;
    for (std::size_t i = 0; i < m.by.size(); ++i) key.push_back(text_of(r.at(1 + i)));
    auto& of_key = lines[key];
    if (of_key.empty()) {
      of_key.resize(numbers.size());
      for (std::size_t q = 0; q < numbers.size(); ++q) {
        for (std::size_t i = 0; i < key.size(); ++i) of_key[q].labels.emplace_back(to_string(m.by[i]), key[i]);
        if (m.what == quantile) of_key[q].labels.emplace_back("p", traceql::text_of(m.quantiles[q]));
        of_key[q].values.assign(over.count, counts ? 0 : std::nan(""));
      }
    }
    const double at = number_of(r.at(0));
    if (!(at >= 0) || at >= static_cast<double>(over.count)) continue;
    for (std::size_t q = 0; q < numbers.size(); ++q) {
      double n = number_of(r.at(1 + m.by.size() + q));
      if (m.what == rate) n /= static_cast<double>(over.step_ns) / 1e9;
      of_key[q].values[static_cast<std::size_t>(at)] = n;
    }
  }
  metrics_result out;
  out.cut = rows->cut;
  for (auto& [_, of_key] : lines) std::move(of_key.begin(), of_key.end(), std::back_inserter(out.series));
  return result<metrics_result>(std::move(out));
}

}  // namespace

result<metrics_result> measure(const store& s, const traceql::pipeline& query, const traceql::steps& over) {
  if (auto there = measure_in_store(s, query, over)) return std::move(*there);
  constexpr std::size_t most_traces = 20'000;
  const std::int64_t end = over.begin_ns + over.step_ns * static_cast<std::int64_t>(over.count);
  auto ids = candidates(s, query, {over.begin_ns, end}, most_traces + 1);
  if (!ids) return ids.error();
  metrics_result out;
  out.cut = ids->size() > most_traces;
  if (out.cut) ids->resize(most_traces);
  traceql::evaluator evaluate(query);
  for (std::size_t from = 0; from < ids->size();) {
    auto some = s.traces(part_of(*ids, from, at_once));
    if (!some) return some.error();
    from += some->size();
    for (std::vector<span_row>& one : *some) {
      const std::vector<span_row> spans = each_once(std::move(one));
      evaluate.add(traceql::trace_index(spans), over);
    }
  }
  out.series = evaluate.metrics_so_far(over);
  return out;
}

namespace {

std::vector<top_row> top_of(const durations_by_name& durations, time_range when, std::size_t most) {
  std::vector<top_row> out;
  std::int64_t first = INT64_MAX;
  std::int64_t last = INT64_MIN;
  durations.each([&](const durations_by_name::key& k, const duration_histogram& h) {
    first = std::min(first, h.first_ns);
    last = std::max(last, h.last_ns);
    out.push_back({.name = k.name,
                   .kind = k.kind,
                   .count = h.spans,
                   .errors = h.errors,
                   .p50_ns = h.quantile(0.5),
                   .p95_ns = h.quantile(0.95),
                   .p99_ns = h.quantile(0.99),
                   .max_ns = static_cast<double>(h.max_ns),
                   .total_ns = h.total_ns,
                   .exact = false});
  });
  std::sort(out.begin(), out.end(), [](const top_row& a, const top_row& b) {
    return a.total_ns != b.total_ns ? a.total_ns > b.total_ns : std::pair(a.name, a.kind) < std::pair(b.name, b.kind);
  });
  if (out.size() > most) out.resize(most);
  const double seconds = (static_cast<double>(when.end_ns != INT64_MAX ? when.end_ns : last) -
                          static_cast<double>(when.begin_ns != 0 ? when.begin_ns : first)) /
                         1e9;
  for (top_row& t : out) t.rate = seconds > 0 ? static_cast<double>(t.count) / seconds : 0;
  return out;
}

}  // namespace

result<std::vector<top_row>> find_top(const store& s, const traceql::pipeline* filter, time_range when,
                                      std::size_t most) {
  const dialect& d = s.sql();
  std::optional<counting> counted = counting{"TRUE", d.counted()};
  if (filter != nullptr) counted = exact_filter(*filter, 1, d);
  if (!counted) {
    return error{
        "top counts in the store, and that can't decide this query exactly: use one { … } of name, duration, kind, "
        "status, or attributes compared by = with strings"};
  }
  if (counted->where == "TRUE") {
    const auto durations = s.durations(when.begin_ns, when.end_ns);
    if (!durations) return durations.error();
    if (*durations) return top_of(**durations, when, most);
  }
  const auto rows = s.query("SELECT name, kind, count(*) AS n, sum(CASE WHEN status = 2 THEN 1 ELSE 0 END), " +
                                d.quantile("duration_ns", 0.5) + ", " + d.quantile("duration_ns", 0.95) + ", " +
                                d.quantile("duration_ns", 0.99) +
                                ", max(duration_ns), sum(duration_ns) AS total, min(start_ns), max(start_ns) FROM " +
                                std::string(counted->from) + " WHERE " + in_range(when) + " AND " + counted->where +
                                " GROUP BY name, kind ORDER BY total DESC, name LIMIT " + std::to_string(most),
                            {most, 60'000});
  if (!rows) return rows.error();
  std::vector<top_row> out;
  double first = when.begin_ns != 0 ? static_cast<double>(when.begin_ns) : std::nan("");
  double last = when.end_ns != INT64_MAX ? static_cast<double>(when.end_ns) : std::nan("");
  if (std::isnan(first) || std::isnan(last)) {
    for (const auto& r : rows->rows) {
      if (when.begin_ns == 0) first = std::fmin(first, number_of(r.at(9)));
      if (when.end_ns == INT64_MAX) last = std::fmax(last, number_of(r.at(10)));
    }
  }
  const double seconds = (last - first) / 1e9;
  for (const auto& r : rows->rows) {
    top_row t;
    t.name = text_of(r.at(0));
    t.kind = static_cast<int>(number_of(r.at(1)));
    t.count = static_cast<std::uint64_t>(number_of(r.at(2)));
    t.errors = static_cast<std::uint64_t>(number_of(r.at(3)));
    t.rate = seconds > 0 ? static_cast<double>(t.count) / seconds : 0;
    t.p50_ns = number_of(r.at(4));
    t.p95_ns = number_of(r.at(5));
    t.p99_ns = number_of(r.at(6));
    t.max_ns = number_of(r.at(7));
    t.total_ns = number_of(r.at(8));
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace telltale::hub
