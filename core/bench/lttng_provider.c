/* LTTng's generated half of the tracepoint. */
#define TRACEPOINT_CREATE_PROBES
#define TRACEPOINT_DEFINE
#include "core/bench/lttng_provider.h"
