// libFuzzer: text for a terminal. Whatever goes in, what comes out is UTF-8, on one line, and moves no cursor.
#include <string>

#include "format.hpp"
#include "input.hpp"

namespace {

bool is_control(char32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029;
}

// Whether nothing in `s` needed an escape.
bool is_safe(std::string_view s) {
  while (!s.empty()) {
    const auto c = fuzz::take_code_point(s);
    if (!c || is_control(*c)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view in = fuzz::input(data, size).rest();

  std::string safe = "before ";
  telltale::detail::append_safe_text(safe, in);
  fuzz::require(is_safe(safe) && safe.starts_with("before "));
  if (is_safe(in)) fuzz::require(safe.substr(7) == in);

  std::string quoted;
  telltale::detail::append_quoted(quoted, in);
  fuzz::require(is_safe(quoted) && quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"');
  // Only the last quote ends it.
  const std::string_view inside = std::string_view{quoted}.substr(1, quoted.size() - 2);
  std::string plain;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    fuzz::require(inside[i] != '"');
    if (inside[i] == '\\') fuzz::require(++i < inside.size());
    plain += inside[i];
  }
  if (is_safe(in)) fuzz::require(plain == in);
  return 0;
}
