// gRPC's lines (those of gpr_log, up to gRPC 1.64; later ones use Abseil's, see absl.hpp) as records under the current
// span, module "grpc". gRPC has one log function per process, so this is a call and not an object; its own filter
// (GRPC_VERBOSITY, by default errors only) comes first.
#pragma once

#include <grpc/support/log.h>

#include <telltale/core/foreign_log.hpp>

namespace telltale {

namespace detail {
inline void record_grpc(gpr_log_func_args* a) {
  static const log_source source{"grpc"};
  const level l = a->severity == GPR_LOG_SEVERITY_DEBUG  ? level::debug
                  : a->severity == GPR_LOG_SEVERITY_INFO ? level::info
                                                         : level::error;
  source.write(l, a->message, {.file = a->file, .line = static_cast<std::uint32_t>(a->line)});
}
}  // namespace detail

// From now on; gRPC prints nothing itself any more.
inline void capture_grpc_log() {
  gpr_set_log_function(detail::record_grpc);
}
// Back to its default, which prints to stderr.
inline void release_grpc_log() {
  gpr_set_log_function(nullptr);
}

}  // namespace telltale
