// Names of signals from circom's .sym files: a line "label,wire,component,name" each; wire -1 was optimised away.
#pragma once

#include <map>
#include <span>

#include "prover/format/byte_source.hpp"

namespace prover::format {

// The first name of each of these wires. Others' are read over, so that memory does not grow with the file.
telltale::result<std::map<std::uint32_t, std::string>> read_names(const byte_source& source,
                                                                  std::span<const std::uint32_t> wires);

}  // namespace prover::format
