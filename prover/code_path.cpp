// The choice by processor and environment.
#include "prover/code_path.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "prover/field/instructions.hpp"
#include "prover/vector/kernels.h"

namespace prover {
namespace {

code_path wanted() {
  const char* const set = std::getenv("TELLTALE_PROVER_KERNELS");
  const std::string_view name = set == nullptr ? "" : set;
  if (name.empty()) return vector::available() ? code_path::ifma : has_adx() ? code_path::adx : code_path::portable;
  const auto lacking = [](const char* what) {
    return std::runtime_error("TELLTALE_PROVER_KERNELS asks for " + std::string(what) +
                              ", which this processor (or this build) doesn't have. Unset it.");
  };
  if (name == "portable") return code_path::portable;
  if (name == "adx") return has_adx() ? code_path::adx : throw lacking("\"adx\" (BMI2 and ADX)");
  if (name == "ifma") return vector::available() ? code_path::ifma : throw lacking("\"ifma\" (AVX-512 IFMA)");
  throw std::runtime_error("TELLTALE_PROVER_KERNELS is \"" + std::string(name) +
                           "\"; it may be \"portable\", \"adx\" or \"ifma\", or not set.");
}

}  // namespace

code_path choose_code_path() {
  const code_path path = wanted();
  use_multiplications_of(path);
  return path;
}

void use_multiplications_of(code_path path) noexcept {
  multiply_with_adx.store(path != code_path::portable && has_adx(), std::memory_order_relaxed);
}

const char* name_of(code_path path) noexcept {
  switch (path) {
    case code_path::portable:
      return "portable";
    case code_path::adx:
      return "adx";
    case code_path::ifma:
      break;
  }
  return "ifma";
}

}  // namespace prover
