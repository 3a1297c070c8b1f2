// gzip or zlib, unpacked up to a limit: what would become larger is refused before it is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::hub {

struct inflated {
  enum class outcome : std::uint8_t { whole, too_large, broken } what = outcome::whole;
  std::string bytes = {};  // whole: what was packed; else what to tell its sender
};
inflated inflate(std::string_view packed, std::uint64_t limit);

}  // namespace telltale::hub
