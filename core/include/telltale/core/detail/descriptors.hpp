// How a capture of a standard descriptor (telltale::adapters) tells core where that descriptor's output really goes, so
// that what the sinks write is not captured again.
#pragma once

#include <telltale/core/context.hpp>

namespace telltale::detail {

// From now on what core writes to `fd` (0 to 2) goes to `real`; -1: to `fd` itself again.
TELLTALE_EXPORT void stand_in_for(int fd, int real) noexcept;

}  // namespace telltale::detail
