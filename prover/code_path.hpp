// Which implementation of the arithmetic runs: chosen when an engine is made.
#pragma once

#include <cstdint>

namespace prover {

enum class code_path : std::uint8_t {
  portable,  // C++ for any processor
  ifma,      // sums and transforms with AVX-512 IFMA, eight lanes; everything else as on adx
  adx,       // the portable code, its multiplications with BMI2 and ADX
};

// The fastest path of this processor; or the one that the environment variable TELLTALE_PROVER_KERNELS names
// ("portable", "adx", "ifma"), which is read here and nowhere else. Throws std::runtime_error where it names none, or
// one that this processor lacks. Also tells the field's multiplications: those are the same for a whole process.
code_path choose_code_path();

// Tells the field's multiplications alone. `path` must be one that this processor has.
void use_multiplications_of(code_path path) noexcept;

const char* name_of(code_path path) noexcept;

}  // namespace prover
