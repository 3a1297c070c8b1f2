#include "hub/otlp/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace telltale::hub {

namespace {

// Bytes of the character that begins at s[i], 0 where none does.
std::size_t character(std::string_view s, std::size_t i) noexcept {
  const auto byte = [&](std::size_t k) { return k < s.size() ? static_cast<unsigned char>(s[k]) : 0u; };
  const auto follows = [&](std::size_t k) { return (byte(k) & 0xc0) == 0x80; };
  const unsigned b = byte(i);
  if (b < 0x80) return b != 0 ? 1 : 0;
  if (b < 0xc2 || b > 0xf4 || !follows(i + 1)) return 0;
  if (b < 0xe0) return 2;
  const unsigned second = byte(i + 1);
  if (!follows(i + 2)) return 0;
  if (b < 0xf0) {
    if ((b == 0xe0 && second < 0xa0) || (b == 0xed && second >= 0xa0)) return 0;
    return 3;
  }
  if (!follows(i + 3) || (b == 0xf0 && second < 0x90) || (b == 0xf4 && second >= 0x90)) return 0;
  return 4;
}

constexpr std::string_view replacement = "\xef\xbf\xbd";

// Which bytes stand for themselves in a JSON string, whatever is around them.
constexpr std::array<bool, 256> plain = [] {
  std::array<bool, 256> t{};
  for (unsigned c = 0x20; c < 0x7f; ++c) t[c] = c != '"' && c != '\\';
  return t;
}();

int digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::uint64_t> hex16(std::string_view hex) noexcept {
  std::uint64_t v = 0;
  for (const char c : hex) {
    const int d = digit(c);
    if (d < 0) return std::nullopt;
    v = v << 4 | static_cast<std::uint64_t>(d);
  }
  return v;
}

void put_hex(std::string& out, std::uint64_t v) {
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[v >> shift & 15];
}

attribute_value value_of(const nlohmann::json& v) {
  if (v.is_boolean()) return v.get<bool>();
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > INT64_MAX) return v.get<std::uint64_t>();
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float()) return v.get<double>();
  if (v.is_string()) return v.get<std::string>();
  return v.dump();
}

// Reads an object as we write most: names and texts without a backslash, whole numbers, true and false. Nothing where
// it holds anything else, or a name twice.
std::optional<attribute_list> simple_attributes(std::string_view s) {
  attribute_list out;
  const auto take = [&](std::string_view what) {
    if (!s.starts_with(what)) return false;
    s.remove_prefix(what.size());
    return true;
  };
  const auto text = [&](std::string& to) {
    const std::size_t end = s.find_first_of("\"\\", 1);
    if (!s.starts_with('"') || end == std::string_view::npos || s[end] != '"') return false;
    to = s.substr(1, end - 1);
    s.remove_prefix(end + 1);
    return true;
  };
  if (!take("{")) return std::nullopt;
  do {
    auto& [key, value] = out.emplace_back();
    if (out.size() > 64 || !text(key) || !take(":")) return std::nullopt;
    if (s.starts_with('"')) {
      if (!text(value.emplace<std::string>())) return std::nullopt;
    } else if (take("true")) {
      value = true;
    } else if (take("false")) {
      value = false;
    } else {
      std::int64_t v = 0;
      const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), v);
      if (failed != std::errc{}) return std::nullopt;
      s.remove_prefix(static_cast<std::size_t>(end - s.data()));
      value = v;
    }
    for (std::size_t i = 0; i + 1 < out.size(); ++i) {
      if (out[i].first == key) return std::nullopt;
    }
  } while (take(","));
  if (s != "}") return std::nullopt;
  return out;
}

attribute_list list_of(const nlohmann::ordered_json& object) {
  attribute_list out;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_null()) out.emplace_back(key, value_of(nlohmann::json(value)));
  }
  return out;
}

error not_kept(std::string_view what, std::string_view json) {
  return {"the store holds " + std::string(what) + " that are no such JSON: " + std::string(json.substr(0, 80))};
}

}  // namespace

bool is_clean(std::string_view s) noexcept {
  std::size_t i = 0;
  for (; i + 8 <= s.size(); i += 8) {  // ASCII without NUL, eight bytes at a time
    std::uint64_t w = 0;
    std::memcpy(&w, s.data() + i, 8);
    const std::uint64_t zero = (w - 0x0101010101010101u) & ~w;
    if (((w | zero) & 0x8080808080808080u) != 0) break;
  }
  while (i < s.size()) {
    const std::size_t n = character(s, i);
    if (n == 0) return false;
    i += n;
  }
  return true;
}

std::string cleaned(std::string_view s) {
  std::string out;
  out.reserve(s.size() + 8);
  for (std::size_t i = 0; i < s.size();) {
    const std::size_t n = character(s, i);
    out.append(n != 0 ? s.substr(i, n) : replacement);
    i += n != 0 ? n : 1;
  }
  return out;
}

