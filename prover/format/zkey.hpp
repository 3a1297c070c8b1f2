// Groth16 proving keys in snarkjs' .zkey format.
#pragma once

#include <vector>

#include "prover/code_path.hpp"
#include "prover/format/curve_of.hpp"
#include "prover/parallel/thread_pool.hpp"
#include "telltale/prover/key.hpp"

namespace prover::format {

// A matrix of the constraint system by rows, its values kept once each: real circuits have a handful of them.
struct sparse_rows {
  struct entry {
    std::uint32_t signal;
    std::uint32_t value;  // index into zkey::values
  };
  std::vector<std::uint32_t> starts;  // row i is entries[starts[i] .. starts[i + 1])
  std::vector<entry> entries;
};

struct zkey_header {
  curve_id curve = curve_id::bn254;
  std::uint32_t variables = 0;  // the constant one included
  std::uint32_t publics = 0;    // the constant one not included
  std::uint32_t domain_size = 0;
  std::uint32_t coefficients = 0;
  bool is_test_key = false;  // it says of itself that its secrets are public (test_key_notice.hpp)
};

template <class Curve>
struct zkey {
  using g1 = affine<typename Curve::g1>;
  using g2 = affine<typename Curve::g2>;

  zkey_header header;
  g1 alpha1, beta1, delta1;
  g2 beta2, gamma2, delta2;
  std::vector<g1> ic;  // one and the public signals
  std::vector<g1> a;   // every variable, as in b1 and b2
  std::vector<g1> b1;
  std::vector<g2> b2;
  std::vector<g1> c;  // the private variables
  std::vector<g1> h;  // the domain
  sparse_rows a_rows;
  sparse_rows b_rows;
  std::vector<typename Curve::fr> values;  // v * R^2: times a plain witness value gives v * w in Montgomery form
};

// Container and header alone: cheap, and enough to know the curve.
telltale::result<zkey_header> read_zkey_header(const byte_source& source);

// Everything. The source's header must say Curve. `path` is what the checks compute with.
template <class Curve>
telltale::result<zkey<Curve>> read_zkey(const byte_source& source, key_checks checks, code_path path,
                                        thread_pool& pool);

}  // namespace prover::format
