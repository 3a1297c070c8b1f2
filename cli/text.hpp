// Small texts that everything on the terminal is made of, and the order of a trace's spans. Only sources that read JSON
// include it.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace telltale::cli {

// Without control characters: what a span says must not steer a terminal.
std::string clean(const std::string& text);
std::string text_of(const nlohmann::ordered_json& j, const char* key);  // empty where there is no string
std::string value_text(const nlohmann::ordered_json& v);
std::string duration(double ns);
std::string thousands(std::uint64_t n);
std::string counted(std::uint64_t n, const std::string& what);  // "1 span", "1,200 spans"
std::string moment(std::int64_t ns);                            // "2026-05-08 20:45:12.183", UTC
std::string short_text(const std::string& text, std::size_t width);
std::string bar(double begin, double end, std::size_t width);  // both 0 to 1; at least a sliver

// Rows of a trace as they stand below each other: parents before children, siblings by start.
struct span_forest {
  struct place {
    std::size_t span;  // into the rows
    std::size_t depth;
    bool last;  // of its siblings
  };
  std::vector<place> order;
};
span_forest forest_of(const nlohmann::ordered_json& rows);

}  // namespace telltale::cli
