// libFuzzer: .sym files. Lines mean nothing to each other, so libFuzzer's own mutations do.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "prover/format/sym.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "signal names");
  constexpr std::array<std::uint32_t, 4> wires{1, 2, 3, ~std::uint32_t{0}};
  const auto names = format::read_names(source, wires);
  if (!names) return 0;
  for (const auto& [wire, name] : *names) {
    const bool asked_for = std::ranges::find(wires, wire) != wires.end();
    // Nothing that a terminal would obey.
    if (!asked_for || name.empty() || !std::ranges::all_of(name, [](char c) { return c > ' ' && c < 127; }))
      std::abort();
  }
  return 0;
}
