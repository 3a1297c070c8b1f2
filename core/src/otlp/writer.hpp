// Two writers of OTLP messages with the same functions: protobuf, straight into a buffer that is used again and again,
// and JSON as OTLP has it (ids in hexadecimal, 64-bit integers as strings, enumerations as numbers). What is written,
// and in which order, is decided once, in encode.cpp.
//
// A nested message's length stands before it: the writer leaves as many bytes as the message probably needs, and moves
// it when it turns out longer.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/sink.hpp>

#include "../format.hpp"

namespace telltale::otlp {

using detail::buffer;

class proto_writer {
 public:
  static constexpr bool is_json = false;

  explicit proto_writer(buffer& out) noexcept : out_(out) {}

  void fixed64(field f, std::uint64_t v) {
    out_.reserve(16);
    tag(f, wire_fixed64);
    raw(v);
  }
  void fixed32(field f, std::uint32_t v) {
    out_.reserve(16);
    tag(f, wire_fixed32);
    raw(v);
  }
  void number(field f, double v) { fixed64(f, std::bit_cast<std::uint64_t>(v)); }
  void enumeration(field f, std::uint32_t v) { varint_field(f, v); }
  void count(field f, std::uint32_t v) { varint_field(f, v); }
  void boolean(field f, bool v) { varint_field(f, v ? 1 : 0); }
  void integer(field f, std::int64_t v) { varint_field(f, static_cast<std::uint64_t>(v)); }
  void fixed_integer(field f, std::int64_t v) { fixed64(f, static_cast<std::uint64_t>(v)); }
  void zigzag(field f, std::int32_t v) {
    varint_field(f, (static_cast<std::uint32_t>(v) << 1) ^ static_cast<std::uint32_t>(v >> 31));
  }
  void id(field f, trace_id v) {
    out_.reserve(32);
    tag(f, wire_length);
    out_.put(16);
    raw(__builtin_bswap64(v.high));
    raw(__builtin_bswap64(v.low));
  }
  void id(field f, span_id v) {
    out_.reserve(16);
    tag(f, wire_length);
    out_.put(8);
    raw(__builtin_bswap64(v.value));
  }
  // A receiver refuses a whole request because of one string that is no UTF-8: such bytes become U+FFFD.
  void string(field f, std::string_view s) {
    out_.reserve(s.size() + 16);
    char* p = put_varint(out_.here(), f.number << 3 | wire_length);
    p = put_varint(p, s.size());
    if (copy_ascii(p, s)) [[likely]]
      return out_.moved_to(p + s.size());
    s = detail::valid_utf8(s, scratch_);
    out_.reserve(s.size() + 16);
    tag(f, wire_length);
    varint(s.size());
    out_.put(s);
  }

  // A whole attribute: a KeyValue of a list, with an AnyValue of one field. False, and nothing written, where a string
  // isn't ASCII. Nearly all of a span's bytes are written here; with every length known beforehand nothing has to be
  // moved, and there is one look at the room that is left.
  bool attribute(field list, std::string_view key, field of_value, const attribute_view& a) {
    const bool is_text = a.type == attribute_type::string;
    const bool is_real = a.type == attribute_type::float64;
    const std::size_t payload = is_text   ? varint_size(a.text.size()) + a.text.size()
                                : is_real ? 8
                                          : varint_size(a.bits);
    const std::size_t value = 1 + payload;
    const std::size_t whole = 1 + varint_size(key.size()) + key.size() + 1 + varint_size(value) + value;
    out_.reserve(whole + 16);
    char* p = put_varint(out_.here(), list.number << 3 | wire_length);
    p = put_varint(p, whole);
    *p++ = static_cast<char>(key_value::key.number << 3 | wire_length);
    p = put_varint(p, key.size());
    if (!copy_ascii(p, key)) return false;
    p += key.size();
    *p++ = static_cast<char>(key_value::value.number << 3 | wire_length);
    p = put_varint(p, value);
    *p++ = static_cast<char>(of_value.number << 3 | (is_text ? wire_length : is_real ? wire_fixed64 : wire_varint));
    if (is_text) {
      p = put_varint(p, a.text.size());
      if (!copy_ascii(p, a.text)) return false;
      p += a.text.size();
    } else if (is_real) {
      std::memcpy(p, &a.bits, 8);
      p += 8;
    } else {
      p = put_varint(p, a.bits);
    }
    out_.moved_to(p);
    return true;
  }
  // Packed lists of numbers.
  void fixed64_list(field f, std::span<const std::uint64_t> list) { packed(f, list); }
  void number_list(field f, std::span<const double> list) { packed(f, list); }
  void varint_list(field f, std::span<const std::uint64_t> list) {
    if (list.empty()) return;
    const mark m = begin(f, 2);
    for (const std::uint64_t v : list) {
      out_.reserve(10);
      varint(v);
    }
    end(m);
  }

