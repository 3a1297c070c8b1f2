// Classes of characters that the W3C grammars name, and splitting lists.
#pragma once

#include <cstdint>
#include <string_view>

namespace telltale::detail {

constexpr bool is_lower(char c) noexcept {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}
// Optional white space, as HTTP has it.
constexpr std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}
// A token of RFC 7230.
constexpr bool is_token(std::string_view s) noexcept {
  for (const char c : s) {
    const bool letter = is_lower(c) || (c >= 'A' && c <= 'Z') || is_digit(c);
    if (!letter && std::string_view{"!#$%&'*+-.^_`|~"}.find(c) == std::string_view::npos) return false;
  }
  return !s.empty();
}
// Takes what stands before the next `separator` off the front, with the separator.
constexpr std::string_view take_until(std::string_view& s, char separator) noexcept {
  const std::size_t at = s.find(separator);
  const std::string_view first = s.substr(0, at);
  s = at == std::string_view::npos ? std::string_view{} : s.substr(at + 1);
  return first;
}

}  // namespace telltale::detail
