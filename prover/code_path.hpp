// Which implementation of the sums and transforms runs: chosen once per key, when it is loaded.
#pragma once

#include <cstdint>

namespace prover {

enum class code_path : std::uint8_t {
  portable,  // C++ for any processor
  ifma,      // AVX-512 IFMA, eight lanes
};

// The fastest path of this processor; or the one that the environment variable TELLTALE_PROVER_KERNELS names
// ("portable", "ifma"), which is read here and nowhere else. Throws std::runtime_error where it names none, or one that
// this processor lacks.
code_path choose_code_path();

}  // namespace prover
