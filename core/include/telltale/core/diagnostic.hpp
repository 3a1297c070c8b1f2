// Diagnostics: what a program says to a person about their input, and about what happened to it. Errors, warnings,
// run-time errors, performance and memory reports are all this one type. Each says what happened (the message), where
// (labels in the source, and the trace it arose in) and what to do about it (help):
//
//   auto d = telltale::diagnostic(telltale::severity::error, "SHP-0203", "inner dimensions do not agree")
//                .primary({file, 311, 312}, "this has 96 rows")
//                .secondary({file, 308, 309}, "this has 128 columns")
//                .note("matmul multiplies [M, K] by [K, N]")
//                .help("transpose `b`, or check where its first dimension comes from");
//   TELLTALE_REPORT(d);                                    // a log record of its level
//   std::cerr << telltale::render_human(d, telltale::human_options::for_descriptor(2));
//
//   error[SHP-0203]: inner dimensions do not agree
//     --> model.shape:12:23
//      |
//   12 |   let y = matmul(a, b)
//      |                  -  ^ this has 96 rows
//      |                  |
//      |                  this has 128 columns
//      |
//      = note: matmul multiplies [M, K] by [K, N]
//      = help: transpose `b`, or check where its first dimension comes from
//      = during: compile > typecheck "matmul" > elaborate_call
//
// Values: copied and moved freely, used by one thread at a time. Making one walks the open spans (microseconds) and
// allocates, so it belongs to a failure, not to a hot path. The renderers never fail: whatever bytes the source and the
// texts hold, what they return is valid UTF-8 and has no control character but the line feed (and, in colour, the
// escapes that set it).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/site.hpp>
#include <telltale/core/source.hpp>
#include <utility>
#include <vector>

namespace telltale {

// A remark blames nothing: a report about time or memory, or what an optimiser did.
enum class severity : std::uint8_t { error = 0, warning = 1, remark = 2 };
constexpr std::string_view to_string(severity s) noexcept {
  return s == severity::error ? "error" : s == severity::warning ? "warning" : "remark";
}

// What it is about.
enum class topic : std::uint8_t { input = 0, runtime = 1, performance = 2, memory = 3 };
constexpr std::string_view to_string(topic t) noexcept {
  constexpr std::string_view names[] = {"input", "runtime", "performance", "memory"};
  return names[static_cast<std::size_t>(t) & 3];
}

// A step of the trace context: a span that was open, with its first text attribute where it has one
// (`typecheck "matmul"`).
struct trace_frame {
  std::string name;
  std::string detail;
  friend bool operator==(const trace_frame&, const trace_frame&) = default;
};

// The open spans that `c` stands in, outermost first. A span that the trace filter has switched off isn't there, and
// what another process opened has no name here.
TELLTALE_EXPORT std::vector<trace_frame> open_spans_of(const context& c);

// A place in the source and what is to be said about it.
struct label {
  source_span where;
  std::string text;      // may be empty: underlined, nothing said
  bool primary = false;  // where the fault lies; secondary labels say how it came about
};

class diagnostic {
 public:
  // `code` is short and stable, for looking it up and for silencing it: "SHP-0203". Remembers the current context.
  TELLTALE_EXPORT diagnostic(telltale::severity severity, std::string code, std::string message,
                             telltale::topic topic = telltale::topic::input);

  // The first primary label is where the diagnostic stands.
  diagnostic& primary(source_span where, std::string text = {}) & {
    labels_.push_back({std::move(where), std::move(text), true});
    return *this;
  }
  diagnostic& secondary(source_span where, std::string text = {}) & {
    labels_.push_back({std::move(where), std::move(text), false});
    return *this;
  }
  diagnostic& note(std::string text) & {
    notes_.push_back(std::move(text));
    return *this;
  }
  diagnostic& help(std::string text) & {
    help_.push_back(std::move(text));
    return *this;
  }
  // The same for a temporary, so that a diagnostic can be built in one expression.
  diagnostic&& primary(source_span where, std::string text = {}) && {
    return std::move(primary(std::move(where), std::move(text)));
  }
  diagnostic&& secondary(source_span where, std::string text = {}) && {
    return std::move(secondary(std::move(where), std::move(text)));
  }
  diagnostic&& note(std::string text) && { return std::move(note(std::move(text))); }
  diagnostic&& help(std::string text) && { return std::move(help(std::move(text))); }

  telltale::severity severity() const noexcept { return severity_; }
  telltale::topic topic() const noexcept { return topic_; }
  const std::string& code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::vector<label>& labels() const noexcept { return labels_; }
  const std::vector<std::string>& notes() const noexcept { return notes_; }
  const std::vector<std::string>& help() const noexcept { return help_; }
  // Where in the trace it arose.
  const context& origin() const noexcept { return origin_; }
  const std::vector<trace_frame>& trace() const noexcept { return trace_; }
  // The label that says where it stands: the first primary one, else the first that has a file; null without any.
  TELLTALE_EXPORT const label* main_label() const noexcept;

 private:
  telltale::severity severity_;
  telltale::topic topic_;
  std::string code_;
  std::string message_;
  std::vector<label> labels_;
  std::vector<std::string> notes_;
  std::vector<std::string> help_;
  context origin_;
  std::vector<trace_frame> trace_;
};

// --- renderers ----------------------------------------------------------------------------------------------------

struct human_options {
  bool colour = false;
  std::size_t width =
      100;              // of the terminal, in columns (at least 40); longer source lines are cut around their labels
  std::size_t tab = 4;  // tab stops in source lines, 1 to 16

  // Colour where `fd` is a terminal, NO_COLOR is unset or empty and TERM isn't "dumb"; the width of that terminal.
  TELLTALE_EXPORT static human_options for_descriptor(int fd);
};

// With the source, as above; ends with a line feed.
TELLTALE_EXPORT std::string render_human(const diagnostic& d, const human_options& o = {});

// A line each for the message, the secondary labels, notes and help, in the form that editors and make look for:
// `model.shape:12:23: error: inner dimensions do not agree [SHP-0203]`.
TELLTALE_EXPORT std::string render_gnu(const diagnostic& d);

// One line of JSON; docs/formats.md has its fields.
TELLTALE_EXPORT std::string render_json(const diagnostic& d);

// SARIF 2.1.0: one document for all of a run's diagnostics.
struct sarif_tool {
  std::string name;
  std::string version;
};
TELLTALE_EXPORT std::string render_sarif(std::span<const diagnostic> diagnostics, const sarif_tool& tool);

namespace detail {
TELLTALE_EXPORT void report(const diagnostic& d, std::string_view module) noexcept;
}

}  // namespace telltale

// Records a diagnostic as a log record under the span it arose in, with the module of this file: level error, warn or
// info by its severity, its code and place as attributes. The source itself is never recorded. Filters of log lines
// hold for it; rendering it is up to you.
#define TELLTALE_REPORT(diagnostic_) \
  ::telltale::detail::report(diagnostic_, telltale_module(::telltale::detail::module_of_file{}))
