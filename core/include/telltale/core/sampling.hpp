// Which traces are recorded. The sampler decides when a trace begins, from its id alone, so every process that sees the
// id decides alike; what it leaves out costs a call site one more branch and writes nothing, and lines are never left
// out. It is chosen with OTEL_TRACES_SAMPLER or options::sampler:
//
//   always_on, always_off      all traces; none
//   traceidratio               this share of them (OTEL_TRACES_SAMPLER_ARG, options::sample_ratio)
//   parentbased_always_on, …   the same for what begins here; a trace that another process began is left to what was
//                              decided there (remote_scope, continue_trace). parentbased_always_on is the default
//
// One trace can be recorded whatever the sampler says, also one that comes from another process:
//
//   telltale::with_context force{telltale::forced_trace()};
//   TELLTALE_SPAN("request");
//
// Every function here is noexcept and may be called from any thread; none allocates once recording has been started.
#pragma once

#include <telltale/core/context.hpp>

namespace telltale {

// A context without a trace; the trace that begins under it is recorded.
inline context forced_trace() noexcept {
  context c;
  c.flags = flag_forced;
  return c;
}

// The context to install for a trace that came from another process (`remote.flags` as W3C has them, and flag_forced):
// the same, or one under which no span is recorded. remote_scope (propagation.hpp) does it by itself.
TELLTALE_EXPORT context continue_trace(context remote) noexcept;

}  // namespace telltale
