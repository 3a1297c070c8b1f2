// ./bench prover: sums, transforms and whole proofs, each beside a peer's in the same run.
#include <iostream>
#include <telltale/core/telltale.hpp>

#include "prover/bench/figures.hpp"

int main(int argc, char** argv) {
  const auto options = telltale::bench::parse_options(argc, argv);
  // Recording as in production, but nothing is printed between the figures.
  telltale::options quiet;
  quiet.sinks = "json:/dev/null";
  if (const auto started = telltale::start(quiet); !started) {
    std::cerr << started.error().message << '\n';
    return 2;
  }
  telltale::bench::report report("prover");
  try {
    prover::bench::add_kernel_figures(report);
    prover::bench::add_key_figures(report);
    prover::bench::add_proof_figures(report, options);
    prover::bench::add_program_figures(report);
  } catch (const std::exception& problem) {
    std::cerr << "report_prover: " << problem.what() << '\n';
    return 2;
  }
  return report.finish(options, std::cout);
}
