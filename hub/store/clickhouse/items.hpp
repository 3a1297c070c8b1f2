// The members of a JSON object that we wrote, as text: {"a":1,"b":{"c":[2]}} is "a":1 and "b":{"c":[2]}. ClickHouse
// keeps attributes so, and joins them again with commas.
#pragma once

#include <string_view>
#include <vector>

namespace telltale::hub {

// Views into `object`. An empty list where it is "{}" or no object.
inline std::vector<std::string_view> items_of(std::string_view object) {
  std::vector<std::string_view> out;
  if (object.size() <= 2 || object.front() != '{' || object.back() != '}') return out;
  object = object.substr(1, object.size() - 2);
  std::size_t begin = 0;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.push_back(object.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  out.push_back(object.substr(begin));
  return out;
}

}  // namespace telltale::hub
