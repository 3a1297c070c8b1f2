// The way through a query's text: blanks, words, literals, names. What a word means depends on where it stands
// (`.foo-bar` is one attribute, `2-1` is a subtraction), so there is no separate pass for tokens.
#pragma once

#include <string>
#include <string_view>

#include "refusal.hpp"

namespace telltale::hub::traceql {

class reader {
 protected:
  explicit reader(std::string_view text) : text_(text) {}

  [[noreturn]] static void fail(refusal kind, std::size_t at, std::string what) {
    throw refused{kind, at, std::move(what)};
  }
  [[noreturn]] void fail(std::string what) const { fail(refusal::syntax, at_, std::move(what)); }

  bool ahead(std::string_view s) const { return text_.substr(at_).starts_with(s); }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

  // Blanks and comments.
  void space();
  // With the blanks behind it.
  bool accept(std::string_view s);
  void expect(std::string_view s, std::string_view why);
  // A word that doesn't go on.
  bool keyword_ahead(std::string_view word) const;

  // A name of an attribute: up to a blank or an operator; parts in quotes may hold anything.
  std::string read_name();
  // The word that stands here, whatever it is.
  std::string_view word_ahead() const;
  std::string read_string();  // "…" or `…`
  value read_number();        // or a duration

  // One level of nesting; the readers are recursive, so there is a limit.
  class level {
   public:
    explicit level(reader& r);
    ~level() { --r_.depth_; }
    level(const level&) = delete;
    level& operator=(const level&) = delete;

   private:
    reader& r_;
  };
  void count_operator();

  std::string_view text_;
  std::size_t at_ = 0;
  doubts doubts_;

 private:
  static bool ends_name(char c);
  std::string read_quoted();

  std::size_t depth_ = 0;
  std::size_t operators_ = 0;
};

}  // namespace telltale::hub::traceql
