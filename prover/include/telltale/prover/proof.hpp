// Proofs and public signals, as snarkjs writes them: proof.json and public.json.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "telltale/core/result.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

class proof {
 public:
  // The curve is the verification key's: a proof doesn't always name its own.
  static telltale::result<proof> load(const std::string& path, curve_id curve);
  static telltale::result<proof> from_json(const std::string& text, const std::string& name, curve_id curve);

  std::string to_json() const;
  telltale::result<void> save(const std::string& path) const;
  curve_id curve() const noexcept;

  struct state;
  explicit proof(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  const state& inner() const noexcept { return *state_; }

 private:
  std::shared_ptr<const state> state_;
};

// What a proof is about: the circuit's public outputs and inputs, in order.
struct public_signals {
  std::vector<std::array<std::uint64_t, 4>> values;  // plain integers below r, least significant word first

  static telltale::result<public_signals> load(const std::string& path, curve_id curve);
  static telltale::result<public_signals> from_json(const std::string& text, const std::string& name, curve_id curve);
  std::string to_json() const;
  telltale::result<void> save(const std::string& path) const;
};

}  // namespace prover
