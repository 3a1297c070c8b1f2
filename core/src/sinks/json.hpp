// JSON lines: one object a line, for logs, ends of spans, spans that are still open, and losses. docs/formats.md has
// every field.
#pragma once

#include <memory>
#include <telltale/core/sink.hpp>

#include "output.hpp"

namespace telltale::detail {

std::shared_ptr<sink> make_json_sink(std::unique_ptr<output> out);

}  // namespace telltale::detail
