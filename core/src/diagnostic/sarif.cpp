// Diagnostics as one SARIF 2.1.0 document (OASIS, 27 March 2020), for code scanning and editors.
//
// A result's message holds notes and help as well, because viewers show little else; secondary labels are related
// locations. The trace stands in the result's properties. Columns count code points, and the document says so.
#include <map>
#include <telltale/core/diagnostic.hpp>

#include "../ids.hpp"
#include "display.hpp"
#include "range.hpp"
#include "trace_text.hpp"

namespace telltale {

namespace {

using detail::json_quoted;

// A file name as a URI reference (RFC 3986): absolute paths as file:///, others relative, what isn't unreserved or a
// slash percent-encoded. A first segment with a colon would read as a scheme.
std::string uri_of(std::string_view name) {
  constexpr std::string_view plain = "-._~/";
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out = name.starts_with('/') ? "file://" : "";
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto b = static_cast<unsigned char>(c);
      out += {'%', digits[b >> 4], digits[b & 15]};
    }
  }
  return out;
}

class document {
 public:
  std::string write(std::span<const diagnostic> diagnostics, const sarif_tool& tool) {
    std::string results;
    for (const diagnostic& d : diagnostics) {
      if (!results.empty()) results += ",\n";
      result(results, d);
    }
    std::string out = R"({"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{)"
                      "\n\"tool\":{\"driver\":{\"name\":" +
                      json_quoted(tool.name);
    if (!tool.version.empty()) out += R"(,"version":)" + json_quoted(tool.version);
    out += R"(,"rules":[)";
    list(out, rules_, [](std::string_view id) { return R"({"id":)" + json_quoted(id) + '}'; });
    out += "]}},\n\"columnKind\":\"unicodeCodePoints\",\n\"artifacts\":[";
    list(out, artifacts_,
         [](std::string_view name) { return R"({"location":{"uri":)" + json_quoted(uri_of(name)) + "}}"; });
    return out + "],\n\"results\":[" + results + "]}]}\n";
  }

 private:
  // Names in the order in which they were met first, and their numbers.
  class numbered {
   public:
    std::size_t operator[](std::string_view name) {
      const auto [at, fresh] = numbers_.emplace(name, names_.size());
      if (fresh) names_.emplace_back(name);
      return at->second;
    }
    const std::vector<std::string>& names() const noexcept { return names_; }

   private:
    std::map<std::string, std::size_t, std::less<>> numbers_;
    std::vector<std::string> names_;
  };

  template <class F>
  static void list(std::string& out, const numbered& of, F each) {
    const char* comma = "";
    for (const std::string& name : of.names()) {
      out += comma + each(name);
      comma = ",";
    }
  }

  void result(std::string& out, const diagnostic& d) {
    const std::string code = d.code().empty() ? std::string("unnamed") : d.code();
    out += R"({"ruleId":)" + json_quoted(code) + R"(,"ruleIndex":)" + std::to_string(rules_[code]) + R"(,"level":")" +
           std::string(d.severity() == severity::remark ? "note" : to_string(d.severity())) + R"(","message":{"text":)";
    std::string text = d.message();
    for (const std::string& n : d.notes()) text += "\nnote: " + n;
    for (const std::string& h : d.help()) text += "\nhelp: " + h;
    out += json_quoted(text) + '}';

    const label* where = d.main_label();
    if (where != nullptr) {
      out += R"(,"locations":[)";
      location(out, *where, 0);
      out += ']';
    }
    const char* comma = R"(,"relatedLocations":[)";
    std::size_t id = 0;
    for (const label& l : d.labels()) {
      if (&l == where || l.where.file == nullptr) continue;
      out += comma;
      location(out, l, ++id);
      comma = ",";
    }
    if (id != 0) out += ']';

    out += R"(,"properties":{"topic":")" + std::string(to_string(d.topic())) + '"';
    if (!d.trace().empty()) out += R"(,"trace":)" + json_quoted(detail::trace_text(d.trace()));
    if (d.origin().trace) out += R"(,"traceId":")" + detail::hex(d.origin().trace) + '"';
    if (d.origin().span) out += R"(,"spanId":")" + detail::hex(d.origin().span) + '"';
    out += "}}";
  }

  void location(std::string& out, const label& l, std::size_t id) {
    const source_file& file = *l.where.file;
    const detail::place_range range = detail::range_of(l.where);
    const source_position begin = detail::position_of(file, range.begin);
    const source_position end = detail::position_of(file, range.end);
    out += '{';
    if (id != 0) out += R"("id":)" + std::to_string(id) + ',';
    out += R"("physicalLocation":{"artifactLocation":{"uri":)" + json_quoted(uri_of(file.name())) + R"(,"index":)" +
           std::to_string(artifacts_[file.name()]) + R"(},"region":{"startLine":)" + std::to_string(begin.line) +
           R"(,"startColumn":)" + std::to_string(begin.column) + R"(,"endLine":)" + std::to_string(end.line) +
           R"(,"endColumn":)" + std::to_string(end.column) + "}}";
    if (!l.text.empty()) out += R"(,"message":{"text":)" + json_quoted(l.text) + '}';
    out += '}';
  }

  numbered rules_;
  numbered artifacts_;
};

}  // namespace

std::string render_sarif(std::span<const diagnostic> diagnostics, const sarif_tool& tool) {
  return document{}.write(diagnostics, tool);
}

}  // namespace telltale
