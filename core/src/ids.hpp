// Identifiers as text: 32 and 16 lower-case hexadecimal digits.
#pragma once

#include <string>
#include <telltale/core/context.hpp>

#include "format.hpp"

namespace telltale::detail {

inline std::string hex(trace_id t) {
  buffer b;
  b.reserve(32);
  put_hex(b, t.high);
  put_hex(b, t.low);
  return std::string(b.view());
}
inline std::string hex(span_id s) {
  buffer b;
  b.reserve(16);
  put_hex(b, s.value);
  return std::string(b.view());
}

}  // namespace telltale::detail
