// Sizes and durations.
#include "units.hpp"

#include <charconv>
#include <string>

namespace telltale {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t factor;
};

// A whole number and a unit of the list; 0 stands for "no such unit" or "too large".
template <std::size_t N>
bool parse(std::string_view text, const unit (&units)[N], std::uint64_t& out) {
  std::uint64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failed != std::errc{} || end == text.data()) return false;
  std::string_view rest = text.substr(static_cast<std::size_t>(end - text.data()));
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  for (const unit& u : units) {
    if (rest == u.name) return !__builtin_mul_overflow(n, u.factor, &out);
  }
  return false;
}

}  // namespace

result<std::uint64_t> parse_size(std::string_view text) {
  static constexpr unit units[] = {{"", 1},           {"B", 1},          {"KiB", 1u << 10},
                                   {"MiB", 1u << 20}, {"GiB", 1u << 30}, {"TiB", std::uint64_t{1} << 40}};
  std::uint64_t bytes = 0;
  if (parse(text, units, bytes)) return bytes;
  return error{"\"" + std::string(text) +
               "\" is no size: write a whole number of B, KiB, MiB, GiB or TiB, for example 64MiB"};
}

result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  static constexpr unit units[] = {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"min", 60'000}, {"h", 3'600'000}};
  std::uint64_t ms = 0;
  if (parse(text, units, ms) && ms <= 1'000'000'000'000) {
    return std::chrono::milliseconds{static_cast<std::int64_t>(ms)};
  }
  return error{"\"" + std::string(text) +
               "\" is no duration: write a whole number of ms, s, m or h, for example 250ms"};
}

result<double> detail::parse_share(std::string_view text) {
  if (text == "off") return 0.0;
  double percent = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (failed == std::errc{} &&
      std::string_view{end, static_cast<std::size_t>(text.data() + text.size() - end)} == "%" && percent > 0 &&
      percent <= 100) {
    return percent / 100;
  }
  return error{"\"" + std::string(text) + "\" is no share: write a percentage such as 1% or 0.5%, or off"};
}

}  // namespace telltale
