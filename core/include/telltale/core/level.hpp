// How much somebody has to care: the level of a log line and of a span.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// What is above this level compiles to nothing: no call site, no string, no instruction.
// 0 off, 1 error, 2 warn, 3 info, 4 debug, 5 trace. Set it for a whole translation unit, before any include.
#ifndef TELLTALE_MAX_LEVEL
#define TELLTALE_MAX_LEVEL 5
#endif

namespace telltale {

enum class level : std::uint8_t { off = 0, error = 1, warn = 2, info = 3, debug = 4, trace = 5 };

// "INFO"; never padded.
constexpr std::string_view to_string(level l) noexcept {
  constexpr std::string_view names[] = {"OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};
  const auto i = static_cast<std::size_t>(l);
  return i < 6 ? names[i] : std::string_view{"?"};
}

// Reads "info", "INFO", "Info"; empty when it is no level.
constexpr std::optional<level> parse_level(std::string_view text) noexcept {
  for (std::uint8_t i = 0; i < 6; ++i) {
    const std::string_view name = to_string(static_cast<level>(i));
    if (name.size() != text.size()) continue;
    bool same = true;
    for (std::size_t k = 0; k < name.size(); ++k) {
      const char upper = text[k] >= 'a' && text[k] <= 'z' ? static_cast<char>(text[k] - 'a' + 'A') : text[k];
      same = same && upper == name[k];
    }
    if (same) return static_cast<level>(i);
  }
  return std::nullopt;
}

}  // namespace telltale
