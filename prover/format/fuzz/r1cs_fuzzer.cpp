// libFuzzer: .r1cs files.
#include "prover/format/r1cs.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "constraint system");
  const auto system = format::read_r1cs(source);
  return system && system->starts.empty() ? -1 : 0;
}
