// Which instructions field multiplications use: a choice for the whole process, because a multiplication is too small
// to be told. code_path.cpp makes it.
#pragma once

#include <atomic>

namespace prover {

// Set only where has_adx().
inline std::atomic<bool> multiply_with_adx{false};

// Whether this processor has BMI2 and ADX.
inline bool has_adx() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("adx") != 0;
#else
  return false;
#endif
}

}  // namespace prover
