// Beside each file of spans: how long its spans took, a row per name and kind (hub/store/durations.hpp).
#pragma once

#include <string>
#include <vector>

#include "hub/store/duck.hpp"
#include "hub/store/durations.hpp"

namespace telltale::hub {

// Not written where there are so many names that the spans are read as fast: false then.
result<bool> write_durations(const duck::connection& c, const std::string& path, const durations_by_name& durations);
// Adds those of the files.
result<void> read_durations(const duck::connection& c, const std::vector<std::string>& paths, durations_by_name& out);

}  // namespace telltale::hub
