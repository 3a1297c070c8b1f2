// OTLP/JSON lines in a file, and what this process says it is.
#pragma once

#include <memory>
#include <string_view>
#include <telltale/core/result.hpp>
#include <telltale/core/sink.hpp>

#include "../sinks/output.hpp"
#include "encode.hpp"

namespace telltale::otlp {

std::shared_ptr<telltale::sink> make_file_sink(std::unique_ptr<detail::output> out, const named_values& resource);

// service.name (OTEL_SERVICE_NAME, else OTEL_RESOURCE_ATTRIBUTES, else "unknown_service:PROGRAM"), process.pid,
// host.name, telemetry.sdk.*, and whatever OTEL_RESOURCE_ATTRIBUTES says. Fails where that can't be read.
TELLTALE_EXPORT result<named_values> resource_from_environment();

// The same of another process of the service: another process.pid.
TELLTALE_EXPORT void set_process(named_values& resource, std::int64_t pid);

// "key=value,key2=value2" with percent-encoded values, as OTEL_RESOURCE_ATTRIBUTES and OTEL_EXPORTER_OTLP_HEADERS have
// it. Fails at the first pair that is none; `name` is the variable, for the message.
TELLTALE_EXPORT result<std::vector<std::pair<std::string, std::string>>> parse_pairs(std::string_view name,
                                                                                     std::string_view text);

}  // namespace telltale::otlp
