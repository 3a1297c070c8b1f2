// Columns of text on a terminal.
//
// Terminals disagree about sequences: some draw "👩‍🚀" as one picture of two columns, some as two. A joiner is
// therefore not written, so that both draw two pictures; a skin tone behind a picture counts as part of it. Regional
// indicators are one column each, which is right for the pairs that make flags.
#include "display.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "../format.hpp"
#include "width_table.hpp"

namespace telltale::detail {

namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD
constexpr std::string_view spaces = "                ";

// U+2400 and on: a picture for each control character, the last one for DEL.
constexpr auto control_pictures = [] {
  std::array<std::array<char, 3>, 33> p{};
  for (std::size_t i = 0; i < 33; ++i) {
    p[i] = {'\xe2', '\x90', static_cast<char>(0x80 + (i == 32 ? 0x21 : i))};
  }
  return p;
}();

char32_t decode(std::string_view sequence) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(static_cast<unsigned char>(sequence[i])); };
  switch (sequence.size()) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1f) << 6 | (byte(1) & 0x3f);
    case 3:
      return (byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f);
    default:
      return (byte(0) & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f);
  }
}

template <std::size_t N>
bool is_in(const code_point_range (&table)[N], char32_t c) noexcept {
  const auto* after = std::upper_bound(std::begin(table), std::end(table), c,
                                       [](char32_t v, const code_point_range& r) { return v < r.first; });
  return after != std::begin(table) && c <= std::prev(after)->last;
}

// Line separators, and what could make a text read otherwise than it is (CVE-2021-42574).
bool is_deceptive(char32_t c) noexcept {
  return c == 0x2028 || c == 0x2029 || c == 0x200e || c == 0x200f || c == 0x61c || (c >= 0x202a && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}
constexpr bool joins_or_varies(char32_t c) noexcept {
  return c == 0x200d || c == 0xfe0e || c == 0xfe0f;
}
constexpr bool is_skin_tone(char32_t c) noexcept {
  return c >= 0x1f3fb && c <= 0x1f3ff;
}

}  // namespace

glyph next_glyph(std::string_view rest, std::size_t column, std::size_t tab, const glyph& after) noexcept {
  const auto first = static_cast<unsigned char>(rest[0]);
  if (first >= 0x20 && first < 0x7f) return {1, 1, rest.substr(0, 1)};
  if (first == '\t') {
    const std::size_t width = tab - column % tab;
    return {1, width, spaces.substr(0, width)};
  }
  if (first < 0x80) {
    const auto& picture = control_pictures[first == 0x7f ? 32 : first];
    return {1, 1, {picture.data(), picture.size()}};
  }
  const std::size_t bytes = sequence_length(rest);
  if (bytes == 0) return {1, 1, replacement};
  const std::string_view sequence = rest.substr(0, bytes);
  const char32_t c = decode(sequence);
  if (c < 0xa0 || is_deceptive(c)) return {bytes, 1, replacement};
  if (joins_or_varies(c)) return {bytes, 0, {}};
  if (is_in(zero_ranges, c)) return {bytes, 0, sequence};
  if (is_skin_tone(c) && after.columns == 2) return {bytes, 0, sequence};
  return {bytes, is_in(wide_ranges, c) ? std::size_t{2} : std::size_t{1}, sequence};
}

std::size_t column_of(std::string_view line, std::size_t offset, std::size_t tab) noexcept {
  std::size_t column = 0;
  glyph g{0, 0, {}};
  for (std::size_t at = 0; at < offset && at < line.size(); at += g.bytes) {
    g = next_glyph(line.substr(at), column, tab, g);
    column += g.columns;
  }
  return column;
}

std::string columns_between(std::string_view line, std::size_t from, std::size_t to, std::size_t tab) {
  std::string out;
  std::size_t column = 0;
  glyph g{0, 0, {}};
  for (std::size_t at = 0; at < line.size() && column < to; at += g.bytes) {
    g = next_glyph(line.substr(at), column, tab, g);
    const std::size_t end = column + g.columns;
    if (column >= from && end <= to) {
      if (end > from) out += g.shown;  // a mark that belongs to a glyph before `from` has nothing to stand on
    } else if (end > from) {
      out.append(std::min(end, to) - std::max(column, from), ' ');
    }
    column = end;
  }
  return out;
}

void append_shown(std::string& out, std::string_view text, std::string_view line_break) {
  glyph g{0, 0, {}};
  while (!text.empty()) {
    if (text[0] == '\n' || text.starts_with("\r\n")) {
      text.remove_prefix(text[0] == '\n' ? 1 : 2);
      if (!text.empty()) out += line_break;
      continue;
    }
    g = text[0] == '\t' ? glyph{1, 1, " "} : next_glyph(text, 0, 1, g);
    out += g.shown;
    text.remove_prefix(g.bytes);
  }
}

std::size_t code_point_start(std::string_view text, std::size_t offset) noexcept {
  for (std::size_t back = 1; back <= 3 && back <= offset && offset < text.size(); ++back) {
    const std::size_t bytes = sequence_length(text.substr(offset - back));
    if (bytes > back) return offset - back;
    if (bytes == 1) break;
  }
  return offset;
}

std::size_t count_code_points(std::string_view text) noexcept {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += std::max<std::size_t>(sequence_length(text.substr(at)), 1);
  return count;
}

std::string json_quoted(std::string_view text) {
  buffer b;
  append_json_string(b, text);
  return std::string(b.view());
}

}  // namespace telltale::detail
