// Texts from answers. Whatever stood in a span is cleaned of control characters before it reaches a terminal.
#include "show.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <telltale/core/breakdown.hpp>
#include <vector>

#include "table.hpp"
#include "text.hpp"

namespace telltale::cli {

namespace {

using json = nlohmann::ordered_json;

constexpr const char* red = "\x1b[31m";
constexpr const char* green = "\x1b[32m";
constexpr const char* dim = "\x1b[2m";
constexpr const char* bold = "\x1b[1m";
constexpr const char* plain = "\x1b[0m";

std::string coloured(const style& s, const char* colour, const std::string& text) {
  return s.colour && !text.empty() ? colour + text + plain : text;
}

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}
std::string decimal(double v) {
  char text[48];
  std::snprintf(text, sizeof text, std::abs(v) >= 100 ? "%.0f" : std::abs(v) >= 0.1 || v == 0 ? "%.2f" : "%.2g", v);
  return text;
}
std::string duration_of(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? duration(it->get<double>()) : std::string("-");
}
std::string signed_duration(double ns) {
  return (ns > 0 ? "+" : "") + duration(ns);
}
std::string bytes(std::uint64_t n) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double v = static_cast<double>(n);
  std::size_t u = 0;
  for (; v >= 1024 && u < 4; ++u) v /= 1024;
  char text[48];
  std::snprintf(text, sizeof text, u == 0 ? "%.0f %s" : "%.1f %s", v, units[u]);
  return text;
}
// What had to be put right, so that nobody wonders.
std::string notes_of(const json& j) {
  std::string out;
  const auto it = j.find("notes");
  if (it != j.end()) {
    const auto n = [&](const char* key) { return it->value(key, std::uint64_t{0}); };
    if (n("joined_roots") != 0) {
      out += "note: " + thousands(n("joined_roots")) + " roots stand below \"(together)\"";
      if (n("missing_parents") != 0) out += "; of " + counted(n("missing_parents"), "span") + " the parent is missing";
      out += "\n";
    }
    if (n("moved") != 0) out += "note: " + counted(n("moved"), "span") + " moved: their node's clock differs\n";
  }
  if (j.value("cut", false)) out += "note: there was more than the limit; what is shown is a part\n";
  return out;
}

}  // namespace

std::string error_of(std::string_view body) {
  const json j = json::parse(body, nullptr, false);
  if (j.is_object() && j.contains("error") && j["error"].is_string()) return j["error"].get<std::string>();
  return body.empty() ? "no reason was given" : std::string(body.substr(0, 500));
}

std::string show_traces(std::string_view body, const style& s) {
  const json j = json::parse(body);
  text_table t({"trace", "job", "root", "service", "started (UTC)", ">took", ">spans", ">errors", ">matched"});
  for (const json& x : j.at("traces")) {
    const auto errors = x.value("errors", std::uint64_t{0});
    t.add({text_of(x, "trace_id"), text_of(x, "job_id"), short_text(text_of(x, "root_name"), 40),
           text_of(x, "root_service"), moment(x.value("start_ns", std::int64_t{0})),
           duration_of(x, "duration_ns") + (x.value("open", std::uint64_t{0}) != 0 ? " …" : ""),
           thousands(x.value("spans", std::uint64_t{0})), errors != 0 ? coloured(s, red, thousands(errors)) : "-",
           thousands(x.value("matched", std::uint64_t{0}))});
  }
  if (t.empty()) {
    const auto looked_at = j.value("looked_at", std::uint64_t{0});
    return looked_at == 0 ? "there is no such trace: nothing came yet, or nothing that matches\n"
                          : "nothing matches (" + counted(looked_at, "trace") + " looked at)\n";
  }
  return t.text(s.colour) + (j.value("cut", false) ? "there may be more: --limit\n" : "");
}

