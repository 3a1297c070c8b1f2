// Metrics in the two text formats that Prometheus reads.
//
//   std::string page = telltale::render_prometheus(telltale::snapshot_metrics(), telltale::exposition::openmetrics);
//
// Names are made by the rules of the OpenTelemetry specification ("Prometheus and OpenMetrics Compatibility"):
// "prover.proof.duration" in "s" becomes prover_proof_duration_seconds, a counter ends with _total, what stands in
// braces is no unit. Where two metrics become one name the first one stands, and stderr says so, once.
//
// An exponential histogram is shown with the usual fixed buckets: those of its bounds that leave at most 20 of them,
// and one at 0 for what is not positive. Its resolution only ever halves, so a bound that goes away never comes back
// as another one. (The exponential form itself exists in Prometheus' protobuf format only; OTLP has it in full.)
#pragma once

#include <string>
#include <string_view>
#include <telltale/core/metric_snapshot.hpp>
#include <utility>
#include <vector>

namespace telltale {

enum class exposition : std::uint8_t {
  text,         // text/plain; version=0.0.4
  openmetrics,  // application/openmetrics-text; version=1.0.0, with exemplars that carry trace_id and span_id
};

TELLTALE_EXPORT std::string_view content_type(exposition format) noexcept;

// The format that an HTTP Accept header prefers; text where it names neither or is empty.
TELLTALE_EXPORT exposition negotiate_exposition(std::string_view accept) noexcept;

// `resource` says what this process is ("service.name" and so on) and becomes target_info; empty: there is none.
using resource_attributes = std::vector<std::pair<std::string, attribute_value>>;
TELLTALE_EXPORT std::string render_prometheus(const metric_snapshot& snapshot, exposition format,
                                              const resource_attributes& resource = {});

}  // namespace telltale
