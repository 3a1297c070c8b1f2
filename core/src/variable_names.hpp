// Slips in the names of environment variables. One that nobody reads changes nothing, and nobody would hear of it.
#pragma once

#include <string_view>

namespace telltale::detail {

// The variable of core that was probably meant: "TELLTALE_LOG" for "TELLTALE_LOGS". Empty for a variable of core, and
// for one that is like none of them: it is another program's, as TELLTALE_HUB is the command's.
std::string_view meant_by(std::string_view name) noexcept;

// A line on stderr for each such slip in the environment, once in a process.
void complain_of_slips();

}  // namespace telltale::detail