std::string show_trace(std::string_view body, const style& s) {
  const json j = json::parse(body);
  const json& rows = j.at("rows");
  const std::int64_t begin = j.value("start_ns", std::int64_t{0});
  const double whole = std::max(1.0, j.value("duration_ns", 0.0));

  struct line {
    std::size_t span;
    std::string branch;
  };
  constexpr std::size_t deepest = 40;  // indentation stops there
  std::vector<line> lines;
  std::vector<std::string> indent{""};  // by depth, what stands before the branch
  for (const span_forest::place& p : forest_of(rows).order) {
    if (s.max_lines != 0 && lines.size() == s.max_lines) break;
    const std::size_t depth = std::min(p.depth, deepest);
    lines.push_back({p.span, depth == 0 ? "" : indent[depth] + (p.last ? "└─ " : "├─ ")});
    indent.resize(depth + 1);
    indent.push_back(depth == 0 ? "" : indent[depth] + (p.last ? "   " : "│  "));
  }

  const auto label_of = [&](const line& l) { return l.branch + text_of(rows[l.span], "name"); };
  std::size_t label_width = 4;
  for (const line& l : lines) label_width = std::max(label_width, columns(label_of(l)));
  label_width = std::min(label_width, s.width / 2);
  const std::size_t fixed = label_width + 2 + 10 + 2 + 10 + 2;
  const std::size_t bar_width = s.width > fixed + 10 ? s.width - fixed : 10;

  std::string out = coloured(s, bold, text_of(j, "root_name")) + "  trace " + text_of(j, "trace_id");
  if (const std::string job = text_of(j, "job_id"); !job.empty()) out += "  job " + job;
  out += "  " + duration(whole) + ", " + counted(rows.size(), "span");
  if (const auto errors = j.value("errors", std::uint64_t{0}); errors != 0) {
    out += ", " + coloured(s, red, thousands(errors) + " failed");
  }
  out += "\n" + moment(begin) + " UTC\n\n";
  const auto right = [](const std::string& text, std::size_t width) {
    return std::string(columns(text) < width ? width - columns(text) : 0, ' ') + text;
  };
  for (const line& l : lines) {
    const json& r = rows[l.span];
    const auto start = r.value("start_ns", std::int64_t{0}) - begin;
    const auto took = r.value("duration_ns", std::int64_t{0});
    const bool failed = r.value("status", "") == "error";
    const std::string state = r.value("state", "ended");
    std::string label = short_text(label_of(l), label_width);
    const std::string pad(label_width - columns(label), ' ');
    out += failed ? coloured(s, red, label) : label;
    out += pad + "  " + right("+" + duration(static_cast<double>(start)), 10) + "  " +
           right(duration(static_cast<double>(took)), 10) + "  ";
    out += coloured(s, failed ? red : green,
                    bar(static_cast<double>(start) / whole, static_cast<double>(start + took) / whole, bar_width));
    if (state != "ended") out += " " + state;
    if (failed) out += " failed";
    out.erase(out.find_last_not_of(' ') + 1);
    out += "\n";
  }
  if (lines.size() < rows.size()) {
    out += "… " + counted(rows.size() - lines.size(), "more span") + ": --all, or `telltale breakdown`\n";
  }
  return out;
}

std::string show_breakdown(std::string_view body, const style& s) {
  const json j = json::parse(body);
  std::string out = coloured(s, bold, text_of(j, "name")) + "  " + duration_of(j, "total_ns") + "\n\n";
  // The bars give way first, then the names.
  constexpr std::size_t numbers = 57;
  constexpr std::size_t widest = 20;
  std::size_t longest = 5;
  for (const json& p : j.at("phases")) longest = std::max(longest, columns(text_of(p, "name")));
  const bool bars = std::min<std::size_t>(longest, 50) + numbers + widest <= s.width;
  const std::size_t names = std::min<std::size_t>(50, s.width > numbers + 16 ? s.width - numbers : 16);
  text_table t({"phase", ">count", ">wall", ">share", ">busy", ">total", ""});
  for (const json& p : j.at("phases")) {
    const double share = p.value("share", 0.0);
    t.add({short_text(text_of(p, "name"), names), thousands(p.value("count", std::uint64_t{0})),
           duration_of(p, "wall_ns"), percent(share), duration_of(p, "busy_ns"), duration_of(p, "total_ns"),
           bars && share > 0.0005 ? coloured(s, green, bar(0, share, widest)) : ""});
  }
  return out + t.text(s.colour) + notes_of(j);
}

