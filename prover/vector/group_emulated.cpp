// The group kernels for any processor.
#include "group_tables.h"

namespace prover::vector::detail {
const group_kernels& emulated_kernels(group g) {
  return table_of<emulated>(g);
}
}  // namespace prover::vector::detail
