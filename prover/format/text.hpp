// Small text helpers for error messages and decimal numbers.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "prover/field/integer.hpp"
#include "telltale/core/result.hpp"

namespace prover::format {

// 4711 -> "4,711"
std::string grouped(u64 number);

// `cannot read key "x.zkey": <what>. <advice>.`
telltale::error cannot_read(std::string_view kind, std::string_view name, std::string_view what,
                            std::string_view advice = "Download or build it again");

// Decimal digits only, no sign, no blanks, and it must fit.
template <std::size_t N>
std::optional<integer<N>> parse_decimal(std::string_view digits) {
  if (digits.empty() || digits.size() > 20 * N) return std::nullopt;
  integer<N> r{};
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    u64 carry = static_cast<u64>(c - '0');
    for (u64& limb : r) limb = multiply_add(0, limb, 10, carry);
    if (carry != 0) return std::nullopt;
  }
  return r;
}

template <std::size_t N>
std::string to_decimal(integer<N> value) {
  std::string digits;
  do {
    // Nineteen digits at a time, from the least significant end.
    u128 remainder = 0;
    constexpr u64 step = 10'000'000'000'000'000'000ULL;
    for (std::size_t i = N; i-- > 0;) {
      const u128 t = (remainder << 64) | value[i];
      value[i] = static_cast<u64>(t / step);
      remainder = t % step;
    }
    auto low = static_cast<u64>(remainder);
    const bool last = is_zero(value);
    for (int i = 0; last ? low != 0 : i < 19; ++i, low /= 10) digits.push_back(static_cast<char>('0' + low % 10));
  } while (!is_zero(value));
  if (digits.empty()) digits = "0";
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace prover::format