namespace {

// The stretches of a critical path, one below the other.
std::string segments_of(const json& j, const style& s) {
  const double whole = std::max(1.0, j.value("total_ns", 0.0));
  const json& segments = j.at("segments");
  text_table t({">at", ">for", ">share", "span", ""});
  const std::int64_t begin = segments.empty() ? 0 : segments[0].value("begin_ns", std::int64_t{0});
  std::size_t shown = 0;
  for (const json& x : segments) {
    if (s.max_lines != 0 && shown == s.max_lines) break;
    ++shown;
    const auto from = static_cast<double>(x.value("begin_ns", std::int64_t{0}) - begin);
    const auto to = static_cast<double>(x.value("end_ns", std::int64_t{0}) - begin);
    t.add({"+" + duration(from), duration(to - from), percent((to - from) / whole), short_text(text_of(x, "name"), 50),
           coloured(s, green, bar(from / whole, to / whole, 40))});
  }
  std::string out = t.text(s.colour);
  if (shown < segments.size()) out += "… " + counted(segments.size() - shown, "more segment") + ": --all\n";
  return out;
}

}  // namespace

std::string show_critical_path(std::string_view body, const style& s) {
  const json j = json::parse(body);
  std::string out = coloured(s, bold, text_of(j, "name")) + "  " + duration_of(j, "total_ns") + "\n\n";
  text_table phases({"on the path", ">spans", ">time", ">share"});
  for (const json& p : j.at("phases")) {
    phases.add({short_text(text_of(p, "name"), 50), thousands(p.value("count", std::uint64_t{0})),
                duration_of(p, "self_ns"), percent(p.value("share", 0.0))});
  }
  out += phases.text(s.colour);
  if (!s.brief) out += "\n" + segments_of(j, s);
  // Where there is room: what would not make it shorter.
  std::vector<const json*> slack;
  for (const json& x : j.at("spans")) {
    if (x.value("slack_ns", std::int64_t{0}) > 0) slack.push_back(&x);
  }
  std::stable_sort(slack.begin(), slack.end(), [](const json* a, const json* b) {
    return a->value("slack_ns", std::int64_t{0}) > b->value("slack_ns", std::int64_t{0});
  });
  if (!slack.empty()) {
    text_table room({"most slack", ">slack", ">on the path"});
    for (std::size_t i = 0; i < slack.size() && i < 5; ++i) {
      room.add({short_text(text_of(*slack[i], "name"), 50), duration_of(*slack[i], "slack_ns"),
                duration_of(*slack[i], "path_ns")});
    }
    out += "\n" + room.text(s.colour);
  }
  return out + notes_of(j);
}

std::string show_diff(std::string_view body, const style& s) {
  const json j = json::parse(body);
  const double a = j.at("a").value("total_ns", 0.0);
  const double b = j.at("b").value("total_ns", 0.0);
  const double change = j.value("change_ns", 0.0);
  const auto traces = [](const json& side) {
    const auto n = side.value("traces", std::uint64_t{0});
    return n == 1 ? std::string() : " (mean of " + thousands(n) + ")";
  };
  std::string out = duration(a) + traces(j.at("a")) + " → " + duration(b) + traces(j.at("b")) + ": " +
                    coloured(s, change > 0 ? red : green, signed_duration(change));
  if (a > 0) out += ", " + std::string(change > 0 ? "+" : "") + percent(change / a);
  out += "\n\n";
  text_table t({"phase", ">before", ">after", ">change", ">of the change", ">count"});
  for (const json& p : j.at("phases")) {
    const double by = p.value("change_ns", 0.0);
    const double count_a = p.value("count_a", 0.0);
    const double count_b = p.value("count_b", 0.0);
    const auto count = [](double n) {
      return n == std::floor(n) ? thousands(static_cast<std::uint64_t>(n)) : decimal(n);
    };
    t.add({short_text(text_of(p, "name"), 50), duration_of(p, "a_ns"), duration_of(p, "b_ns"),
           coloured(s, by > 0 ? red : green, signed_duration(by)), percent(p.value("share", 0.0)),
           count_a == count_b ? count(count_a) : count(count_a) + " → " + count(count_b)});
  }
  return out + t.text(s.colour);
}

std::string show_top(std::string_view body, const style& s) {
  const json j = json::parse(body);
  text_table t({"name", "kind", ">count", ">errors", ">per s", ">p50", ">p95", ">p99", ">most", ">sum"});
  for (const json& x : j.at("names")) {
    const auto errors = x.value("errors", std::uint64_t{0});
    t.add({short_text(text_of(x, "name"), 50), text_of(x, "kind"), thousands(x.value("count", std::uint64_t{0})),
           errors != 0 ? coloured(s, red, thousands(errors)) : "-", decimal(x.value("rate", 0.0)),
           duration_of(x, "p50_ns"), duration_of(x, "p95_ns"), duration_of(x, "p99_ns"), duration_of(x, "max_ns"),
           duration_of(x, "total_ns")});
  }
  return t.empty() ? "there are no spans\n" : t.text(s.colour);
}

