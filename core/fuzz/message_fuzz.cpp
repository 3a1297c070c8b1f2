// libFuzzer: message templates, such as the C ABI takes from anybody.
#include <bit>
#include <string>
#include <vector>

#include "format.hpp"
#include "input.hpp"

namespace {

using telltale::attribute_type;
using telltale::attribute_view;

std::string message(const std::string& pattern, const std::vector<attribute_view>& attributes) {
  telltale::site_info site;
  site.name = pattern;
  const telltale::thread_info thread;
  std::string out = "> ";
  telltale::append_message(out, {site, nullptr, thread, {}, {}, {}, 0, attributes});
  fuzz::require(out.starts_with("> "));
  return out.substr(2);
}

// A template for exactly this text.
std::string escaped(std::string_view s) {
  std::string out;
  for (const char c : s) {
    out += c;
    if (c == '{' || c == '}') out += c;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::input in(data, size);
  const std::uint64_t bits = in.word();
  const std::string_view value = in.text(in.byte() % 16u);
  const std::string pattern(in.rest());

  std::vector<attribute_view> attributes;
  for (const attribute_type type :
       {attribute_type::boolean, attribute_type::int64, attribute_type::uint64, attribute_type::float64}) {
    constexpr std::string_view keys[] = {"b", "i", "u", "f"};
    attributes.push_back({keys[static_cast<std::size_t>(type)], type, false, bits, {}, 0});
  }
  attributes.push_back({"s", attribute_type::string, false, 0, value, 0});

  message(pattern, attributes);
  // Without attributes nothing is filled in: at most, doubled braces become one.
  fuzz::require(message(pattern, {}).size() <= pattern.size());
  if (pattern.find_first_of("{}") == std::string::npos) fuzz::require(message(pattern, attributes) == pattern);

  // Doubled braces stand for themselves, and a field between them is filled in.
  fuzz::require(message(escaped(pattern), attributes) == pattern);
  for (const attribute_view& a : attributes) {
    std::string text;
    telltale::append_value(text, a);
    const std::string field = escaped(pattern) + "{" + std::string(a.key) + "}" + escaped(pattern);
    fuzz::require(message(field, attributes) == pattern + text + pattern);
  }
  return 0;
}
