// Diagnostics one line each, in the form that editors, make and CI look for: FILE:LINE:COLUMN: KIND: TEXT
#include <telltale/core/diagnostic.hpp>

#include "display.hpp"
#include "trace_text.hpp"

namespace telltale {

std::string render_gnu(const diagnostic& d) {
  std::string out;
  const auto line = [&](const label* l, std::string_view kind, std::string_view text) {
    if (l != nullptr) {
      const source_position at = l->where.file->position(l->where.begin);
      detail::append_shown(out, l->where.file->name(), " ");
      out += ':' + std::to_string(at.line) + ':' + std::to_string(at.column) + ": ";
    }
    out += kind;
    out += ": ";
    detail::append_shown(out, text, " ");
  };

  const label* where = d.main_label();
  line(where, to_string(d.severity()), d.message());
  if (where != nullptr && !where->text.empty()) {
    out += "; ";
    detail::append_shown(out, where->text, " ");
  }
  if (!d.code().empty()) {
    out += " [";
    detail::append_shown(out, d.code(), " ");
    out += ']';
  }
  out += '\n';
  const auto note = [&](const label* l, std::string_view text) {
    line(l, "note", text);
    out += '\n';
  };
  for (const label& l : d.labels()) {
    if (&l != where && !l.text.empty()) note(l.where.file != nullptr ? &l : where, l.text);
  }
  for (const std::string& n : d.notes()) note(where, n);
  for (const std::string& h : d.help()) note(where, "help: " + h);
  if (!d.trace().empty()) note(where, "during " + detail::trace_text(d.trace()));
  return out;
}

}  // namespace telltale
