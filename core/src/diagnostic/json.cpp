// A diagnostic as one line of JSON.
#include <algorithm>
#include <telltale/core/diagnostic.hpp>

#include "../format.hpp"
#include "../ids.hpp"
#include "display.hpp"
#include "range.hpp"
#include "trace_text.hpp"

namespace telltale {

namespace {

using detail::json_quoted;

void append_place(std::string& out, const source_file& file, std::size_t offset, const source_file::place& p) {
  const source_position at = detail::position_of(file, p);
  out += R"({"offset":)" + std::to_string(std::min(offset, file.text().size())) + R"(,"line":)" +
         std::to_string(at.line) + R"(,"column":)" + std::to_string(at.column) + '}';
}

void append_label(std::string& out, const label& l) {
  out += R"({"primary":)";
  out += l.primary ? "true" : "false";
  out += R"(,"text":)" + json_quoted(l.text);
  if (const source_file* file = l.where.file.get()) {
    const detail::place_range range = detail::range_of(l.where);
    out += R"(,"file":)" + json_quoted(file->name()) + R"(,"begin":)";
    append_place(out, *file, l.where.begin, range.begin);
    out += R"(,"end":)";
    append_place(out, *file, std::max(l.where.begin, l.where.end), range.end);
  }
  out += '}';
}

template <class List, class Append>
void append_array(std::string& out, const List& list, Append append) {
  out += '[';
  const char* comma = "";
  for (const auto& element : list) {
    out += comma;
    append(element);
    comma = ",";
  }
  out += ']';
}

}  // namespace

std::string render_json(const diagnostic& d) {
  std::string out = R"({"severity":")" + std::string(to_string(d.severity())) + R"(","code":)" + json_quoted(d.code()) +
                    R"(,"topic":")" + std::string(to_string(d.topic())) + R"(","message":)" + json_quoted(d.message());
  const auto text = [&](const std::string& s) { out += json_quoted(s); };
  out += R"(,"labels":)";
  append_array(out, d.labels(), [&](const label& l) { append_label(out, l); });
  out += R"(,"notes":)";
  append_array(out, d.notes(), text);
  out += R"(,"help":)";
  append_array(out, d.help(), text);
  out += R"(,"trace":)";
  append_array(out, d.trace(), [&](const trace_frame& f) {
    out += R"({"name":)" + json_quoted(f.name);
    if (!f.detail.empty()) out += R"(,"detail":)" + json_quoted(f.detail);
    out += '}';
  });
  if (d.origin().trace) out += R"(,"trace_id":")" + detail::hex(d.origin().trace) + '"';
  if (d.origin().span) out += R"(,"span_id":")" + detail::hex(d.origin().span) + '"';
  out += "}\n";
  return out;
}

}  // namespace telltale
