// The group kernels (vector/group_kernels.h) of processors without AVX-512 IFMA: one addition after the other, with the
// fields of field/, whose multiplications code_path.hpp chooses. A record is a point as it lies in a .zkey.
#pragma once

#include "prover/vector/group_kernels.h"

namespace prover::msm {

// G is G1 or G2 of either curve.
template <class G>
const vector::group_kernels& scalar_kernels() noexcept;

}  // namespace prover::msm