  struct mark {
    std::size_t begin;  // of the message, behind its length
    std::uint32_t room;
  };
  // `room`: bytes for the length, 1 (messages to 127 bytes) or 2 (to 16,383) as a guess.
  mark begin(field f, std::uint32_t room = 1) {
    out_.reserve(16);
    tag(f, wire_length);
    out_.moved_to(out_.here() + room);
    return {out_.size(), room};
  }
  void end(mark m) {
    const std::size_t size = out_.size() - m.begin;
    if (size >> (7 * m.room) != 0) [[unlikely]]
      m = widen(m, size);
    char* p = out_.here() - size - m.room;
    std::size_t v = size;
    for (std::uint32_t i = 0; i + 1 < m.room; ++i, v >>= 7) *p++ = static_cast<char>(v | 0x80);
    *p = static_cast<char>(v);
  }
  // The whole of a repeated field, and one message of it.
  static void begin_list(field) noexcept {}
  static void end_list() noexcept {}
  mark begin_item(field f, std::uint32_t room = 1) { return begin(f, room); }
  // Messages of the list that were written elsewhere, with their tags.
  void items(std::string_view written) { out_.append(written); }

 private:
  static constexpr std::uint32_t wire_varint = 0;
  static constexpr std::uint32_t wire_fixed64 = 1;
  static constexpr std::uint32_t wire_length = 2;
  static constexpr std::uint32_t wire_fixed32 = 5;

  static char* put_varint(char* p, std::uint64_t v) noexcept {  // needs 10 bytes
    for (; v >= 0x80; v >>= 7) *p++ = static_cast<char>(v | 0x80);
    *p++ = static_cast<char>(v);
    return p;
  }
  static constexpr std::size_t varint_size(std::uint64_t v) noexcept {
    return (static_cast<std::size_t>(std::bit_width(v | 1)) * 9 + 64) / 64;
  }
  // Copies `s`, and says whether all of it was ASCII.
  static bool copy_ascii(char* to, std::string_view s) noexcept {
    const char* from = s.data();
    std::size_t left = s.size();
    std::uint64_t seen = 0;
    std::uint64_t word = 0;
    for (; left >= 8; left -= 8, from += 8, to += 8) {
      std::memcpy(&word, from, 8);
      std::memcpy(to, &word, 8);
      seen |= word;
    }
    if (left != 0 && s.size() >= 8) {  // the last eight, some of them once more
      std::memcpy(&word, from + left - 8, 8);
      std::memcpy(to + left - 8, &word, 8);
      seen |= word;
    } else {
      for (; left != 0; --left) {
        seen |= static_cast<unsigned char>(*from);
        *to++ = *from++;
      }
    }
    return (seen & 0x8080808080808080u) == 0;
  }
  void varint(std::uint64_t v) noexcept { out_.moved_to(put_varint(out_.here(), v)); }
  void tag(field f, std::uint32_t wire) noexcept { varint(f.number << 3 | wire); }
  void varint_field(field f, std::uint64_t v) {
    out_.reserve(24);
    tag(f, wire_varint);
    varint(v);
  }
  template <class T>
  void packed(field f, std::span<const T> list) {
    if (list.empty()) return;
    out_.reserve(list.size_bytes() + 16);
    tag(f, wire_length);
    varint(list.size_bytes());
    for (const T v : list) raw(v);
  }
  template <class T>
  void raw(T v) noexcept {  // OTLP's machines are little-endian, as ours
    static_assert(std::endian::native == std::endian::little);
    std::memcpy(out_.here(), &v, sizeof v);
    out_.moved_to(out_.here() + sizeof v);
  }
  [[gnu::cold, gnu::noinline]] mark widen(mark m, std::size_t size) {
    std::uint32_t room = m.room;
    while (size >> (7 * room) != 0) ++room;
    const std::uint32_t more = room - m.room;
    out_.reserve(more);
    char* message = out_.here() - size;
    std::memmove(message + more, message, size);
    out_.moved_to(out_.here() + more);
    return {m.begin + more, room};
  }

