// libFuzzer: .wtns files.
#include "prover/format/wtns.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "witness");
  const auto values = format::read_wtns(source);
  return values && values->values.empty() ? -1 : 0;
}
