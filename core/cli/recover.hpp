// `telltale recover FILE`: reads a flight record.
#pragma once

#include <string_view>
#include <vector>

namespace telltale::cli {

// `words` are those after `recover`. Returns the exit code: 0, 1 where the file could not be read, 2 for words that
// make no sense.
int recover(const std::vector<std::string_view>& words);

}  // namespace telltale::cli
