// Text as it stands on a terminal: which columns a piece of it takes, and what is shown for what must not be written
// there as it is (control characters, bytes that are no UTF-8, what turns the direction of text around).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace telltale::detail {

// The next code point of a text, or one byte that is none.
struct glyph {
  std::size_t bytes;       // of the text
  std::size_t columns;     // 0, 1, 2, or up to a tab's width
  std::string_view shown;  // lives as long as the text, or for ever
};
// `column` is where it will stand, for tabs; `after` is the glyph before it.
glyph next_glyph(std::string_view rest, std::size_t column, std::size_t tab, const glyph& after) noexcept;

// The column at which byte `offset` of `line` stands.
std::size_t column_of(std::string_view line, std::size_t offset, std::size_t tab) noexcept;

// Columns [from, to) of `line`; half of a wide glyph at either edge becomes a space.
std::string columns_between(std::string_view line, std::size_t from, std::size_t to, std::size_t tab);

// Appends a text of a diagnostic. `line_break` is written where it breaks into lines.
void append_shown(std::string& out, std::string_view text, std::string_view line_break);
inline std::string shown_on_one_line(std::string_view text) {
  std::string out;
  append_shown(out, text, " ");
  return out;
}

// The start of the code point that byte `offset` lies in; offset itself where it is in none.
std::size_t code_point_start(std::string_view text, std::size_t offset) noexcept;
std::size_t count_code_points(std::string_view text) noexcept;

// Text as JSON and SARIF have it: whatever it was, valid UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace telltale::detail
