// Lines whose module is known only at run time: those of other libraries, and diagnostics.
#pragma once

#include <string_view>
#include <telltale/core/diagnostic.hpp>
#include <telltale/core/foreign_log.hpp>

namespace telltale::detail {

// A log record of the diagnostic under the current context.
void record_diagnostic(std::string_view module, level l, const diagnostic& d) noexcept;

}  // namespace telltale::detail
