// The trace context in one line: compile > typecheck "matmul" > elaborate_call
#pragma once

#include <string>
#include <telltale/core/diagnostic.hpp>

namespace telltale::detail {

std::string trace_text(const std::vector<trace_frame>& trace);

}  // namespace telltale::detail
