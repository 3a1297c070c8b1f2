// The groups of figures of report_prover.
#pragma once

#include "core/bench/report.hpp"

namespace prover::bench {

// kernels.cpp: sums and transforms on one thread, against arkworks and blst.
void add_kernel_figures(telltale::bench::report& r);
// proofs.cpp: whole proofs with a key in memory, against rapidsnark where --peer names it, and what verifying costs.
void add_proof_figures(telltale::bench::report& r, const telltale::bench::options& options);
// keys.cpp: a key from its cache file, beside the .zkey itself.
void add_key_figures(telltale::bench::report& r);
// programs.cpp: whole programs, from start to end, against snarkjs.
void add_program_figures(telltale::bench::report& r);

// The folder of real keys and witnesses: $TELLTALE_SHARED_DATA, or ../shared/data beside the repository.
std::filesystem::path shared_data();

}  // namespace prover::bench
