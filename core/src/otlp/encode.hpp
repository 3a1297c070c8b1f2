// From the drain's views to OTLP bytes, without a message object in between. One encoder belongs to one thread; what it
// took stands, grouped by module, in buffers that it keeps.
//
//   resource   what this process is                          encode_resource(), once
//   scope      the module of a call site                     one ScopeSpans or ScopeLogs per module and chunk
//   records    spans, log lines, open spans and losses (as log records with an event name)
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <telltale/core/attribute_value.hpp>
#include <telltale/core/metric_snapshot.hpp>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/sink.hpp>
#include <utility>
#include <vector>

#include "../format.hpp"

namespace telltale::otlp {

using detail::buffer;

enum class encoding : std::uint8_t { protobuf, json };

// Some records of one signal: the scope messages of a request, ready to stand beside those of other chunks.
struct chunk {
  buffer bytes;
  std::uint64_t records = 0;
};

class TELLTALE_EXPORT encoder {
 public:
  virtual ~encoder() = default;

  virtual void add(const span_view& s) = 0;
  virtual void add(const log_view& l) = 0;
  // A span that has not ended, as a log record with the given event name.
  virtual void add_open(const span_view& s, std::string_view event) = 0;
  // Records that are missing here; `thread` may be null.
  virtual void add_loss(std::string_view reason, std::uint64_t count, std::int64_t since_ns,
                        const thread_info* thread) = 0;

  // Bytes and records taken and not handed over yet.
  virtual std::size_t bytes(signal_kind s) const noexcept = 0;
  virtual std::uint64_t records(signal_kind s) const noexcept = 0;
  // Hands them over and starts anew.
  virtual chunk take(signal_kind s) = 0;
};
TELLTALE_EXPORT std::unique_ptr<encoder> make_encoder(encoding e);

// All metrics of a snapshot, under the scope "telltale"; cumulative.
TELLTALE_EXPORT chunk encode_metrics(encoding e, const metric_snapshot& snapshot);

using named_values = std::vector<std::pair<std::string, attribute_value>>;
// The resource message, ready for make_request().
TELLTALE_EXPORT std::string encode_resource(encoding e, const named_values& attributes);

// A whole request, which is also a whole line of an OTLP/JSON file. Throws std::bad_alloc only.
TELLTALE_EXPORT buffer make_request(encoding e, signal_kind s, std::string_view resource,
                                    std::span<const chunk> chunks);

}  // namespace telltale::otlp
