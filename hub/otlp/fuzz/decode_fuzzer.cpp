// Any bytes are a request or are refused; what is taken is clean text and JSON that reads back.
#include <cstdint>
#include <cstdlib>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace telltale;
  if (size == 0) return 0;
  const auto signal = static_cast<otlp::signal_kind>(data[0] % otlp::signals);
  hub::decode_limits limits;
  limits.string_bytes = data[0] >= 128 ? 16 : 65536;
  limits.attributes = data[0] >= 64 ? 2 : 128;
  const auto b = hub::decode(signal, std::string(reinterpret_cast<const char*>(data) + 1, size - 1), limits);
  if (!b) return 0;
  const auto want = [](bool what) {
    if (!what) std::abort();
  };
  for (const auto* list : {&(*b)->spans, &(*b)->open}) {
    for (const hub::span_record& s : *list) {
      want(s.trace && s.id && s.duration_ns >= 0 && hub::is_clean(s.name) && hub::is_clean(s.job_id));
      want(static_cast<bool>(hub::parse_attributes(s.attributes)));
      want(static_cast<bool>(hub::parse_events(s.events)));
      const auto links = hub::parse_links(s.links);
      want(links && links->size() == s.link_count);
    }
  }
  for (const hub::log_record& l : (*b)->logs) {
    want(hub::is_clean(l.body) && hub::is_clean(l.event_name) && hub::parse_attributes(l.attributes));
  }
  for (const hub::point_record& p : (*b)->points) want(static_cast<bool>(hub::parse_attributes(p.attributes)));
  return 0;
}
