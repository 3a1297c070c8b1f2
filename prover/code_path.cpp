// The choice by processor and environment.
#include "prover/code_path.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "prover/vector/kernels.h"

namespace prover {

code_path choose_code_path() {
  const char* const set = std::getenv("TELLTALE_PROVER_KERNELS");
  const std::string_view name = set == nullptr ? "" : set;
  if (name.empty()) return vector::available() ? code_path::ifma : code_path::portable;
  if (name == "portable") return code_path::portable;
  if (name != "ifma") {
    throw std::runtime_error("TELLTALE_PROVER_KERNELS is \"" + std::string(name) +
                             "\"; it may be \"portable\" or \"ifma\", or not set.");
  }
  if (!vector::available()) {
    throw std::runtime_error(
        "TELLTALE_PROVER_KERNELS asks for \"ifma\", and this processor (or this build) has no AVX-512 IFMA. Unset it.");
  }
  return code_path::ifma;
}

}  // namespace prover
