// libFuzzer: verification keys, proofs and public signals. What is read must be the same when it is written and read
// again.
#include <cstdlib>

#include "prover/format/json.hpp"

namespace {

template <class Curve>
void try_curve(const std::string& text) {
  namespace format = prover::format;
  if (const auto proof = format::parse_proof<Curve>(text, "input")) {
    const auto again = format::parse_proof<Curve>(format::write_proof(*proof), "written");
    if (!again || !(*again == *proof)) std::abort();
  }
  if (const auto signals = format::parse_public(text, "input", Curve::id)) {
    const auto again = format::parse_public(format::write_public(*signals), "written", Curve::id);
    if (!again || *again != *signals) std::abort();
  }
  const auto key = format::parse_vkey<Curve>(text, "input");
  if (key && key->ic.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  try_curve<prover::bn254>(text);
  try_curve<prover::bls12_381>(text);
  return 0;
}
