// A circuit's constraints, from an .r1cs file: what a .zkey doesn't hold, and so what is needed to say which constraint
// a witness violates (engine::check).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "telltale/core/result.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

// A value that shares what it holds; any number of threads may use one.
class circuit {
 public:
  // `names` may be the circuit's .sym file: violated constraints then show the signals' names. It is opened now and
  // read when there is a violation to describe.
  static telltale::result<circuit> load(const std::string& path, const std::string& names = {});
  static telltale::result<circuit> from_bytes(std::vector<std::byte> bytes, const std::string& name);

  curve_id curve() const noexcept;
  std::size_t wires() const noexcept;
  std::size_t constraints() const noexcept;

  struct state;
  explicit circuit(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  const state& inner() const noexcept { return *state_; }

 private:
  std::shared_ptr<const state> state_;
};

// A constraint that a witness does not satisfy. Says nothing about the witness' values.
struct violation {
  std::size_t constraint = 0;  // counted from 0
  std::string equation;        // "(w[2] + 3) * w[2] = w[4]"
};

// The sentence about it.
telltale::error violated(const circuit& c, const violation& v);

}  // namespace prover
