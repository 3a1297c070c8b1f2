// Chooses kernels by what the processor can do.
#include "kernels.h"

#include <stdexcept>

namespace prover::vector {

bool available() {
#if defined(PROVER_VECTOR_HAS_IFMA)
  // The compiler's run time also checks that the operating system saves the wide registers.
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vbmi2") &&
                          __builtin_cpu_supports("bmi2");
  return has;
#else
  return false;
#endif
}

const group_kernels& kernels_of(group g, backend b) {
  if (b == backend::emulated) return detail::emulated_kernels(g);
#if defined(PROVER_VECTOR_HAS_IFMA)
  if (available()) return detail::ifma_kernels(g);
#endif
  throw std::runtime_error("this processor has no AVX-512 IFMA: use the emulated backend");
}

}  // namespace prover::vector
