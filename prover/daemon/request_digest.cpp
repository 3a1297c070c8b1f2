#include "prover/daemon/request_digest.hpp"

#include "prover/format/digest.hpp"

namespace prover::daemon {

digest digest_of_payload(const payload& p) {
  return format::sha256(p.content);
}

digest digest_of_request(const journal_entry& e) {
  // The name ends with a byte that no name has, and everything else has a fixed size.
  std::vector<std::byte> all;
  for (const char c : e.kind) all.push_back(static_cast<std::byte>(c));
  all.push_back(std::byte{0});
  for (const auto& part : e.parts) {
    all.push_back(static_cast<std::byte>(part.form));
    for (unsigned shift = 0; shift < 64; shift += 8) all.push_back(static_cast<std::byte>(part.size >> shift));
    all.insert(all.end(), part.content.begin(), part.content.end());
  }
  return format::sha256(all);
}

}  // namespace prover::daemon
