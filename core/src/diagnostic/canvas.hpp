// Rows of characters in colours, out of which a snippet is drawn.
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/diagnostic.hpp>
#include <vector>

namespace telltale::detail {

enum class ink : std::uint8_t { plain, strong, margin, secondary, error, warning, remark };

constexpr ink ink_of(severity s) noexcept {
  return s == severity::error ? ink::error : s == severity::warning ? ink::warning : ink::remark;
}

// Writes runs of one ink, with the escapes that colour takes and none without.
class painter {
 public:
  painter(std::string& out, bool colour) noexcept : out_(out), colour_(colour) {}
  // `text` must be fit for a terminal already.
  void put(std::string_view text, ink i) {
    if (text.empty()) return;
    const bool dye = colour_ && i != ink::plain;
    if (dye) out_ += escape(i);
    out_ += text;
    if (dye) out_ += "\x1b[0m";
  }
  void line_feed() { out_ += '\n'; }

 private:
  static std::string_view escape(ink i) noexcept {
    constexpr std::string_view escapes[] = {"",           "\x1b[1m",    "\x1b[1;34m", "\x1b[1;34m",
                                            "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;32m"};
    return escapes[static_cast<std::size_t>(i)];
  }
  std::string& out_;
  bool colour_;
};

// One row: single-column characters at chosen places, and a text behind them.
class row {
 public:
  void put(std::size_t column, char c, ink i) {
    if (column >= characters_.size()) {
      characters_.resize(column + 1, ' ');
      inks_.resize(column + 1, ink::plain);
    }
    characters_[column] = c;
    inks_[column] = i;
  }
  char at(std::size_t column) const noexcept { return column < characters_.size() ? characters_[column] : ' '; }
  // `text` begins at `column`, or behind what stands there already.
  void put_text(std::size_t column, std::string text, ink i) {
    if (text.empty()) return;
    if (column > characters_.size()) {
      characters_.resize(column, ' ');
      inks_.resize(column, ink::plain);
    }
    text_ = std::move(text);
    text_ink_ = i;
  }
  bool empty() const noexcept { return characters_.empty() && text_.empty(); }

  void write(painter& p) const {
    std::size_t end = characters_.size();
    while (text_.empty() && end > 0 && characters_[end - 1] == ' ') --end;
    for (std::size_t from = 0; from < end;) {
      std::size_t to = from + 1;
      while (to < end && inks_[to] == inks_[from]) ++to;
      p.put(std::string_view{characters_}.substr(from, to - from), inks_[from]);
      from = to;
    }
    p.put(text_, text_ink_);
  }

 private:
  std::string characters_;
  std::vector<ink> inks_;
  std::string text_;
  ink text_ink_ = ink::plain;
};

}  // namespace telltale::detail
