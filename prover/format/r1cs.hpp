// Constraint systems in circom's .r1cs format: for every constraint, A * B = C over linear combinations of wires.
#pragma once

#include <vector>

#include "prover/format/curve_of.hpp"

namespace prover::format {

struct r1cs_header {
  curve_id curve = curve_id::bn254;
  std::uint32_t wires = 0;  // the constant one included
  std::uint32_t public_outputs = 0;
  std::uint32_t public_inputs = 0;
  std::uint32_t private_inputs = 0;
  u64 labels = 0;
  std::uint32_t constraints = 0;
};

struct r1cs {
  struct term {
    std::uint32_t wire;
    std::uint32_t value;  // index into values
  };
  r1cs_header header;
  std::vector<u64>
      starts;  // combination k (0: A, 1: B, 2: C) of constraint i is terms[starts[3i + k] .. starts[3i + k + 1])
  std::vector<term> terms;
  std::vector<integer<4>> values;  // plain, once each
};

telltale::result<r1cs_header> read_r1cs_header(const byte_source& source);
telltale::result<r1cs> read_r1cs(const byte_source& source);

}  // namespace prover::format
