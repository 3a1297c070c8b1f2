#include "prover/daemon/testing/tiny_witness.hpp"

#include "prover/format/tiny_files.hpp"

namespace prover::daemon::testing {

std::vector<std::byte> tiny_wtns() {
  return prover::testing::tiny_wtns<bn254>();
}

witness tiny_witness() {
  static const witness one = *witness::from_bytes(tiny_wtns(), "tiny.wtns");
  return one;
}

}  // namespace prover::daemon::testing
