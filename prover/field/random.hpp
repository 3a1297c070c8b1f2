// Randomness from the operating system.
#pragma once

#include <cstddef>
#include <span>

namespace prover {

// Fills `into`, from getrandom(2). Throws std::system_error where the system has no randomness to give.
void fill_randomly(std::span<std::byte> into);

}  // namespace prover
