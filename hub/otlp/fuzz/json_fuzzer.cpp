// Any text is OTLP/JSON or is refused; what is taken is protobuf that the decoder reads.
#include <cstdint>
#include <cstdlib>

#include "hub/otlp/decode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace telltale;
  if (size == 0) return 0;
  const auto signal = static_cast<otlp::signal_kind>(data[0] % otlp::signals);
  auto wire = hub::protobuf_of_json(signal, {reinterpret_cast<const char*>(data) + 1, size - 1});
  if (wire && !hub::decode(signal, std::move(*wire))) std::abort();
  return 0;
}
