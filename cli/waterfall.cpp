// The rows in the order of the tree, without recursion.
#include "waterfall.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "text.hpp"

namespace telltale::cli {

namespace {

using json = nlohmann::ordered_json;

std::string detail_of(const json& r) {
  std::string out;
  for (const auto& [key, value] : r.items()) {
    if (key == "attributes" || key == "resource") {
      out += key + "\n";
      for (const auto& [k, v] : value.items()) out += "  " + clean(k) + " = " + value_text(v) + "\n";
    } else if (key == "events") {
      out += "events\n";
      for (const json& e : value) {
        const auto after = e.value("time_ns", std::int64_t{0}) - r.value("start_ns", std::int64_t{0});
        out += "  +" + duration(static_cast<double>(after)) + "  " + text_of(e, "name") + "  " +
               value_text(e.value("attributes", json::object())) + "\n";
      }
    } else if (key == "links") {
      out += "links\n";
      for (const json& l : value) {
        out += "  " + text_of(l, "kind") + "  " + text_of(l, "trace_id") + " " + text_of(l, "span_id") + "\n";
      }
    } else if (key == "duration_ns") {
      out += "duration = " + duration(value.get<double>()) + "\n";
    } else if (key == "start_ns") {
      out += "start = " + moment(value.get<std::int64_t>()) + " UTC\n";
    } else {
      out += key + " = " + value_text(value) + "\n";
    }
  }
  return out;
}

}  // namespace

waterfall::waterfall(std::string_view body) {
  const json j = json::parse(body);
  title_ = text_of(j, "root_name") + "  " + text_of(j, "trace_id");
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
