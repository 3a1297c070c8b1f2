// The options as the environment's variables give them.
#pragma once

#include <telltale/core/result.hpp>
#include <telltale/core/runtime.hpp>
#include <vector>

namespace telltale::detail {

// Reads the environment into `o`; what cannot be read keeps its default and is reported.
std::vector<error> read_environment(options& o);

}  // namespace telltale::detail
