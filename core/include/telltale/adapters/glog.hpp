// glog's lines as records under the current span, module "glog", for as long as the object lives. glog's own output
// goes on beside it; FLAGS_stderrthreshold = google::NUM_SEVERITIES and FLAGS_logtostderr = false keep it quiet.
#pragma once

#include <glog/logging.h>

#include <string_view>
#include <telltale/core/foreign_log.hpp>

namespace telltale {

class glog_adapter final : public google::LogSink {
 public:
  explicit glog_adapter(std::string_view module = "glog") : source_(module) { google::AddLogSink(this); }
  ~glog_adapter() override { google::RemoveLogSink(this); }
  glog_adapter(const glog_adapter&) = delete;
  glog_adapter& operator=(const glog_adapter&) = delete;

  // Called on the logging thread.
  void send(google::LogSeverity severity, const char* file, const char*, int line, const google::LogMessageTime&,
            const char* message, std::size_t size) override {
    const level l = severity == google::GLOG_INFO      ? level::info
                    : severity == google::GLOG_WARNING ? level::warn
                                                       : level::error;
    source_.write(l, {message, size}, {.file = file, .line = static_cast<std::uint32_t>(line)});
  }
  using google::LogSink::send;

 private:
  log_source source_;
};

}  // namespace telltale
