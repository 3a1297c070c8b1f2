// Sizes and durations as people write them in configuration, strictly.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <telltale/core/result.hpp>

namespace telltale::detail {

// "64MiB", "4096", "1GiB": a whole number with nothing, B, KiB, MiB, GiB or TiB behind it.
result<std::uint64_t> parse_size(std::string_view text);
// "250ms", "2s", "5m", "1h": a whole number with its unit, which may not be left out.
result<std::chrono::milliseconds> parse_duration(std::string_view text);

// "1%", "0.5%": above 0 and at most 100 %, as a share from 0 to 1; "off" is 0.
result<double> parse_share(std::string_view text);

}  // namespace telltale::detail
