// The API's answers as text for a terminal. Pure functions from JSON to text; each ends with a newline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::cli {

struct style {
  bool colour = false;
  std::size_t width = 100;      // columns of the terminal
  std::size_t max_lines = 200;  // of a waterfall or a list of segments; 0: all
  bool brief = false;           // a critical path without its segments
};

// `body` is what the route of the same name answered; it throws std::exception where it is something else.
std::string show_traces(std::string_view body, const style& s);
std::string show_trace(std::string_view body, const style& s);  // a waterfall
std::string show_breakdown(std::string_view body, const style& s);
std::string show_critical_path(std::string_view body, const style& s);
std::string show_diff(std::string_view body, const style& s);
std::string show_top(std::string_view body, const style& s);
std::string show_metrics(std::string_view body, const style& s);
std::string show_outliers(std::string_view body, const style& s);
std::string show_logs(std::string_view body, const style& s);
std::string show_open(std::string_view body, const style& s);
std::string show_links(std::string_view body, const style& s);
std::string show_table(std::string_view body, const style& s);  // of sql
std::string show_store(std::string_view body, const style& s);
std::string show_import(std::string_view body, const style& s);
std::string show_span_line(std::string_view span, const style& s);  // one span of a tail
std::string error_of(std::string_view body);                        // the API's message, or the body itself

// Terminal columns of UTF-8 text that has no double-width characters.
std::size_t columns(std::string_view text);

}  // namespace telltale::cli
