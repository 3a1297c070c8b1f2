// Source texts, and places in them, for diagnostics.
//
//   auto file = telltale::source_file::make("model.shape", text);
//   telltale::source_span where{file, 120, 126};         // bytes 120 to 125
//   file->position(120);                                 // {line 12, column 15}
//
// A text may be anything: no final newline, CRLF, bytes that are no UTF-8, lines of any length. Offsets count bytes;
// one beyond the end means the end, one inside a code point means that code point. Both types are plain values or
// immutable, so any thread may read them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <vector>

namespace telltale {

// Both from 1. A column counts code points (a tab is one, and so is a byte that is no UTF-8).
struct source_position {
  std::size_t line = 1;
  std::size_t column = 1;
  friend constexpr bool operator==(const source_position&, const source_position&) = default;
};

class TELLTALE_EXPORT source_file {
 public:
  // `name` is what people see and SARIF links to: a path, or "<stdin>". Both are kept.
  source_file(std::string name, std::string text);
  static std::shared_ptr<const source_file> make(std::string name, std::string text) {
    return std::make_shared<const source_file>(std::move(name), std::move(text));
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& text() const noexcept { return text_; }

  // Lines end with "\n" or "\r\n"; what follows the last end is a line only if there is something in it.
  std::size_t lines() const noexcept { return starts_.size(); }
  // Line `number` (from 1) without its end; empty where there is no such line.
  std::string_view line(std::size_t number) const noexcept;

  // A byte of a line: offset 0 is its first one. The end of the text, behind a final newline, is the end of the last
  // line, since nothing could be shown of the line after it.
  struct place {
    std::size_t line;    // from 1
    std::size_t offset;  // at a code-point edge, at most the line's size
  };
  place locate(std::size_t offset) const noexcept;
  source_position position(std::size_t offset) const noexcept;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> starts_;
};

// Bytes [begin, end) of a file. An empty one is a place between two characters; one that ends before it begins is
// empty.
struct source_span {
  std::shared_ptr<const source_file> file;
  std::size_t begin = 0;
  std::size_t end = 0;
};

}  // namespace telltale
