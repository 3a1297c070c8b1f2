#include "reader.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace telltale::hub::traceql {

namespace {

constexpr std::size_t max_depth = 64;
constexpr std::size_t max_operators = 1000;  // a chain of them is as deep as it is long

}  // namespace

reader::level::level(reader& r) : r_(r) {
  if (++r_.depth_ > max_depth) fail(refusal::unsupported, r_.at_, "nested more than 64 levels deep");
}

void reader::count_operator() {
  if (++operators_ > max_operators) fail(refusal::unsupported, at_, "more than 1,000 operators in one query");
}

void reader::space() {
  for (;;) {
    if (at_ < text_.size() && is_space(text_[at_])) {
      ++at_;
    } else if (ahead("//")) {
      const std::size_t end = text_.find('\n', at_);
      at_ = end == std::string_view::npos ? text_.size() : end;
    } else if (ahead("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      if (end == std::string_view::npos) fail("a comment that begins with /* must end with */");
      at_ = end + 2;
    } else {
      return;
    }
  }
}
bool reader::accept(std::string_view s) {
  if (!ahead(s)) return false;
  at_ += s.size();
  space();
  return true;
}
void reader::expect(std::string_view s, std::string_view why) {
  if (!accept(s)) fail("expected `" + std::string(s) + "` " + std::string(why));
}
bool reader::keyword_ahead(std::string_view word) const {
  if (!ahead(word)) return false;
  const char next = at_ + word.size() < text_.size() ? text_[at_ + word.size()] : '\0';
  return !is_letter(next) && !is_digit(next);
}

// What ends the name of an attribute.
bool reader::ends_name(char c) {
  return is_space(c) || std::string_view("^{}()=~!<>&|,\"").find(c) != std::string_view::npos;
}

std::string_view reader::word_ahead() const {
  std::size_t end = at_;
  while (end < text_.size() && !ends_name(text_[end])) ++end;
  return text_.substr(at_, end - at_);
}

std::string reader::read_name() {
  space();
  std::string name;
  const std::size_t at = at_;
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      name += read_quoted();
    } else if (ends_name(c)) {
      break;
    } else {
      name += c;
      ++at_;
    }
  }
  const char first = at < text_.size() ? text_[at] : '\0';
  const bool starts_well =
      is_letter(first) || std::string_view("@#$%*+,-?:;'`\"").find(first) != std::string_view::npos;
  if (at_ == at || !starts_well || first == ',') {
    fail(refusal::syntax, at, "expected the name of an attribute after `.`");
  }
  return name;
}

std::string reader::read_quoted() {
  const std::size_t at = at_;
  std::string s;
  for (++at_; at_ < text_.size(); ++at_) {
    char c = text_[at_];
    if (c == '"') {
      ++at_;
      return s;
    }
    if (c == '\\') {
      c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
      if (c != '"' && c != '\\') fail("after `\\` stands `\\` or a quotation mark; or put the string into `…`");
      ++at_;
    }
    s += c;
  }
  fail(refusal::syntax, at, "a string that begins with a quotation mark must end with one");
}

std::string reader::read_string() {
  if (peek() == '"') return read_quoted();
  const std::size_t end = text_.find('`', at_ + 1);
  if (end == std::string_view::npos) fail("a string that begins with ` must end with one");
  std::string s(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return s;
}

value reader::read_number() {
  const std::size_t at = at_;
  std::size_t end = at_;
  const auto digits = [&] {
    while (end < text_.size() && is_digit(text_[end])) ++end;
  };
  digits();
  bool real = false;
  if (end + 1 < text_.size() && text_[end] == '.' && is_digit(text_[end + 1])) {
    real = true;
    ++end;
    digits();
  }
  const std::string_view number = text_.substr(at, end - at);
  at_ = end;
  struct unit {
    std::string_view text;
    std::int64_t ns;
  };
  constexpr std::array<unit, 7> units = {{{"ns", 1},
                                          {"us", 1'000},
                                          {"µs", 1'000},
                                          {"ms", 1'000'000},
                                          {"s", 1'000'000'000},
                                          {"m", 60'000'000'000},
                                          {"h", 3'600'000'000'000}}};
  double approximate = 0;
  std::from_chars(number.data(), number.data() + number.size(), approximate);
  for (const unit& u : units) {
    if (!ahead(u.text)) continue;
    at_ += u.text.size();
    space();
    const double ns = approximate * static_cast<double>(u.ns);
    if (!(ns < 9.2e18)) {
      doubts_.add(at, "a duration is at most 292 years");
      return duration{};
    }
    std::int64_t whole = 0;
    if (!real) {
      std::from_chars(number.data(), number.data() + number.size(), whole);
      return duration{whole * u.ns};
    }
    return duration{std::llround(ns)};
  }
  space();
  if (real) return approximate;
  std::int64_t v = 0;
  const auto [_, failed] = std::from_chars(number.data(), number.data() + number.size(), v);
  if (failed != std::errc{}) doubts_.add(at, "a whole number is at most 9,223,372,036,854,775,807");
  return v;
}

}  // namespace telltale::hub::traceql
