// Spans in the form that Jaeger's query API and Jaeger's files have: for what reads those.
#pragma once

#include <span>

#include "hub/ask/json.hpp"

namespace telltale::hub {

// A list of traces, in the order of their first spans. The hub's own columns and the scope, status and kind are tags
// with the names that Jaeger gives them.
json jaeger_traces(std::span<const span_row> rows);

}  // namespace telltale::hub