  buffer& out_;
  std::string scratch_;
};

class json_writer {
 public:
  static constexpr bool is_json = true;

  explicit json_writer(buffer& out) noexcept : out_(out) {}

  void fixed64(field f, std::uint64_t v) { quoted_number(f, v); }
  void fixed32(field f, std::uint32_t v) { plain_number(f, v); }
  void number(field f, double v) {
    key(f);
    put_number(v);
  }
  void enumeration(field f, std::uint32_t v) { plain_number(f, v); }
  void count(field f, std::uint32_t v) { plain_number(f, v); }
  void boolean(field f, bool v) {
    key(f);
    out_.append(v ? "true" : "false");
  }
  void integer(field f, std::int64_t v) { quoted_number(f, v); }
  void fixed_integer(field f, std::int64_t v) { quoted_number(f, v); }
  void zigzag(field f, std::int32_t v) { plain_number(f, v); }
  void id(field f, trace_id v) {
    key(f);
    out_.reserve(40);
    out_.put('"');
    detail::put_hex(out_, v.high);
    detail::put_hex(out_, v.low);
    out_.put('"');
  }
  void id(field f, span_id v) {
    key(f);
    out_.reserve(24);
    out_.put('"');
    detail::put_hex(out_, v.value);
    out_.put('"');
  }
  void string(field f, std::string_view s) {
    key(f);
    detail::append_json_string(out_, s);
  }
  void fixed64_list(field f, std::span<const std::uint64_t> list) {
    begin_list(f);
    for (const std::uint64_t v : list) {
      comma();
      out_.reserve(32);
      out_.put('"');
      out_.number(v);
      out_.put('"');
    }
    end_list();
  }
  void varint_list(field f, std::span<const std::uint64_t> list) { fixed64_list(f, list); }
  void number_list(field f, std::span<const double> list) {
    begin_list(f);
    for (const double v : list) {
      comma();
      put_number(v);
    }
    end_list();
  }

  struct mark {};
  mark begin(field f, std::uint32_t = 1) {
    key(f);
    out_.append("{");
    return {};
  }
  void end(mark) { out_.append("}"); }
  void begin_list(field f) {
    key(f);
    out_.append("[");
  }
  void end_list() { out_.append("]"); }
  mark begin_item(field, std::uint32_t = 1) {
    comma();
    out_.append("{");
    return {};
  }
  void items(std::string_view written) {
    if (written.empty()) return;
    comma();
    out_.append(written);
  }

 private:
  // Whether something stands before, inside the same braces, is what the last character says.
  void comma() {
    const std::string_view so_far = out_.view();
    if (!so_far.empty() && so_far.back() != '{' && so_far.back() != '[') out_.append(",");
  }
  void key(field f) {
    comma();
    out_.append("\"");
    out_.append(f.json);
    out_.append("\":");
  }
  template <class N>
  void quoted_number(field f, N v) {
    key(f);
    out_.reserve(32);
    out_.put('"');
    out_.number(v);
    out_.put('"');
  }
  void put_number(double v) {
    attribute_view a;
    a.type = attribute_type::float64;
    a.bits = std::bit_cast<std::uint64_t>(v);
    detail::append_json_value(out_, a);
  }
  template <class N>
  void plain_number(field f, N v) {
    key(f);
    out_.reserve(24);
    out_.number(v);
  }

  buffer& out_;
};

}  // namespace telltale::otlp
