// What a test key says about itself. It stands in section 10, where a key lists the contributions to its ceremony, as
// the name of its only contributor: snarkjs takes it over into every key that is made from this one.
#pragma once

#include <string_view>

namespace prover::format {

// snarkjs keeps 64 characters of a name.
inline constexpr std::string_view test_key_notice = "INSECURE TEST KEY: its secrets are public, anyone can forge";
static_assert(test_key_notice.size() <= 64);

// Where the notice stands in section 10: after the circuit's hash, the number of contributions, the first one's five
// points (of `g1_bytes` each, one of them in G2), its transcript, type, parameters' length, and the name's own length.
constexpr std::size_t test_key_notice_at(std::size_t g1_bytes) noexcept {
  return 64 + 4 + 5 * g1_bytes + 64 + 4 + 4 + 2;
}

}  // namespace prover::format
