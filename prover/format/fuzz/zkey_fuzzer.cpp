// libFuzzer: .zkey files of both curves.
#include "prover/format/zkey.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace format = prover::format;
  static prover::thread_pool pool(1);
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto source = format::byte_source::from_memory({bytes.begin(), bytes.end()}, "input", "key");
  if (const auto header = format::read_zkey_header(source)) {
    format::with_curve(header->curve, [&](auto curve) {
      const auto key = format::read_zkey<decltype(curve)>(source, prover::key_checks::full, pool);
      return static_cast<bool>(key);
    });
  }
  return 0;
}
