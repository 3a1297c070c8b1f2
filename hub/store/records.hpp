// Spans and log lines as plain data, out of DuckDB's rows and out of requests.
#pragma once

#include <string_view>

#include "hub/model.hpp"
#include "hub/otlp/batch.hpp"
#include "hub/store/duck.hpp"

namespace telltale::hub {

// Columns in the order in which span_of and log_of read them, up to FROM.
inline constexpr std::string_view span_select =
    "SELECT trace_hi, trace_lo, span, parent, name, service, scope, node, kind, status, state, status_message, "
    "start_ns, duration_ns, job_id, module_id, task_id, phase, attributes, events, links, resource FROM ";
inline constexpr std::string_view log_select =
    "SELECT time_ns, trace_hi, trace_lo, span, severity, severity_text, service, scope, node, event_name, body, "
    "job_id, attributes, resource FROM ";

result<span_row> span_of(const duck::rows& r, std::size_t i);
result<log_row> log_of(const duck::rows& r, std::size_t i);
result<span_row> row_of(const span_record& s, const batch& b);

}  // namespace telltale::hub
