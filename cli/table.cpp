// Widths first, then lines.
#include "table.hpp"

#include <algorithm>

#include "show.hpp"

namespace telltale::cli {

text_table::text_table(std::vector<std::string> headings) : headings_(std::move(headings)) {
  for (std::string& h : headings_) {
    right_.push_back(h.starts_with('>'));
    if (right_.back()) h.erase(0, 1);
  }
}

void text_table::add(std::vector<std::string> cells) {
  cells.resize(headings_.size());
  rows_.push_back(std::move(cells));
}

std::string text_table::text(bool bold) const {
  std::vector<std::size_t> width;
  for (std::size_t c = 0; c < headings_.size(); ++c) {
    width.push_back(columns(headings_[c]));
    for (const auto& row : rows_) width[c] = std::max(width[c], columns(row[c]));
  }
  std::string out;
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string one;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string pad(width[c] - columns(cells[c]), ' ');
      if (c != 0) one += "  ";
      one += right_[c] ? pad + cells[c] : cells[c] + pad;
    }
    one.erase(one.find_last_not_of(' ') + 1);
    return one;
  };
  out += bold ? "\x1b[1m" + line(headings_) + "\x1b[0m\n" : line(headings_) + "\n";
  for (const auto& row : rows_) out += line(row) + "\n";
  return out;
}

}  // namespace telltale::cli
