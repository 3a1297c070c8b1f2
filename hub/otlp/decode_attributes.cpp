// Attributes: from AnyValues to the JSON object that the store keeps.
#include "hub/otlp/decoder.hpp"
#include "hub/otlp/text.hpp"

namespace telltale::hub {

namespace {

using otlp::any_value;

// Fields of AnyValue that core doesn't write.
constexpr std::uint32_t any_array = 5;
constexpr std::uint32_t any_map = 6;
constexpr std::uint32_t any_bytes = 7;

constexpr std::string_view key_open_name = "telltale.span.name";
constexpr std::string_view key_open_start = "telltale.span.start_time_unix_nano";
constexpr std::string_view key_open_parent = "telltale.span.parent_id";
constexpr std::string_view key_recovered = "telltale.recovered";

void append_base64(std::string& out, std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k <= bytes.size() ? digits[three >> (18 - 6 * k) & 63] : '=';
    }
  }
}

}  // namespace

std::optional<raw_value> read_value(std::string_view any) {
  raw_value v;
  wire_reader r(any);
  while (r.next()) {
    if (r.is(any_value::string_value.number, wire_type::length)) {
      v = {raw_value::kind::text, r.bytes(), 0};
    } else if (r.is(any_value::int_value.number, wire_type::varint)) {
      v = {raw_value::kind::integer, {}, r.number()};
    } else if (r.is(any_value::double_value.number, wire_type::fixed64)) {
      v = {raw_value::kind::real, {}, r.number()};
    } else if (r.is(any_value::bool_value.number, wire_type::varint)) {
      v = {raw_value::kind::boolean, {}, r.number()};
    } else if (r.type() == wire_type::length && r.field() >= any_array && r.field() <= any_bytes) {
      v = {raw_value::kind::nested, any, 0};
    }
  }
  if (r.malformed()) return std::nullopt;
  return v;
}

bool decoder::attribute(std::string_view bytes, found& f, std::uint32_t& count) {
  std::string_view key;
  raw_value value;
  if (!key_value(bytes, key, value)) return false;
  if (const std::size_t p = promoted(key); p < promoted_count && value.is != raw_value::kind::none) {
    if (f.promoted[p].empty()) f.promoted[p] = scalar_text(value);
    return true;
  }
  if (key.starts_with("telltale.")) {
    if (key == key_open_name) {
      f.open_name = scalar_text(value);
      return true;
    }
    if (key == key_open_parent) {
      f.open_parent = scalar_text(value);
      return true;
    }
    if (key == key_open_start) {
      f.open_start = static_cast<std::int64_t>(value.number);
      return true;
    }
    f.recovered = f.recovered || key == key_recovered;
  } else if (key == "error.type" && value.bytes == "lost") {
    f.lost = true;
  }
  append_attribute(key, value, count);
  return true;
}

bool decoder::plain_attribute(std::string_view bytes, std::uint32_t& count) {
  std::string_view key;
  raw_value value;
  if (!key_value(bytes, key, value)) return false;
  append_attribute(key, value, count);
  return true;
}

bool decoder::key_value(std::string_view bytes, std::string_view& key, raw_value& value) {
  wire_reader r(bytes);
  while (r.next()) {
    if (r.type() != wire_type::length) continue;
    if (r.field() == otlp::key_value::key.number) key = r.bytes();
    if (r.field() != otlp::key_value::value.number) continue;
    const auto v = read_value(r.bytes());
    if (!v) return false;
    value = *v;
  }
  return !r.malformed();
}

void decoder::append_attribute(std::string_view key, const raw_value& value, std::uint32_t& count) {
  if (count == limits_.attributes) {
    ++batch_.shortened;
    return;
  }
  ++count;
  if (json_.size() > 1) json_ += ',';
  append_json(json_, cut(key));
  json_ += ':';
  append_value(json_, value, 0);
}
void decoder::append_value(std::string& out, const raw_value& v, std::uint32_t depth) {
  switch (v.is) {
    case raw_value::kind::text:
      return append_json(out, cut(v.bytes));
    case raw_value::kind::boolean:
      out += v.number != 0 ? "true" : "false";
      return;
    case raw_value::kind::integer:
      return append_json(out, static_cast<std::int64_t>(v.number));
    case raw_value::kind::real:
      return append_json(out, std::bit_cast<double>(v.number));
    case raw_value::kind::none:
      out += "null";
      return;
    case raw_value::kind::nested:
      return append_nested(out, v.bytes, depth);
  }
}

void decoder::append_nested(std::string& out, std::string_view any, std::uint32_t depth) {
  wire_reader r(any);
  std::string_view body;
  std::uint32_t kind = 0;
  while (r.next()) {
    if (r.type() == wire_type::length && r.field() >= any_array && r.field() <= any_bytes) {
      kind = r.field();
      body = r.bytes();
    }
  }
  if (kind == any_bytes) {
    out += '"';
    append_base64(out, body.substr(0, limits_.string_bytes / 4 * 3));
    out += '"';
    return;
  }
  if (depth == limits_.nesting) {
    ++batch_.shortened;
    out += "null";
    return;
  }
  const bool is_map = kind == any_map;
  out += is_map ? '{' : '[';
  bool first = true;
  for (wire_reader items(body); items.next();) {  // both lists are field 1
    if (!items.is(1, wire_type::length)) continue;
    if (!first) out += ',';
    first = false;
    std::string_view key;
    raw_value value;
    if (is_map) {
      if (!key_value(items.bytes(), key, value)) value = {};
      append_json(out, cut(key));
      out += ':';
    } else if (const auto v = read_value(items.bytes())) {
      value = *v;
    }
    append_value(out, value, depth + 1);
  }
  out += is_map ? '}' : ']';
}

std::string_view decoder::scalar_text(const raw_value& v) {
  if (v.is == raw_value::kind::text) return text(v.bytes);
  if (v.is == raw_value::kind::none) return {};
  scratch_.clear();
  append_value(scratch_, v, 0);
  return batch_.text.copy(scratch_);
}

std::string_view decoder::cut(std::string_view s) {
  const std::string_view shorter = cut_to(s, limits_.string_bytes);
  if (shorter.size() != s.size()) ++batch_.shortened;
  return shorter;
}
std::string_view decoder::text(std::string_view s) {
  s = cut(s);
  if (is_clean(s)) [[likely]]
    return s;
  return batch_.text.copy(cleaned(s));
}

}  // namespace telltale::hub
