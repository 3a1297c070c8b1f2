// JSON lines read back by another library than the one that wrote them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::testing {

using nlohmann::json;

// Parses one line; an object with a key twice is an error, which nlohmann alone would pass over.
inline json parse_strictly(std::string_view line) {
  std::vector<std::set<std::string>> open;
  const json::parser_callback_t unique = [&](int, json::parse_event_t event, json& value) {
    if (event == json::parse_event_t::object_start) open.emplace_back();
    if (event == json::parse_event_t::object_end) open.pop_back();
    if (event == json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) {
      throw std::runtime_error("the key " + value.dump() + " stands twice in one object");
    }
    return true;
  };
  return json::parse(line, unique);
}

inline std::vector<json> parse_lines(std::string_view text) {
  std::vector<json> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      ADD_FAILURE() << "the last line has no end: " << text;
      break;
    }
    try {
      lines.push_back(parse_strictly(text.substr(0, end)));
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what() << "\nin: " << text.substr(0, end);
    }
    text.remove_prefix(end + 1);
  }
  return lines;
}

inline std::vector<json> read_lines(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return parse_lines(all.str());
}

inline std::ptrdiff_t count_message(const std::vector<json>& lines, std::string_view message) {
  return std::count_if(lines.begin(), lines.end(), [&](const json& l) { return l.value("message", "") == message; });
}
// Ends of spans of that name.
inline std::ptrdiff_t count_span(const std::vector<json>& lines, std::string_view name) {
  return std::count_if(lines.begin(), lines.end(), [&](const json& l) {
    return l.value("event", "") == "complete" && l.value("span", "") == name;
  });
}
// The line whose `key` is `value`, null where there is none.
inline json line_with(const std::vector<json>& lines, const std::string& key, const json& value) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const json& l) { return l.contains(key) && l.at(key) == value; });
  return found != lines.end() ? *found : json{};
}

}  // namespace telltale::testing
