// Spans for other programs to read, and what they wrote for us to keep.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/model.hpp"

namespace telltale::hub {

//   perfetto    Perfetto's protobuf, for ui.perfetto.dev
//   chrome      Chrome's JSON array; speedscope reads it too
//   otlp        an OTLP/JSON request: traces as any OpenTelemetry receiver takes them
//   jaeger      what Jaeger's UI opens from a file
//   speedscope  one profile per lane of spans that nest
//   jsonl       JSON lines as core's sink `json` writes them
// Spans that run still have no end to tell and are left out, but in otlp, where they end at their last sign of life
// with telltale.open = true.
result<std::string> export_spans(std::span<const span_row> rows, std::string_view format);
std::string_view content_type(std::string_view format);

// What to import, as OTLP/JSON requests of at most 1,000 records each. `jsonl` (spans; what isn't a finished span is
// counted in `skipped`) or `otlp` (one request, or one a line).
struct imported {
  std::vector<std::string> traces;
  std::vector<std::string> logs;
  std::uint64_t spans = 0;
  std::uint64_t lines = 0;
  std::uint64_t skipped = 0;
};
result<imported> read_import(std::string_view text, std::string_view format);

}  // namespace telltale::hub
