// The transform's kernels for any processor.
#include "ntt_passes.h"

namespace prover::vector::detail {
const ntt_kernels& emulated_ntt_kernels(scalar_field f) {
  return ntt_table_of<emulated>(f);
}
}  // namespace prover::vector::detail
