// Names and texts as Prometheus has them, made from OpenTelemetry's (the rules of the OpenTelemetry specification,
// "Prometheus and OpenMetrics Compatibility").
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/attribute_value.hpp>
#include <telltale/core/instrument.hpp>
#include <utility>
#include <vector>

namespace telltale::detail {

// Letters, digits, '_' and ':' only, no '_' twice in a row.
std::string exposition_name(std::string_view name);
std::string exposition_label(std::string_view key);
// "s" → "seconds", "By/s" → "bytes_per_second", "{proof}" and "" → "".
std::string exposition_unit(std::string_view unit, metric_kind kind);

// Appends in quotes' inside: \\, \", \n escaped; bytes that are no UTF-8 become U+FFFD.
void append_label_value(std::string& out, std::string_view value);
// The same for help texts; 0.0.4 leaves quotes as they are.
void append_help(std::string& out, std::string_view help, bool escape_quotes);

// a="b",c="d". Labels without a value are left out: to Prometheus they are not there. Keys that become the same one
// get their values joined by ';'.
std::string exposition_labels(const std::vector<std::pair<std::string, attribute_value>>& labels);

}  // namespace telltale::detail
