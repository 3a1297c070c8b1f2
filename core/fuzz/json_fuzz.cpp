// libFuzzer: JSON strings and values of any bytes. A reader of JSON gets back what was written.
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "format.hpp"
#include "input.hpp"

namespace {

using nlohmann::json;
using telltale::attribute_type;
using telltale::attribute_view;
using telltale::detail::buffer;

json read(const buffer& w) {
  fuzz::require(w.size() <= w.capacity());
  json j = json::parse(w.view(), nullptr, false);
  fuzz::require(!j.is_discarded());
  for (const char c : w.view()) fuzz::require(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
  return j;
}

void check_string(const json& j, std::string_view s) {
  fuzz::require(j.is_string());
  const auto& got = j.get_ref<const std::string&>();
  if (fuzz::is_utf8(s)) {
    fuzz::require(got == s);
  } else {
    fuzz::require(got.find("\xef\xbf\xbd") != std::string::npos);
  }
}

void check_double(const json& j, double v) {
  if (std::isfinite(v)) {
    fuzz::require(j.is_number() && j.get<double>() == v);
  } else {
    fuzz::require(j == (std::isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity"));
  }
}

void check_value(const attribute_view& a) {
  buffer w;
  telltale::detail::append_json_value(w, a);
  const json j = read(w);
  switch (a.type) {
    case attribute_type::boolean:
      fuzz::require(j.is_boolean() && j.get<bool>() == (a.bits != 0));
      break;
    case attribute_type::int64:
      fuzz::require(j.is_number_integer() && j.get<std::int64_t>() == static_cast<std::int64_t>(a.bits));
      break;
    case attribute_type::uint64:
      fuzz::require(j.is_number_unsigned() && j.get<std::uint64_t>() == a.bits);
      break;
    case attribute_type::float64:
      check_double(j, std::bit_cast<double>(a.bits));
      break;
    case attribute_type::string:
      check_string(j, a.text);
      break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  attribute_view a;
  a.type = static_cast<attribute_type>(in.byte() % 5);
  a.bits = in.word();
  a.text = in.rest();
  check_value(a);

  // A string of the whole input, behind what the buffer holds already.
  const std::string_view whole = fuzz::input(data, size).rest();
  buffer w;
  w.append("[");
  telltale::detail::append_json_string(w, whole);
  w.append("]");
  const json j = read(w);
  fuzz::require(j.is_array() && j.size() == 1);
  check_string(j[0], whole);
  return 0;
}
