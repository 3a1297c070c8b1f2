#include "refusal.hpp"

#include <algorithm>

namespace telltale::hub::traceql {

std::string explain(std::string_view text, const refused& r) {
  const std::size_t at = std::min(r.at, text.size());
  std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
  std::size_t end = std::min(text.find('\n', at), text.size());
  const auto starts_character = [&](std::size_t i) {
    return i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
  };
  const auto columns = [&](std::size_t from, std::size_t to) {
    std::size_t n = 0;
    for (std::size_t i = from; i < to; ++i) n += starts_character(i) ? 1u : 0u;
    return n;
  };
  const std::size_t column = columns(begin, at) + 1;
  // A long line is shown around the place only.
  if (at - begin > 60) begin = at - 60;
  while (!starts_character(begin)) ++begin;
  if (end - at > 40) end = at + 40;
  while (!starts_character(end)) ++end;
  std::string shown(text.substr(begin, end - begin));
  std::replace_if(shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  std::string out = r.kind == refusal::syntax        ? "the query is no TraceQL at "
                    : r.kind == refusal::unsupported ? "the query can't be answered here because of what stands at "
                                                     : "the query makes no sense at ";
  if (line > 1) out += "line " + std::to_string(line) + ", ";
  out += "column " + std::to_string(column) + ": " + r.what + "\n  " + shown + "\n  ";
  out.append(columns(begin, at), ' ');
  return out + "^";
}

}  // namespace telltale::hub::traceql
