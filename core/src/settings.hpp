// What the options say, checked: everything that can be told to be wrong without looking at the running library.
#pragma once

#include <cstdint>
#include <string>
#include <telltale/core/result.hpp>
#include <telltale/core/runtime.hpp>
#include <vector>

#include "filter.hpp"

namespace telltale::detail {

struct checked_settings {
  filter log;
  filter trace;
  std::vector<std::string> baggage_keys;
  std::uint64_t sampling_threshold = 0;  // as set_sampling() wants it
  bool sampling_by_parent = false;
};

// An error names the variable of the environment that sets the option.
result<checked_settings> check_settings(const options& o);

// The sampler alone, as a threshold and whether a parent decides.
result<std::pair<std::uint64_t, bool>> parse_sampler(const options& o);
error bad_share(const std::string& share);

}  // namespace telltale::detail
