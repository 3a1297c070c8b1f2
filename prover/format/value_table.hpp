// Numbers every distinct field value: circuits repeat a handful of coefficients millions of times.
#pragma once

#include <unordered_map>
#include <vector>

#include "prover/field/integer.hpp"

namespace prover::format {

class value_table {
 public:
  // The number of this value; new values get the next one.
  std::uint32_t number_of(const integer<4>& value) {
    const auto [found, is_new] = numbers_.try_emplace(value, static_cast<std::uint32_t>(values_.size()));
    if (is_new) values_.push_back(value);
    return found->second;
  }
  const std::vector<integer<4>>& values() const noexcept { return values_; }

 private:
  struct hash {
    std::size_t operator()(const integer<4>& v) const noexcept {
      u64 h = 0;
      for (const u64 word : v) {
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 32;
      }
      return h;
    }
  };
  std::unordered_map<integer<4>, std::uint32_t, hash> numbers_;
  std::vector<integer<4>> values_;
};

}  // namespace prover::format