std::string_view cut_to(std::string_view s, std::size_t limit) noexcept {
  if (s.size() <= limit) return s;
  while (limit > 0 && (static_cast<unsigned char>(s[limit]) & 0xc0) == 0x80) --limit;
  return s.substr(0, limit);
}

void append_json(std::string& out, std::string_view s) {
  out += '"';
  for (std::size_t i = 0; i < s.size();) {
    std::size_t end = i;
    while (end < s.size() && plain[static_cast<unsigned char>(s[end])]) ++end;
    out.append(s, i, end - i);
    i = end;
    if (i == s.size()) break;
    const auto c = static_cast<unsigned char>(s[i]);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += s[i++];
    } else if (c < 0x20 || c == 0x7f) {
      constexpr std::string_view hex = "0123456789abcdef";
      out += "\\u00";
      out += hex[c >> 4];
      out += hex[c & 15];
      ++i;
    } else {
      const std::size_t n = character(s, i);
      out.append(n != 0 ? s.substr(i, n) : replacement);
      i += n != 0 ? n : 1;
    }
  }
  out += '"';
}

void append_json(std::string& out, std::int64_t v) {
  char digits[24];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, v);
  out.append(digits, end);
}

void append_json(std::string& out, double v) {
  if (!std::isfinite(v)) {
    out += std::isnan(v) ? "\"NaN\"" : v > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char digits[32];
  const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, v);
  out.append(digits, end);
  if (std::none_of(digits, end, [](char c) { return c == '.' || c == 'e'; })) out += ".0";
}

void append_json(std::string& out, const attribute_value& v) {
  if (const auto* s = std::get_if<std::string>(&v)) return append_json(out, std::string_view(*s));
  if (const auto* i = std::get_if<std::int64_t>(&v)) return append_json(out, *i);
  if (const auto* d = std::get_if<double>(&v)) return append_json(out, *d);
  if (const auto* u = std::get_if<std::uint64_t>(&v)) {
    out += std::to_string(*u);
    return;
  }
  out += std::get<bool>(v) ? "true" : "false";
}

std::string object_text(const attribute_list& attributes) {
  std::string out = "{";
  for (const auto& [key, value] : attributes) {
    if (out.size() > 1) out += ',';
    append_json(out, std::string_view(key));
    out += ':';
    append_json(out, value);
  }
  out += '}';
  return out;
}

result<attribute_list> parse_attributes(std::string_view json) {
  if (json.empty() || json == "{}") return attribute_list{};
  if (auto simple = simple_attributes(json)) return *std::move(simple);
  // ordered_json keeps the first of a key that comes twice.
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parsed.is_object()) return not_kept("attributes", json);
  return list_of(parsed);
}

result<std::vector<span_event>> parse_events(std::string_view json) {
  std::vector<span_event> out;
  if (json.empty()) return out;
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parsed.is_array()) return not_kept("events", json);
  for (const auto& e : parsed) {
    if (!e.is_object() || !e.contains("time_ns") || !e["time_ns"].is_number_integer() || !e.contains("name") ||
        !e["name"].is_string() || !e.contains("attributes") || !e["attributes"].is_object()) {
      return not_kept("events", json);
    }
    out.push_back({e["time_ns"].get<std::int64_t>(), e["name"].get<std::string>(), list_of(e["attributes"])});
  }
  return out;
}

result<std::vector<span_link>> parse_links(std::string_view json) {
  std::vector<span_link> out;
  if (json.empty()) return out;
  const auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
  if (!parsed.is_array()) return not_kept("links", json);
  for (const auto& l : parsed) {
    const auto text = [&](const char* key) {
      return l.is_object() && l.contains(key) && l[key].is_string() ? l[key].get<std::string>() : std::string{};
    };
    const auto trace = trace_id_of(text("trace_id"));
    const auto span = span_id_of(text("span_id"));
    if (!trace || !span || !l.contains("attributes") || !l["attributes"].is_object()) return not_kept("links", json);
    out.push_back({*trace, *span, text("kind"), list_of(l["attributes"])});
  }
  return out;
}

std::string to_hex(trace_id id) {
  std::string out;
  put_hex(out, id.high);
  put_hex(out, id.low);
  return out;
}
std::string to_hex(span_id id) {
  std::string out;
  put_hex(out, id.value);
  return out;
}

std::optional<trace_id> trace_id_of(std::string_view hex) noexcept {
  if (hex.size() != 32) return std::nullopt;
  const auto high = hex16(hex.substr(0, 16));
  const auto low = hex16(hex.substr(16));
  if (!high || !low || (*high | *low) == 0) return std::nullopt;
  return trace_id{*high, *low};
}
std::optional<span_id> span_id_of(std::string_view hex) noexcept {
  if (hex.size() != 16) return std::nullopt;
  const auto v = hex16(hex);
  if (!v || *v == 0) return std::nullopt;
  return span_id{*v};
}

}  // namespace telltale::hub
