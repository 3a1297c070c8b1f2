// The rows in the order of the tree, without recursion.
#include "waterfall.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "text.hpp"

namespace telltale::cli {

namespace {

using json = nlohmann::ordered_json;

void add_map(std::string& out, const json& r, const char* key) {
  const auto it = r.find(key);
  if (it == r.end() || it->empty()) return;
  out += std::string(key) + "\n";
  for (const auto& [k, v] : it->items()) out += "  " + clean(k) + " = " + value_text(v) + "\n";
}

// What one looks for first stands first; ids and where it came from last.
std::string detail_of(const json& r) {
  const auto start = r.value("start_ns", std::int64_t{0});
  std::string out = text_of(r, "name") + "  " + duration(r.value("duration_ns", 0.0)) + "  " + moment(start) + " UTC\n";
  for (const char* key : {"status", "status_message", "state", "job_id", "module_id", "task_id", "phase"}) {
    const std::string text = text_of(r, key);
    if (!text.empty() && text != "unset" && text != "ended") out += std::string(key) + " = " + text + "\n";
  }
  add_map(out, r, "attributes");
  if (r.contains("events")) {
    out += "events\n";
    for (const json& e : r["events"]) {
      out += "  +" + duration(static_cast<double>(e.value("time_ns", std::int64_t{0}) - start)) + "  " +
             text_of(e, "name") + "  " + value_text(e.value("attributes", json::object())) + "\n";
    }
  }
  if (r.contains("links")) {
    out += "links\n";
    for (const json& l : r["links"]) {
      out += "  " + text_of(l, "kind") + "  " + text_of(l, "trace_id") + " " + text_of(l, "span_id") + "\n";
    }
  }
  for (const char* key : {"service", "scope", "node", "kind", "trace_id", "span_id", "parent_id"}) {
    if (const std::string text = text_of(r, key); !text.empty()) out += std::string(key) + " = " + text + "\n";
  }
  add_map(out, r, "resource");
  return out;
}

}  // namespace

waterfall::waterfall(std::string_view body) {
  const json j = json::parse(body);
  title_ = text_of(j, "root_name") + "  " + duration(j.value("duration_ns", 0.0)) + "  " +
           counted(j.at("rows").size(), "span");
  if (const auto errors = j.value("errors", std::uint64_t{0}); errors != 0)
    title_ += ", " + thousands(errors) + " failed";
  title_ += "  " + text_of(j, "trace_id");
  begin_ns_ = j.value("start_ns", std::int64_t{0});
  duration_ns_ = std::max<std::int64_t>(1, j.value("duration_ns", std::int64_t{1}));
  const json& rows = j.at("rows");
  const span_forest forest = forest_of(rows);
  for (const span_forest::place& p : forest.order) {
    const json& r = rows[p.span];
    waterfall_span s;
    s.id = text_of(r, "span_id");
    s.name = text_of(r, "name");
    s.detail = detail_of(r);
    s.start_ns = r.value("start_ns", std::int64_t{0});
    s.duration_ns = r.value("duration_ns", std::int64_t{0});
    s.failed = r.value("status", "") == "error";
    s.state = r.value("state", "ended");
    s.depth = p.depth;
    spans_.push_back(std::move(s));
  }
  // Whoever stands deeper right behind a span is below it.
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i <= spans_.size(); ++i) {
    const std::size_t depth = i < spans_.size() ? spans_[i].depth : 0;
    while (!open.empty() && (i == spans_.size() || spans_[open.back()].depth >= depth)) {
      spans_[open.back()].below = i - open.back() - 1;
      open.pop_back();
    }
    open.push_back(i);
  }
  find_visible();
}

void waterfall::fold(std::size_t span, bool folded) {
  spans_.at(span).folded = folded && spans_[span].below != 0;
  find_visible();
}

void waterfall::fold_all(bool folded) {
  for (waterfall_span& s : spans_) s.folded = folded && s.below != 0 && s.depth != 0;
  find_visible();
}

void waterfall::find_visible() {
  visible_.clear();
  for (std::size_t i = 0; i < spans_.size(); ++i) {
    visible_.push_back(i);
    if (spans_[i].folded) i += spans_[i].below;
  }
}

}  // namespace telltale::cli
