// From an OTLP request to a batch. Protobuf is read straight from the wire; JSON becomes protobuf first, so that there
// is one decoder, and one form in the journal.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/result.hpp>

#include "hub/otlp/batch.hpp"

namespace telltale::hub {

struct decode_limits {
  std::uint32_t attributes = 128;      // of a span, event, link, line or point; what comes after them is left out
  std::uint32_t string_bytes = 65536;  // a longer one is cut
  std::uint32_t events = 1024;         // of a span
  std::uint32_t links = 1024;          // of a span
  std::uint32_t nesting = 8;           // of arrays and maps in attributes; what lies deeper becomes null
};

// Fails where the request as a whole can't be read. A record that can't be kept (an id of the wrong length, an end
// before the start, …) is left out and counted in batch::rejected, with the reason of the first in batch::why.
result<std::shared_ptr<batch>> decode(otlp::signal_kind signal, std::string request, const decode_limits& limits = {});

// An OTLP/JSON request as protobuf. Unknown fields are skipped; a value of the wrong kind is an error that names it.
result<std::string> protobuf_of_json(otlp::signal_kind signal, std::string_view json);

// The answer to an export: what was rejected and why, or an empty message.
std::string answer_protobuf(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why);
std::string answer_json(otlp::signal_kind signal, std::uint64_t rejected, std::string_view why);

}  // namespace telltale::hub
