// Whether many points lie in the subgroup of prime order r, for less than one test each.
//
// Every point gets a random scalar s_i of 128 bits, and the digit sums of the multi-scalar multiplication (msm.hpp) are
// tested one by one. Sums of points of the subgroup are in it, so a sum outside proves that some point is outside.
// The other way round: let P be a point outside and T, not infinity, its part outside the subgroup. A sum's part
// outside is c T plus that of the other points, where c is the piece of P's digit with its sign. Whatever the other
// points and scalars are, at most one value of c T takes the sum into the subgroup. Pieces have so few bits that all
// values of c differ by less than the smallest prime that divides the cofactor, so c T determines c, and the c of
// all sums together determine P's scalar: at most one in 2^128 of them passes. This holds also where the cofactor has
// small factors (3 on BLS12-381's G1), where the usual test of one random combination of the points would fail.
#pragma once

#include <optional>
#include <span>

#include "prover/code_path.hpp"
#include "prover/curve/point.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::msm {

// The position of the first point outside the subgroup. Points must be on the curve. Where all are inside the answer
// is certain; a set with one outside passes with probability 2^-128, whoever chose it. Throws std::system_error where
// the system has no randomness to give.
template <class G>
std::optional<std::size_t> find_outside_subgroup(std::span<const affine<G>> points, code_path path, thread_pool& pool);

}  // namespace prover::msm
