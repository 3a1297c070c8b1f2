// libFuzzer: .wtns files.
#include "prover/format/fuzz/section_mutator.hpp"
#include "prover/format/wtns.hpp"

namespace {

// Makes the header's count agree with the values.
void repair(prover::fuzz::container& file) {
  auto* header = file.find(1);
  auto* values = file.find(2);
  if (header == nullptr || values == nullptr) return;
  prover::fuzz::resize(values->content, values->content.size() / 32 * 32);
  prover::fuzz::resize(header->content, 40);
  prover::fuzz::put(header->content, 36, values->content.size() / 32, 4);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return prover::fuzz::mutate_sections(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "witness");
  const auto values = format::read_wtns(source);
  return values && values->values.empty() ? -1 : 0;
}
