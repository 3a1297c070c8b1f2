// The smallest .wtns, for jobs whose devices are fakes.
#pragma once

#include "telltale/prover/witness.hpp"

namespace prover::daemon::testing {

std::vector<std::byte> tiny_wtns();
witness tiny_witness();

}  // namespace prover::daemon::testing
