/* Telltale's C interface: for C programs, and for bindings of other languages.
 *
 * Stable: functions are only ever added. TELLTALE_ABI_VERSION grows with every addition; telltale_abi_version() says
 * what the library at hand has. Nothing here throws, allocates on the hot path or takes a lock there, except where
 * said. Strings are UTF-8 with a length, not terminated; invalid bytes are replaced in the output. Every function may
 * be called from any thread; a span belongs to one thread at a time. Of a key given twice the later value wins.
 *
 *   static telltale_site *site;
 *   if (!site) site = telltale_site_new(&(telltale_site_description){
 *       .kind = TELLTALE_SPAN_SITE, .level = TELLTALE_LEVEL_INFO, .name = TELLTALE_STR("decode"),
 *       .module = TELLTALE_STR("player"), .file = TELLTALE_STR(__FILE__), .line = __LINE__});
 *   telltale_span span = telltale_span_begin(site, NULL, 0, NULL);   // begins, not yet current
 *   telltale_context former = telltale_span_enter(span);             // current from here …
 *   …
 *   telltale_context_set(&former);                                   // … to here; as often as needed
 *   telltale_span_end(span);
 */
#ifndef TELLTALE_H
#define TELLTALE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TELLTALE_ABI_VERSION 1u

#if defined(__GNUC__)
#define TELLTALE_API __attribute__((visibility("default")))
#else
#define TELLTALE_API
#endif

typedef struct telltale_str {
  const char* data;
  size_t size;
} telltale_str;
/* A string literal as a telltale_str. */
#define TELLTALE_STR(literal) {(literal), sizeof(literal) - 1}

enum {
  TELLTALE_LEVEL_OFF = 0,
  TELLTALE_LEVEL_ERROR = 1,
  TELLTALE_LEVEL_WARN = 2,
  TELLTALE_LEVEL_INFO = 3,
  TELLTALE_LEVEL_DEBUG = 4,
  TELLTALE_LEVEL_TRACE = 5
};

enum {
  TELLTALE_SPAN_SITE = 0,
  TELLTALE_SCOPE_SITE = 1, /* a span whose attributes everything below it inherits */
  TELLTALE_LOG_SITE = 2,
  TELLTALE_EVENT_SITE = 3
};

enum { TELLTALE_BOOL = 0, TELLTALE_INT64 = 1, TELLTALE_UINT64 = 2, TELLTALE_DOUBLE = 3, TELLTALE_STRING = 4 };

enum {
  TELLTALE_LINK_RELATED = 0,
  TELLTALE_LINK_DETAIL_OF = 1,
  TELLTALE_LINK_RETRY_OF = 2,
  TELLTALE_LINK_INPUT_OF = 3,
  TELLTALE_LINK_WAITS_FOR = 4
};

enum {
  TELLTALE_KIND_INTERNAL = 0,
  TELLTALE_KIND_SERVER,
  TELLTALE_KIND_CLIENT,
  TELLTALE_KIND_PRODUCER,
  TELLTALE_KIND_CONSUMER
};

typedef struct telltale_attribute {
  telltale_str key;
  int32_t type; /* TELLTALE_BOOL … */
  union {
    int32_t boolean;
    int64_t int64;
    uint64_t uint64;
    double float64;
    telltale_str string;
  } value;
} telltale_attribute;

/* The current context: a plain value, copied freely; all zero is "no span". */
typedef struct telltale_context {
  uint64_t trace_high, trace_low;
  uint64_t span;
  uint32_t scope;
  uint32_t reserved; /* copy it along */
} telltale_context;

typedef struct telltale_site telltale_site;

typedef struct telltale_site_description {
  int32_t kind;      /* TELLTALE_SPAN_SITE … */
  int32_t level;     /* TELLTALE_LEVEL_… */
  telltale_str name; /* of a span or event; the message of a log line, with {fields} that name attributes */
  telltale_str module;
  telltale_str file;
  uint32_t line;
} telltale_site_description;

/* A span that may be on its way; all zero is "not recorded", which every function accepts. */
typedef struct telltale_span {
  uint64_t handle;
  uint64_t generation;
} telltale_span;

TELLTALE_API uint32_t telltale_abi_version(void);

/* Starts with the options of the environment. Returns 0, or -1 with a message in telltale_last_error(). Not needed:
 * recording starts by itself. */
TELLTALE_API int telltale_start(void);
/* 1 when everything recorded so far has left every sink, 0 when the time ran out. */
TELLTALE_API int telltale_flush(uint32_t timeout_ms);
TELLTALE_API int telltale_shutdown(uint32_t timeout_ms);
/* Change a filter of the running process: 0, or -1 with a message. */
TELLTALE_API int telltale_set_log_filter(telltale_str directives);
TELLTALE_API int telltale_set_trace_filter(telltale_str directives);
/* The last error of this thread, terminated; "" where there was none. Valid until the thread's next call that fails. */
TELLTALE_API const char* telltale_last_error(void);

/* A call site made at run time. Copied, kept for ever: make one per place in the source, not one per call. Takes a
 * lock. NULL for a description that is not valid. */
TELLTALE_API telltale_site* telltale_site_new(const telltale_site_description* description);
/* Whether it is on now: one load. Ask before gathering attributes. */
TELLTALE_API int telltale_site_enabled(const telltale_site* site);

/* Begins a span under `parent` (NULL: the current context), without making it current. Not recorded when the site is
 * off. For a scope site the attributes are the inherited ones. */
TELLTALE_API telltale_span telltale_span_begin(telltale_site* site, const telltale_attribute* attributes, size_t count,
                                               const telltale_context* parent);
/* Makes it current on this thread and returns what was current before; does nothing for a span that is not recorded.
 * May be called again, on other threads too, until the span ends. */
TELLTALE_API telltale_context telltale_span_enter(telltale_span span);
TELLTALE_API telltale_context telltale_span_context(telltale_span span);
TELLTALE_API void telltale_span_set(telltale_span span, const telltale_attribute* attributes, size_t count);
TELLTALE_API void telltale_span_link(telltale_span span, const telltale_context* target, int32_t link_kind);
TELLTALE_API void telltale_span_event(telltale_span span, telltale_site* site, const telltale_attribute* attributes,
                                      size_t count);
TELLTALE_API void telltale_span_kind(telltale_span span, int32_t kind);
/* Marks it as failed; `code` is a short, stable word. */
TELLTALE_API void telltale_span_fail(telltale_span span, telltale_str code);
/* Ends it. Ending a span twice does nothing. Leaves the current context alone. */
TELLTALE_API void telltale_span_end(telltale_span span);

TELLTALE_API void telltale_log(telltale_site* site, const telltale_attribute* attributes, size_t count);

TELLTALE_API telltale_context telltale_context_get(void);
/* NULL: no context. Returns what was there. */
TELLTALE_API telltale_context telltale_context_set(const telltale_context* context);

TELLTALE_API void telltale_name_thread(telltale_str name);

/* produced = written + dropped, whenever the rings are empty. */
typedef struct telltale_statistics {
  uint64_t written;
  uint64_t dropped;
  uint64_t truncated;
  uint64_t sink_dropped;
  uint64_t sink_errors;
} telltale_statistics;
TELLTALE_API telltale_statistics telltale_get_statistics(void);

#ifdef __cplusplus
}
#endif

#endif /* TELLTALE_H */
