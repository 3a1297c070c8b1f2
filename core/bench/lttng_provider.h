/* LTTng's description of the one tracepoint that core_lttng_peer measures. */
#undef TRACEPOINT_PROVIDER
#define TRACEPOINT_PROVIDER telltale_bench

#undef TRACEPOINT_INCLUDE
#define TRACEPOINT_INCLUDE "core/bench/lttng_provider.h"

#if !defined(TELLTALE_BENCH_LTTNG_PROVIDER_H) || defined(TRACEPOINT_HEADER_MULTI_READ)
#define TELLTALE_BENCH_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>
#include <stdint.h>

TRACEPOINT_EVENT(telltale_bench, msm, TP_ARGS(uint64_t, n, uint64_t, m, const char*, device),
                 TP_FIELDS(ctf_integer(uint64_t, n, n) ctf_integer(uint64_t, m, m) ctf_string(device, device)))

#endif

#include <lttng/tracepoint-event.h>
