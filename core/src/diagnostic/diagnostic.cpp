// A diagnostic as a value, and as a log record.
#include <telltale/core/diagnostic.hpp>

#include "../foreign_log.hpp"

namespace telltale {

diagnostic::diagnostic(telltale::severity severity, std::string code, std::string message, telltale::topic topic)
    : severity_(severity),
      topic_(topic),
      code_(std::move(code)),
      message_(std::move(message)),
      origin_(current_context()),
      trace_(open_spans_of(origin_)) {}

const label* diagnostic::main_label() const noexcept {
  const label* any = nullptr;
  for (const label& l : labels_) {
    if (l.where.file == nullptr) continue;
    if (l.primary) return &l;
    if (any == nullptr) any = &l;
  }
  return any;
}

void detail::report(const diagnostic& d, std::string_view module) noexcept {
  const level l = d.severity() == severity::error     ? level::error
                  : d.severity() == severity::warning ? level::warn
                                                      : level::info;
  const with_context guard(d.origin());
  record_diagnostic(module, l, d);
}

}  // namespace telltale
