// A Groth16 key from published secrets (published_secrets.hpp): insecure, and quick.
//
// With u, v, w the circuit's polynomials of a wire at tau, and L' the Lagrange polynomials of the odd 2n-th roots:
//   A = u    B = v    IC = beta u + alpha v + w    C = (beta u + alpha v + w) / delta    H = L' / delta
// gamma is 1, as in every snarkjs key, and n holds the constraints and one row for every public signal and the one.
#pragma once

#include "prover/format/byte_sink.hpp"
#include "prover/format/r1cs.hpp"
#include "prover/groth16/points.hpp"
#include "prover/parallel/thread_pool.hpp"
#include "telltale/core/result.hpp"

namespace prover::setup {

// Writes the .zkey, and returns what a verifier needs of it. Uses about 250 bytes of memory for every wire.
template <class Curve>
telltale::result<groth16::verification_points<Curve>> write_test_key(format::r1cs system, format::byte_sink sink,
                                                                     thread_pool& pool);

}  // namespace prover::setup