std::string show_metrics(std::string_view body, const style& s) {
  const json j = json::parse(body);
  constexpr const char* levels[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const bool durations = text_of(j, "unit") == "ns";
  const auto number = [&](double v) { return durations ? duration(v) : decimal(v); };
  text_table t({"series", ">least", ">most", ">last", "over time"});
  for (const json& line : j.at("series")) {
    std::string labels;
    for (const auto& [key, value] : line.at("labels").items()) {
      labels += (labels.empty() ? "" : " ") + clean(key) + "=" + value_text(value);
    }
    double least = std::numeric_limits<double>::infinity();
    double most = -std::numeric_limits<double>::infinity();
    double last = std::numeric_limits<double>::quiet_NaN();
    for (const json& v : line.at("values")) {
      if (!v.is_number()) continue;
      last = v.get<double>();
      least = std::min(least, last);
      most = std::max(most, last);
    }
    std::string spark;
    for (const json& v : line.at("values")) {
      const double x = v.is_number() && most > 0 ? std::max(0.0, v.get<double>()) / most : -1;
      spark += x < 0 ? " " : levels[std::min<std::size_t>(7, static_cast<std::size_t>(x * 8))];
    }
    if (std::isnan(last)) continue;
    t.add({labels.empty() ? "all" : short_text(labels, 60), number(least), number(most), number(last), spark});
  }
  return (t.empty() ? "there is nothing in that time\n" : t.text(s.colour)) + notes_of(j);
}

std::string show_outliers(std::string_view body, const style& s) {
  const json j = json::parse(body);
  const auto slow = j.value("slow", std::uint64_t{0});
  const auto rest = j.value("rest", std::uint64_t{0});
  std::string out = counted(slow, "span") + " took at least " + duration_of(j, "threshold_ns") + ", " +
                    thousands(rest) + (rest == 1 ? " was" : " were") + " faster\n\n";
  text_table t({"attribute", "", ">of the slow", ">of the rest", ">score"});
  for (const json& a : j.at("attributes")) {
    const auto share = [&](const char* key, std::uint64_t of) {
      return percent(of == 0 ? 0 : a.value(key, 0.0) / static_cast<double>(of));
    };
    t.add({text_of(a, "key"), short_text(text_of(a, "what"), 60), share("slow_with", slow), share("rest_with", rest),
           decimal(a.value("score", 0.0))});
  }
  return out + (t.empty() ? "no attribute tells them apart\n" : t.text(s.colour)) + notes_of(j);
}

std::string show_logs(std::string_view body, const style& s) {
  const json j = json::parse(body);
  std::string out;
  for (const json& l : j.at("logs")) {
    const int severity = l.value("severity", 0);
    std::string level = text_of(l, "severity_text");
    if (level.empty())
      level = severity >= 17   ? "ERROR"
              : severity >= 13 ? "WARN"
              : severity >= 9  ? "INFO"
              : severity >= 5  ? "DEBUG"
                               : "TRACE";
    level.resize(std::max<std::size_t>(level.size(), 5), ' ');
    out += coloured(s, dim, moment(l.value("time_ns", std::int64_t{0}))) + " " +
           coloured(s, severity >= 17 ? red : plain, level) + " " + text_of(l, "scope") + ": " + text_of(l, "body");
    if (l.contains("attributes")) {
      for (const auto& [key, value] : l["attributes"].items()) out += " " + clean(key) + "=" + value_text(value);
    }
    out += "\n";
  }
  if (out.empty()) out = "there are no such lines\n";
  return out + notes_of(j);
}

std::string show_open(std::string_view body, const style& s) {
  const json j = json::parse(body);
  text_table t({"trace", "job", "span", "service", "node", "started (UTC)", ">took so far"});
  for (const json& x : j.at("spans")) {
    t.add({text_of(x, "trace_id"), text_of(x, "job_id"), short_text(text_of(x, "name"), 40), text_of(x, "service"),
           text_of(x, "node"), moment(x.value("start_ns", std::int64_t{0})), duration_of(x, "duration_ns")});
  }
  return t.empty() ? "no span is open (one is told of when it has run for a second)\n" : t.text(s.colour);
}

std::string show_links(std::string_view body, const style& s) {
  const json j = json::parse(body);
  std::string out;
  for (const auto& [key, heading] :
       {std::pair("from_here", "links from here"), std::pair("to_here", "links to here")}) {
    text_table t({heading, "span here", "other trace", "other span", "name", ">took"});
    for (const json& l : j.at(key)) {
      t.add({text_of(l, "kind"), text_of(l, "span_id"), text_of(l, "other_trace_id"), text_of(l, "other_span_id"),
             l.contains("other_name") ? text_of(l, "other_name") : "(not in this store)",
             duration_of(l, "other_duration_ns")});
    }
    if (!t.empty()) out += (out.empty() ? "" : "\n") + t.text(s.colour);
  }
  return out.empty() ? "no links, in either direction\n" : out;
}

std::string show_table(std::string_view body, const style& s) {
  const json j = json::parse(body);
  std::vector<std::string> headings;
  const json& rows = j.at("rows");
  for (std::size_t c = 0; c < j.at("columns").size(); ++c) {
    const bool number = !rows.empty() && rows[0].at(c).is_number();
    headings.push_back((number ? ">" : "") + value_text(j["columns"][c]));
  }
  text_table t(std::move(headings));
  for (const json& row : rows) {
    std::vector<std::string> cells;
    for (const json& c : row) cells.push_back(c.is_null() ? "NULL" : short_text(value_text(c), 200));
    t.add(std::move(cells));
  }
  return t.text(s.colour) + notes_of(j);
}

std::string show_store(std::string_view body, const style&) {
  const json j = json::parse(body);
  const auto n = [&](const char* key) { return j.value(key, std::uint64_t{0}); };
  std::string out;
  const auto line = [&](const char* what, const std::string& value) {
    out += std::string(what) + std::string(16 - std::string_view(what).size(), ' ') + value + "\n";
  };
  line("store", text_of(j, "kind"));
  line("spans", thousands(n("spans")) + (n("open_spans") != 0 ? ", " + thousands(n("open_spans")) + " open" : "") +
                    (n("thinned") != 0 ? "; " + thousands(n("thinned")) + " more are only counted" : ""));
  line("log lines", thousands(n("logs")));
  line("metric points", thousands(n("metric_points")));
  line("links", thousands(n("links")));
  line("on disk",
       bytes(n("bytes")) + " in " + thousands(n("files")) + " files, " + bytes(n("journal_bytes")) + " of it journal" +
           (n("spans") != 0
                ? ", " + decimal(static_cast<double>(n("bytes")) / static_cast<double>(n("spans"))) + " bytes per span"
                : ""));
  line("oldest (UTC)", moment(j.value("oldest_ns", std::int64_t{0})));
  line("newest (UTC)", moment(j.value("newest_ns", std::int64_t{0})));
  return out;
}

std::string show_import(std::string_view body, const style&) {
  const json j = json::parse(body);
  const auto n = [&](const char* key) { return j.value(key, std::uint64_t{0}); };
  std::string out = "imported " + counted(n("spans") - std::min(n("spans"), n("rejected")), "span");
  if (n("log_lines") != 0) out += " and " + counted(n("log_lines"), "log line");
  if (n("skipped") != 0) out += "; left out " + counted(n("skipped"), "line") + " that are no finished span";
  if (n("rejected") != 0) out += "; refused " + counted(n("rejected"), "record") + ": " + text_of(j, "why");
  return out + "\n";
}

std::string show_span_line(std::string_view span, const style& s) {
  const json j = json::parse(span);
  std::string out = coloured(s, dim, moment(j.value("start_ns", std::int64_t{0}))) + "  ";
  const std::string took = duration_of(j, "duration_ns");
  out += std::string(columns(took) < 10 ? 10 - columns(took) : 0, ' ') + took + "  ";
  out += coloured(s, j.value("status", "") == "error" ? red : bold, text_of(j, "name"));
  if (const std::string service = text_of(j, "service"); !service.empty()) out += "  " + service;
  if (const std::string job = text_of(j, "job_id"); !job.empty()) out += "  job_id=" + job;
  if (j.contains("attributes")) {
    for (const auto& [key, value] : j["attributes"].items()) out += "  " + clean(key) + "=" + value_text(value);
  }
  if (j.value("state", "ended") != "ended") out += "  " + text_of(j, "state");
  return out + "\n";
}

}  // namespace telltale::cli
