#include "trace_text.hpp"

#include "../format.hpp"

namespace telltale::detail {

std::string trace_text(const std::vector<trace_frame>& trace) {
  std::string out;
  for (const trace_frame& f : trace) {
    if (!out.empty()) out += " > ";
    append_safe_text(out, f.name);
    if (f.detail.empty()) continue;
    out += ' ';
    append_quoted(out, f.detail);
  }
  return out;
}

}  // namespace telltale::detail
