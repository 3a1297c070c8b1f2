// The groups of figures of report_core that have a file of their own.
#pragma once

#include "core/bench/report.hpp"

namespace telltale::bench {

void add_instruction_figures(report& r);   // instructions.cpp: callgrind, and what is left of a span compiled out
void add_span_figures(report& r);          // span.cpp: runs core_span_burst
void add_memory_figures(report& r);        // memory.cpp: runs core_steady_memory
void add_metric_figures(report& r);        // metrics.cpp, beside metrics_peer.cpp
void add_sustained_figures(report& r);     // sustained.cpp: a live drain, nothing lost
void add_spdlog_figures(report& r);        // spdlog_peer.cpp, or spdlog_absent.cpp
void add_lttng_figures(report& r);         // lttng.cpp: runs core_lttng_peer where it was built
void add_otlp_figures(report& r);          // otlp.cpp, or otlp_absent.cpp
void add_governor_figures(report& r);      // governor.cpp: runs core_governed_loop
void add_end_to_end_figures(report& r);    // end_to_end.cpp: runs core_json_lines
void add_flight_figures(report& r);        // flight.cpp: runs core_flight_burst with and without a file
void add_compile_time_figures(report& r);  // compile_time.cpp

}  // namespace telltale::bench
