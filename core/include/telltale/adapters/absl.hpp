// Abseil's lines (absl/log, from LTS 20230125 on) as records under the current span, module "absl", for as long as the
// object lives. Abseil's own output to stderr goes on beside it; absl::SetStderrThreshold(absl::LogSeverityAtLeast::
// kInfinity) keeps it quiet.
#pragma once

#include <absl/log/log_entry.h>
#include <absl/log/log_sink.h>
#include <absl/log/log_sink_registry.h>

#include <string_view>
#include <telltale/core/foreign_log.hpp>

namespace telltale {

class absl_adapter final : public absl::LogSink {
 public:
  explicit absl_adapter(std::string_view module = "absl") : source_(module) { absl::AddLogSink(this); }
  ~absl_adapter() override { absl::RemoveLogSink(this); }
  absl_adapter(const absl_adapter&) = delete;
  absl_adapter& operator=(const absl_adapter&) = delete;

  // Called on the logging thread.
  void Send(const absl::LogEntry& e) override {
    const level l = e.log_severity() == absl::LogSeverity::kInfo      ? level::info
                    : e.log_severity() == absl::LogSeverity::kWarning ? level::warn
                                                                      : level::error;
    const auto text = e.text_message();
    const auto file = e.source_filename();
    source_.write(l, {text.data(), text.size()},
                  {.file = {file.data(), file.size()}, .line = static_cast<std::uint32_t>(e.source_line())});
  }

 private:
  log_source source_;
};

}  // namespace telltale
