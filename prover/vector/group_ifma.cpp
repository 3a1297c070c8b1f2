// The group kernels for AVX-512 IFMA; this file is compiled for such processors.
#include "group_tables.h"

namespace prover::vector::detail {
const group_kernels& ifma_kernels(group g) {
  return table_of<ifma>(g);
}
}  // namespace prover::vector::detail
