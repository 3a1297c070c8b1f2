// The decoder, a file per kind of record. It reads untrusted bytes: every length is checked by wire_reader, nesting is
// limited, and nothing recurses over the trees that spans form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hub/otlp/decode.hpp"
#include "hub/otlp/wire.hpp"

namespace telltale::hub {

// Attributes with a column of their own.
constexpr std::size_t promoted_count = 4;
constexpr std::string_view promoted_keys[promoted_count] = {"job_id", "module_id", "task_id", "phase"};
inline std::size_t promoted(std::string_view key) noexcept {
  std::size_t i = 0;
  while (i < promoted_count && key != promoted_keys[i]) ++i;
  return i;
}

// A value as it came: a scalar, or the bytes of an AnyValue that nests.
struct raw_value {
  enum class kind : std::uint8_t { none, text, boolean, integer, real, nested } is = kind::none;
  std::string_view bytes;
  std::uint64_t number = 0;
};
// Nothing where the bytes are no AnyValue.
std::optional<raw_value> read_value(std::string_view any);

// Of 16 and 8 bytes.
inline trace_id read_trace(std::string_view b) noexcept {
  trace_id id;
  std::memcpy(&id.high, b.data(), 8);
  std::memcpy(&id.low, b.data() + 8, 8);
  return {__builtin_bswap64(id.high), __builtin_bswap64(id.low)};
}
inline span_id read_span(std::string_view b) noexcept {
  span_id id;
  std::memcpy(&id.value, b.data(), 8);
  return {__builtin_bswap64(id.value)};
}

// Each function reads one message, and says whether it could be read.
class decoder {
 public:
  decoder(batch& into, const decode_limits& limits) : batch_(into), limits_(limits) {}
  bool request();

 private:
  // What attribute() found beside the object it writes.
  struct found {
    std::string_view promoted[promoted_count];
    std::string_view open_name;
    std::string_view open_parent;
    std::int64_t open_start = 0;
    bool recovered = false;
    bool lost = false;
  };

  bool resource(std::string_view bytes);
  bool resource_attributes(resource_record& record, std::string_view bytes);
  bool scope(std::string_view bytes);

  // decode_span.cpp
  bool span(std::string_view bytes);
  bool status(std::string_view bytes, span_record& s);
  bool event(std::string_view bytes, std::uint32_t& count);
  bool link(std::string_view bytes, std::size_t first);

  // decode_log.cpp
  bool log(std::string_view bytes);

  // decode_metric.cpp
  bool metric(std::string_view bytes);
  bool number(std::string_view bytes, point_record& p);
  bool histogram(std::string_view bytes, point_record& p);
  bool exponential(std::string_view bytes, point_record& p);
  // Keeps a point whose attributes are in json_.
  bool keep(point_record& p, std::uint64_t time);

  // decode_attributes.cpp
  // One attribute of a span or log record: promoted ones and ours go to `f`, the others into json_.
  bool attribute(std::string_view bytes, found& f, std::uint32_t& count);
  bool plain_attribute(std::string_view bytes, std::uint32_t& count);
  static bool key_value(std::string_view bytes, std::string_view& key, raw_value& value);
  void append_attribute(std::string_view key, const raw_value& value, std::uint32_t& count);
  void open_object() { json_.assign(1, '{'); }
  void close_object() { json_ += '}'; }
  void append_value(std::string& out, const raw_value& v, std::uint32_t depth);
  void append_nested(std::string& out, std::string_view any, std::uint32_t depth);
  // A value as text that lives as long as the batch.
  std::string_view scalar_text(const raw_value& v);
  std::string_view cut(std::string_view s);
  // Cut, and in UTF-8.
  std::string_view text(std::string_view s);

  const resource_record& of() const noexcept { return batch_.resources.back(); }
  std::uint32_t resource_index() const noexcept { return static_cast<std::uint32_t>(batch_.resources.size() - 1); }
  std::uint32_t scope_index() const noexcept { return static_cast<std::uint32_t>(batch_.scopes.size() - 1); }
  // Where a record belongs: what it says of itself, else what its resource says.
  void place(span_record& s, const found& f) const;
  void reject(std::string_view what, std::string_view name, std::string_view why);

  batch& batch_;
  const decode_limits& limits_;
  std::string json_;
  std::string kept_;
  std::string events_;
  std::string links_;
  std::string scratch_;
};

}  // namespace telltale::hub
