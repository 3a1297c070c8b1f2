// Sizes and durations as people write them in configuration, strictly: a spelling that isn't listed here is an error
// that says what can be written, never a guess.
//
//   const auto budget = telltale::parse_size("64MiB");
//   if (!budget) return complain(budget.error());
//
// Any thread; nothing is kept.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/result.hpp>

namespace telltale {

// "64MiB", "4096", "1GiB": a whole number with nothing, B, KiB, MiB, GiB or TiB behind it, in bytes.
TELLTALE_EXPORT result<std::uint64_t> parse_size(std::string_view text);
// "250ms", "2s", "5m", "1h": a whole number with its unit, which may not be left out.
TELLTALE_EXPORT result<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace telltale
