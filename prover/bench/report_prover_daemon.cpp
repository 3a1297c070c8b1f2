// ./bench prover --only daemon: what the proving daemon costs beside the engine, and whether it keeps to its memory.
#include <iostream>
#include <telltale/core/telltale.hpp>

#include "prover/bench/daemon_figures.hpp"
#include "prover/bench/figures.hpp"

int main(int argc, char** argv) {
  const auto options = telltale::bench::parse_options(argc, argv);
  telltale::options quiet;
  quiet.sinks = "json:/dev/null";
  if (const auto started = telltale::start(quiet); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  telltale::bench::report report("prover");
  using namespace prover::bench;
  for (const auto& [what, add] : {std::pair{"cold and warm keys", &add_cold_figures},
                                  {"throughput", &add_throughput_figure},
                                  {"submissions", &add_submit_figures},
                                  {"telemetry", &add_telemetry_figures},
                                  {"memory", &add_memory_figure},
                                  {"soak", &add_soak_figures}}) {
    std::cerr << "measuring: " << what << '\n';
    try {
      add(report);
    } catch (const std::exception& problem) {
      std::cerr << "report_prover_daemon: " << what << ": " << problem.what() << '\n';
      return 2;
    }
  }
  return report.finish(options, std::cout);
}
