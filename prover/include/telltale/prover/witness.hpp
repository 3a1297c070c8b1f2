// The values of a circuit's wires, from a .wtns file. They are secret: wiped when the last copy of the object goes.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "telltale/core/result.hpp"
#include "telltale/prover/curve.hpp"

namespace prover {

class witness {
 public:
  static telltale::result<witness> load(const std::string& path);
  static telltale::result<witness> from_bytes(std::vector<std::byte> bytes, const std::string& name);

  curve_id curve() const noexcept;
  std::size_t size() const noexcept;

  struct state;
  explicit witness(std::shared_ptr<const state> s) noexcept : state_(std::move(s)) {}
  const state& inner() const noexcept { return *state_; }

 private:
  std::shared_ptr<const state> state_;
};

}  // namespace prover
