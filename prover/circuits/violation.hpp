// Which constraint a witness does not satisfy, in words that tell nothing of the witness.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "prover/format/r1cs.hpp"
#include "prover/format/wtns.hpp"
#include "prover/parallel/thread_pool.hpp"

namespace prover::circuits {

// The number of the first violated constraint; nothing where all hold. An error where the two don't belong together.
telltale::result<std::optional<std::uint32_t>> first_violation(const format::r1cs& system, const format::wtns& witness,
                                                               thread_pool& pool);

// The wires that a constraint is about, each once, in ascending order.
std::vector<std::uint32_t> wires_of(const format::r1cs& system, std::uint32_t constraint);

// What the constraint asks for: "(w[2] + 3) * w[2] = 5 w[4] - w[1]". A wire in `names` stands under its name.
std::string equation(const format::r1cs& system, std::uint32_t constraint,
                     const std::map<std::uint32_t, std::string>& names);

}  // namespace prover::circuits
