// The groups of figures of report_prover_daemon.
#pragma once

#include "core/bench/report.hpp"

namespace prover::bench {

// daemon_speed.cpp
void add_cold_figures(telltale::bench::report& r);
void add_throughput_figure(telltale::bench::report& r);
void add_submit_figures(telltale::bench::report& r);
// daemon_account.cpp
void add_telemetry_figures(telltale::bench::report& r);
// daemon_soak.cpp
void add_memory_figure(telltale::bench::report& r);
void add_soak_figures(telltale::bench::report& r);

}  // namespace prover::bench
