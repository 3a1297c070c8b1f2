// libFuzzer: traceparent, tracestate and baggage from any bytes. What is read is written in a form that reads back the
// same, within the limits.
#include <string>
#include <telltale/core/propagation.hpp>

#include "input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::uint8_t which = in.byte() % 3;
  const std::string_view text = in.rest();
  if (which == 0) {
    const auto t = telltale::parse_traceparent(text);
    if (!t) return 0;
    fuzz::require(text.size() >= 55 && t->trace && t->parent);
    const std::string written = to_string(*t);
    fuzz::require(text.find(written.substr(3, 49)) != std::string_view::npos);
    const auto again = telltale::parse_traceparent(written);
    fuzz::require(again && again->trace == t->trace && again->parent == t->parent && again->flags == (t->flags & 1));
  } else if (which == 1) {
    const auto s = telltale::parse_tracestate(text);
    if (!s) return 0;
    fuzz::require(s->size() <= 32);
    const std::string written = to_string(*s);
    fuzz::require(written.size() <= 512);
    const auto again = telltale::parse_tracestate(written);
    fuzz::require(static_cast<bool>(again));
    if (text.size() <= 512) fuzz::require(*again == *s);
  } else {
    const auto b = telltale::parse_baggage(text);
    if (!b) return 0;
    fuzz::require(b->size() <= 180 && text.size() <= 8192);
    for (const auto& m : *b) fuzz::require(fuzz::is_utf8(m.value));
    const std::string written = to_string(*b);
    fuzz::require(written.size() <= 8192);
    const auto again = telltale::parse_baggage(written);
    fuzz::require(static_cast<bool>(again));
    if (text.size() <= 2000) fuzz::require(*again == *b);  // encoding takes up to thrice the room
  }
  return 0;
}
