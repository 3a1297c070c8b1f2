// Texts, cleaned of what a terminal would obey.
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <telltale/core/breakdown.hpp>
#include <unordered_map>

#include "show.hpp"

namespace telltale::cli {

using json = nlohmann::ordered_json;

std::string clean(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto b = static_cast<unsigned char>(c);
    if (b == '\n' || b == '\t') {
      out += ' ';
    } else if (b < 0x20 || b == 0x7f) {
      out += "?";
    } else {
      out += c;
    }
  }
  return out;
}
std::string text_of(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_string() ? clean(it->get<std::string>()) : std::string{};
}
std::string value_text(const json& v) {
  return clean(v.is_string() ? v.get<std::string>() : v.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string duration(double ns) {
  return ns < 0 ? "-" + render_duration(std::llround(-ns)) : render_duration(std::llround(ns));
}
std::string thousands(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}
std::string counted(std::uint64_t n, const std::string& what) {
  return thousands(n) + " " + what + (n == 1 ? "" : "s");
}
// "2026-05-08 20:45:12.183", UTC.
std::string moment(std::int64_t ns) {
  if (ns == 0) return "-";
  const std::time_t seconds = ns / 1'000'000'000;
  std::tm t{};
  ::gmtime_r(&seconds, &t);
  char text[64];
  const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
  std::snprintf(text + n, sizeof text - n, ".%03d", static_cast<int>(ns / 1'000'000 % 1000));
  return text;
}

std::string short_text(const std::string& text, std::size_t width) {
  if (columns(text) <= width) return text;
  std::string out;
  std::size_t n = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80 && ++n == width) break;
    out += c;
  }
  return out + "…";
}

// A bar of `width` columns from `begin` to `end`, both 0 to 1. At least a sliver.
std::string bar(double begin, double end, std::size_t width) {
  constexpr const char* from_left[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<double>(width * 8);
  auto from = static_cast<std::size_t>(std::clamp(begin, 0.0, 1.0) * eighths);
  auto to = static_cast<std::size_t>(std::llround(std::clamp(end, 0.0, 1.0) * eighths));
  from -= from % 8;  // a block begins where a column does
  from = std::min(from, width * 8 - 8);
  to = std::max(to, from + 1);
  std::string out(from / 8, ' ');
  for (std::size_t i = from; i + 8 <= to; i += 8) out += "█";
  out += from_left[(to - from) % 8];
  return out;
}

std::size_t columns(std::string_view text) {
  std::size_t n = 0;
  bool escape = false;
  for (const char c : text) {
    if (c == '\x1b') escape = true;
    if (!escape && (static_cast<unsigned char>(c) & 0xc0) != 0x80) ++n;
    if (escape && c == 'm') escape = false;
  }
  return n;
}

span_forest forest_of(const json& rows) {
  std::unordered_map<std::string, std::size_t> by_id;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    by_id.emplace(rows[i].value("trace_id", "") + rows[i].value("span_id", ""), i);
  }
  std::vector<std::vector<std::size_t>> children(rows.size());
  std::vector<std::size_t> roots;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const json& r = rows[i];
    auto p = r.contains("parent_id") ? by_id.find(r.value("trace_id", "") + r.value("parent_id", "")) : by_id.end();
    if (!r.contains("parent_id") && r.contains("links")) {
      for (const json& l : r["links"]) {  // the detail of a span in another trace
        if (l.value("kind", "") == "detail-of") p = by_id.find(l.value("trace_id", "") + l.value("span_id", ""));
      }
    }
    (p == by_id.end() || p->second == i ? roots : children[p->second]).push_back(i);
  }
  const auto by_start = [&](std::size_t a, std::size_t b) {
    return std::pair(rows[a].value("start_ns", std::int64_t{0}), a) <
           std::pair(rows[b].value("start_ns", std::int64_t{0}), b);
  };
  span_forest out;
  std::vector<bool> done(rows.size(), false);
  struct level {
    std::vector<std::size_t> spans;
    std::size_t next = 0;
  };
  std::vector<level> stack;
  const auto walk = [&](std::vector<std::size_t> first) {
    std::sort(first.begin(), first.end(), by_start);
    stack.push_back({std::move(first)});
    while (!stack.empty()) {
      level& top = stack.back();
      if (top.next == top.spans.size()) {
        stack.pop_back();
        continue;
      }
      const std::size_t i = top.spans[top.next++];
      if (done[i]) continue;
      done[i] = true;
      out.order.push_back({i, stack.size() - 1, top.next == top.spans.size()});
      std::sort(children[i].begin(), children[i].end(), by_start);
      stack.push_back({std::move(children[i])});
    }
  };
  walk(std::move(roots));
  // Spans that are their own ancestors hang on nothing.
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!done[i]) walk({i});
  }
  return out;
}

}  // namespace telltale::cli
