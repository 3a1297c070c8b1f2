// The standard descriptors while somebody captures them, and what the library itself has to say.
#pragma once

#include <string_view>
#include <telltale/core/context.hpp>

namespace telltale::detail {

// The descriptor to write to for `fd`: another one while a capture stands in front of it.
int real_descriptor(int fd) noexcept;

// A line on the real stderr, whatever captures it: "telltale: MESSAGE". For what has no caller to be returned to.
TELLTALE_EXPORT void complain(std::string_view message) noexcept;

}  // namespace telltale::detail
