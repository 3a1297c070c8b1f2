// Lines of other libraries: what they log becomes a record under the span it was written in, with their own name as
// module, so that filters, scopes and sinks treat it like ours. The adapters for spdlog, glog, gRPC, Abseil and
// captured descriptors (telltale::adapters) go through here; so does whatever you have a callback for:
//
//   static const telltale::log_source driver{"cuda"};
//   if (driver.enabled(telltale::level::warn)) driver.write(telltale::level::warn, message, {.file = file, .line = n});
//
// The text is passed on as it is: a library decides what it logs, and whoever attaches it decides that it is recorded.
#pragma once

#include <cstdint>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/level.hpp>

namespace telltale {

// What a library says about a line beside its text. Empty or zero is left out.
struct foreign_line {
  std::string_view file = {};
  std::uint32_t line = 0;
  std::string_view logger = {};  // a name within the library: an spdlog logger, a gRPC subsystem
  std::string_view stream = {};  // "stderr", "stdout" where the text came from a captured descriptor
  bool continued = false;        // the line was too long for one record, and goes on in the next one
  bool shared = false;           // several jobs may have written it: its context is whoever opened the capture
};

namespace detail {
struct source_sites;
}

// A library that logs, by the module name its lines get. Cheap to copy; the same name is the same source, and what was
// made for it stays for the life of the process (at most 1,024 names; later ones share the module "foreign", with their
// name in `log.logger`). Any thread may call it.
class log_source {
 public:
  // Takes a lock and allocates where the name is new.
  TELLTALE_EXPORT explicit log_source(std::string_view module);

  // Whether the log filter lets such a line through: one load.
  TELLTALE_EXPORT bool enabled(level l) const noexcept;
  // Records a line under the current context; nothing where the filter has it off. A trailing newline is dropped; what
  // exceeds max_string_bytes is cut, and counted. Allocates and locks nothing but once per thread and key.
  TELLTALE_EXPORT void write(level l, std::string_view message, const foreign_line& about = {}) const noexcept;
  // The same under a context that was kept for it.
  TELLTALE_EXPORT void write_under(const context& c, level l, std::string_view message,
                                   const foreign_line& about = {}) const noexcept;

 private:
  const detail::source_sites* sites_;
};

}  // namespace telltale
