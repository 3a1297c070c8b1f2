// libFuzzer: .r1cs files. What is read can be checked against a witness and written down.
#include <cstdlib>

#include "prover/circuits/violation.hpp"
#include "prover/format/fuzz/section_mutator.hpp"

namespace {

// Makes the header's counts agree with the constraints and labels that are there.
void repair(prover::fuzz::container& file) {
  auto* header = file.find(1);
  if (header == nullptr) return;
  prover::fuzz::resize(header->content, 64);
  if (auto* labels = file.find(3)) {
    const auto wires = prover::fuzz::get(header->content, 36, 4);
    if (wires <= 64) prover::fuzz::resize(labels->content, wires * 8);
  }
  auto* constraints = file.find(2);
  if (constraints == nullptr) return;
  std::size_t combinations = 0;
  std::size_t whole = 0;
  for (std::size_t at = 0; at + 4 <= constraints->content.size();) {
    const auto terms = prover::fuzz::get(constraints->content, at, 4);
    if (terms > (constraints->content.size() - at - 4) / 36) break;
    at += 4 + 36 * static_cast<std::size_t>(terms);
    if (++combinations % 3 == 0) whole = at;
  }
  prover::fuzz::resize(constraints->content, whole);
  prover::fuzz::put(header->content, 60, combinations / 3, 4);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
  return prover::fuzz::mutate_sections(data, size, max_size, seed, repair);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  static prover::thread_pool pool(1);
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "constraint system");
  const auto system = format::read_r1cs(source);
  if (!system) return 0;
  if (system->starts.size() != 3 * std::size_t{system->header.constraints} + 1) std::abort();
  if (system->header.wires > 4096) return 0;  // a witness for it would be long
  format::wtns witness;
  witness.header = {system->header.curve, system->header.wires};
  for (prover::u64 i = 0; i < system->header.wires; ++i) witness.values.push_back({i + 1, 0, 0, 0});
  const auto found = prover::circuits::first_violation(*system, witness, pool);
  if (!found) std::abort();
  if (*found && prover::circuits::equation(*system, **found, {}).empty()) std::abort();
  return 0;
}
