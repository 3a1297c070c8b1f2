// libFuzzer: sizes and durations. What is accepted is a number, and reads the same when it is written again.
#include <string>

#include "input.hpp"
#include "units.hpp"

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

void try_size(std::string_view text) {
  const auto size = telltale::detail::parse_size(text);
  if (!size) {
    fuzz::require(!size.error().message.empty());
    return;
  }
  fuzz::require(!text.empty() && is_digit(text.front()));
  std::uint64_t factor = 1;
  for (const char* unit : {"B", "KiB", "MiB", "GiB", "TiB"}) {
    if (*size % factor == 0) {
      const auto again = telltale::detail::parse_size(std::to_string(*size / factor) + unit);
      fuzz::require(again && *again == *size);
    }
    factor <<= 10;
  }
  const auto bare = telltale::detail::parse_size(std::to_string(*size));
  fuzz::require(bare && *bare == *size);
}

void try_duration(std::string_view text) {
  const auto duration = telltale::detail::parse_duration(text);
  if (!duration) {
    fuzz::require(!duration.error().message.empty());
    return;
  }
  fuzz::require(!text.empty() && is_digit(text.front()) && !is_digit(text.back()) && duration->count() >= 0);
  const struct {
    const char* name;
    std::int64_t ms;
  } units[] = {{"ms", 1}, {"s", 1000}, {" m", 60'000}, {"min", 60'000}, {"h", 3'600'000}};
  for (const auto& unit : units) {
    if (duration->count() % unit.ms != 0) continue;
    const auto again = telltale::detail::parse_duration(std::to_string(duration->count() / unit.ms) + unit.name);
    fuzz::require(again && *again == *duration);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::input(data, size).rest();
  try_size(text);
  try_duration(text);
  return 0;
}
