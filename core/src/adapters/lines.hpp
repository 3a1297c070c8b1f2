// Pieces of text put together into lines, and lines into records.
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/foreign_log.hpp>
#include <utility>

namespace telltale::detail {

// Where the lines of one capture go.
struct line_destination {
  log_source source;
  level of;
  std::string_view stream;
};

// A line on its way. Used by one thread at a time.
class line_builder {
 public:
  // Takes a piece that was printed under `c`. What another job left unfinished here becomes a line of its own first.
  void take(const line_destination& to, std::string_view piece, const context& c, bool shared);
  // Records what has no newline yet.
  void finish(const line_destination& to);
  bool empty() const noexcept { return text_.empty(); }
  // Hands out what has no newline yet, for another way.
  std::string take_text() noexcept { return std::exchange(text_, {}); }

 private:
  void record(const line_destination& to, std::string_view text, bool continued) const;

  std::string text_;
  context context_;  // where its first piece was printed
  bool shared_ = false;
};

}  // namespace telltale::detail
