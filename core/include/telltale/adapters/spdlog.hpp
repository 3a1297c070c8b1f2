// spdlog's lines as records under the current span; module "spdlog", the logger's name in `log.logger`.
//
//   spdlog::default_logger()->sinks() = {std::make_shared<telltale::spdlog_sink>()};
//
// Synchronous loggers only: an asynchronous one hands its lines over on a thread of its own, where the span is unknown.
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <string>
#include <telltale/core/foreign_log.hpp>

namespace telltale {

// Needs no lock: a record goes to the calling thread's own ring.
class spdlog_sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit spdlog_sink(std::string_view module = "spdlog") : source_(module) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& m) override {
    const std::string_view file = m.source.filename != nullptr ? m.source.filename : std::string_view{};
    source_.write(level_of(m.level), {m.payload.data(), m.payload.size()},
                  {.file = file,
                   .line = static_cast<std::uint32_t>(m.source.line),
                   .logger = {m.logger_name.data(), m.logger_name.size()}});
  }
  void flush_() override {}

 private:
  static telltale::level level_of(spdlog::level::level_enum l) noexcept {
    switch (l) {
      case spdlog::level::trace:
        return telltale::level::trace;
      case spdlog::level::debug:
        return telltale::level::debug;
      case spdlog::level::warn:
        return telltale::level::warn;
      case spdlog::level::err:
      case spdlog::level::critical:
        return telltale::level::error;
      default:
        return telltale::level::info;
    }
  }
  log_source source_;
};

}  // namespace telltale
