// Circuits that mean nothing, of any size, with a witness that satisfies them: for benchmarks and tests. The same
// request gives the same bytes on every machine.
#pragma once

#include <cstdint>

#include "prover/format/byte_sink.hpp"
#include "telltale/core/result.hpp"
#include "telltale/prover/curve.hpp"

namespace prover::circuits {

// What the witness looks like, which is what a prover's time depends on.
enum class synthetic_kind : std::uint8_t {
  chain,  // full-size values, as in hashes made for circuits: rounds x -> (x + k)^5 + c x
  bits,   // zeros and ones, as in SHA-256: XOR and NAND of earlier bits
  mixed,  // one bit for every three constraints of a chain
};

struct synthetic_request {
  std::uint32_t constraints = 0;
  synthetic_kind kind = synthetic_kind::chain;
  curve_id curve = curve_id::bn254;
  std::uint64_t seed = 1;
};

// Writes both files as it goes along, in memory that does not depend on the size. One public signal, the first value.
telltale::result<void> write_synthetic(const synthetic_request& wanted, format::byte_sink r1cs, format::byte_sink wtns);

}  // namespace prover::circuits
