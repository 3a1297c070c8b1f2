// Sizes, durations and shares as people write them in configuration, strictly. The first two are public.
#pragma once

#include <string_view>
#include <telltale/core/result.hpp>
#include <telltale/core/units.hpp>

namespace telltale::detail {

using telltale::parse_duration;
using telltale::parse_size;

// "1%", "0.5%": above 0 and at most 100 %, as a share from 0 to 1; "off" is 0.
result<double> parse_share(std::string_view text);

}  // namespace telltale::detail
