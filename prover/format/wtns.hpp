// Witnesses in snarkjs' .wtns format.
#pragma once

#include "prover/format/curve_of.hpp"
#include "prover/parallel/secret.hpp"

namespace prover::format {

struct wtns_header {
  curve_id curve = curve_id::bn254;
  std::uint32_t count = 0;  // values, the leading one included
};

struct wtns {
  wtns_header header;
  secret_vector<integer<4>> values;  // plain integers below r; the first is 1, then the public ones
};

telltale::result<wtns_header> read_wtns_header(const byte_source& source);
telltale::result<wtns> read_wtns(const byte_source& source);

}  // namespace prover::format
