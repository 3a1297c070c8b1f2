// Attributes as OTLP has them: a list of keys and values.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <telltale/core/attribute_value.hpp>
#include <telltale/core/otlp/fields.hpp>
#include <telltale/core/sink.hpp>
#include <type_traits>
#include <variant>

namespace telltale::otlp {

// Which of AnyValue's fields holds a value of ours.
constexpr field value_field(const attribute_view& a) noexcept {
  switch (a.type) {
    case attribute_type::boolean:
      return any_value::bool_value;
    case attribute_type::float64:
      return any_value::double_value;
    case attribute_type::string:
      return any_value::string_value;
    default:
      return any_value::int_value;
  }
}
constexpr bool beyond_int64(const attribute_view& a) noexcept {
  return a.type == attribute_type::uint64 && a.bits >> 63 != 0;
}

template <class W>
void put_value(W& w, const attribute_view& a) {
  const auto m = w.begin(key_value::value);
  switch (a.type) {
    case attribute_type::boolean:
      w.boolean(any_value::bool_value, a.bits != 0);
      break;
    case attribute_type::int64:
      w.integer(any_value::int_value, static_cast<std::int64_t>(a.bits));
      break;
    case attribute_type::uint64:
      if (!beyond_int64(a)) {
        w.integer(any_value::int_value, static_cast<std::int64_t>(a.bits));
      } else {  // OTLP has no unsigned numbers: rather all its digits than another number
        char digits[24];
        const auto [end, failed] = std::to_chars(digits, digits + sizeof digits, a.bits);
        w.string(any_value::string_value, {digits, static_cast<std::size_t>(end - digits)});
      }
      break;
    case attribute_type::float64:
      w.number(any_value::double_value, std::bit_cast<double>(a.bits));
      break;
    case attribute_type::string:
      w.string(any_value::string_value, a.text);
      break;
  }
  w.end(m);
}

// One message of a list of attributes.
template <class W>
void put_attribute(W& w, field list, std::string_view key, const attribute_view& a) {
  if constexpr (!W::is_json) {
    if (!beyond_int64(a) && w.attribute(list, key, value_field(a), a)) return;
  }
  const auto m = w.begin_item(list);
  w.string(key_value::key, key);
  put_value(w, a);
  w.end(m);
}

inline attribute_view text_view(std::string_view key, std::string_view text) noexcept {
  attribute_view v;
  v.key = key;
  v.type = attribute_type::string;
  v.text = text;
  return v;
}
inline attribute_view number_view(std::string_view key, std::int64_t n) noexcept {
  attribute_view v;
  v.key = key;
  v.type = attribute_type::int64;
  v.bits = static_cast<std::uint64_t>(n);
  return v;
}

inline attribute_view true_view(std::string_view key) noexcept {
  attribute_view v;
  v.key = key;
  v.type = attribute_type::boolean;
  v.bits = 1;
  return v;
}

// Points into `value`.
inline attribute_view view_of(const attribute_value& value) noexcept {
  attribute_view v;
  if (const auto* text = std::get_if<std::string>(&value)) return text_view({}, *text);
  if (const auto* flag = std::get_if<bool>(&value)) {
    v.type = attribute_type::boolean;
    v.bits = *flag ? 1 : 0;
  } else if (const auto* real = std::get_if<double>(&value)) {
    v.type = attribute_type::float64;
    v.bits = std::bit_cast<std::uint64_t>(*real);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value)) {
    v.type = attribute_type::uint64;
    v.bits = *natural;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    v.bits = static_cast<std::uint64_t>(*integer);
  }
  return v;
}

}  // namespace telltale::otlp
