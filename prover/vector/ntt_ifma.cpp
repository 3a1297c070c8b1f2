// The transform's kernels for AVX-512 IFMA; this file is compiled for such processors.
#include "ntt_passes.h"

namespace prover::vector::detail {
const ntt_kernels& ifma_ntt_kernels(scalar_field f) {
  return ntt_table_of<ifma>(f);
}
}  // namespace prover::vector::detail
