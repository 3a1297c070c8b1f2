/* Uses everything that telltale.h has. What a call returns is checked here, what it records by the driver. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <telltale/core/telltale.h>

static int failures = 0;

#define CHECK(condition)                                               \
  do {                                                                 \
    if (!(condition)) {                                                \
      fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      ++failures;                                                      \
    }                                                                  \
  } while (0)

static telltale_str str(const char* s) {
  telltale_str out = {s, strlen(s)};
  return out;
}

static telltale_site* make(int32_t kind, int32_t level, const char* name) {
  return telltale_site_new(&(telltale_site_description){.kind = kind,
                                                        .level = level,
                                                        .name = str(name),
                                                        .module = TELLTALE_STR("c::program"),
                                                        .file = TELLTALE_STR(__FILE__),
                                                        .line = __LINE__});
}

static telltale_attribute boolean(const char* key, int32_t v) {
  return (telltale_attribute){.key = str(key), .type = TELLTALE_BOOL, .value.boolean = v};
}
static telltale_attribute int64(const char* key, int64_t v) {
  return (telltale_attribute){.key = str(key), .type = TELLTALE_INT64, .value.int64 = v};
}
static telltale_attribute uint64(const char* key, uint64_t v) {
  return (telltale_attribute){.key = str(key), .type = TELLTALE_UINT64, .value.uint64 = v};
}
static telltale_attribute float64(const char* key, double v) {
  return (telltale_attribute){.key = str(key), .type = TELLTALE_DOUBLE, .value.float64 = v};
}
static telltale_attribute string(const char* key, const char* v) {
  return (telltale_attribute){.key = str(key), .type = TELLTALE_STRING, .value.string = str(v)};
}

static int same(telltale_context a, telltale_context b) {
  return a.trace_high == b.trace_high && a.trace_low == b.trace_low && a.span == b.span && a.scope == b.scope &&
         a.reserved == b.reserved;
}
static int is_empty(telltale_span s) {
  return s.handle == 0 && s.generation == 0;
}

static void errors(void) {
  CHECK(telltale_abi_version() == TELLTALE_ABI_VERSION);
  CHECK(strcmp(telltale_last_error(), "") == 0);
  CHECK(telltale_site_new(NULL) == NULL);
  CHECK(strstr(telltale_last_error(), "call site") != NULL);
  CHECK(make(17, TELLTALE_LEVEL_INFO, "no such kind") == NULL);
  CHECK(make(TELLTALE_SPAN_SITE, 6, "no such level") == NULL);
  CHECK(make(TELLTALE_SPAN_SITE, -1, "no such level") == NULL);
  CHECK(telltale_set_log_filter(str("info,c=loud")) == -1);
  CHECK(strstr(telltale_last_error(), "loud") != NULL);
  CHECK(telltale_set_trace_filter(str("info,c=noisy")) == -1);
  CHECK(strstr(telltale_last_error(), "noisy") != NULL);
  CHECK(telltale_set_log_filter(str("info,c=debug")) == 0);
  CHECK(telltale_set_trace_filter(str("info")) == 0);
}

/* Whatever takes a span takes one that is not recorded, and a null site. */
static void off(void) {
  telltale_site* site = make(TELLTALE_SPAN_SITE, TELLTALE_LEVEL_TRACE, "off");
  telltale_site* log = make(TELLTALE_LOG_SITE, TELLTALE_LEVEL_TRACE, "never");
  const telltale_attribute a = int64("n", 1);
  const telltale_context before = telltale_context_get();
  const telltale_span spans[2] = {telltale_span_begin(site, &a, 1, NULL), telltale_span_begin(NULL, &a, 1, NULL)};
  CHECK(telltale_site_enabled(site) == 0);
  CHECK(telltale_site_enabled(NULL) == 0);
  for (int i = 0; i < 2; ++i) {
    CHECK(is_empty(spans[i]));
    CHECK(same(telltale_span_enter(spans[i]), before));
    CHECK(same(telltale_context_get(), before));
    CHECK(same(telltale_span_context(spans[i]), before));
    telltale_span_set(spans[i], &a, 1);
    telltale_span_link(spans[i], &before, TELLTALE_LINK_RELATED);
    telltale_span_event(spans[i], site, &a, 1);
    telltale_span_kind(spans[i], TELLTALE_KIND_SERVER);
    telltale_span_fail(spans[i], str("never"));
    telltale_span_end(spans[i]);
  }
  telltale_log(log, &a, 1);
  telltale_log(NULL, &a, 1);
}

struct handed_over {
  telltale_span span;
  telltale_site* log;
};

static void* finish(void* argument) {
  const struct handed_over* given = argument;
  telltale_name_thread(str("c worker"));
  CHECK(telltale_context_get().span == 0);
  const telltale_context former = telltale_span_enter(given->span);
  CHECK(former.span == 0);
  telltale_log(given->log, NULL, 0);
  telltale_context_set(&former);
  telltale_span_end(given->span);
  return NULL;
}

int main(void) {
  CHECK(telltale_start() == 0);
  errors(); /* changes filters, which starting would change back */
  telltale_name_thread(str("c main"));
  off();

  telltale_site* job_site = make(TELLTALE_SCOPE_SITE, TELLTALE_LEVEL_INFO, "job");
  telltale_site* decode_site = make(TELLTALE_SPAN_SITE, TELLTALE_LEVEL_INFO, "decode");
  telltale_site* block_site = make(TELLTALE_SPAN_SITE, TELLTALE_LEVEL_INFO, "block");
  telltale_site* handed_site = make(TELLTALE_SPAN_SITE, TELLTALE_LEVEL_INFO, "handed over");
  telltale_site* late_site = make(TELLTALE_SPAN_SITE, TELLTALE_LEVEL_WARN, "under a given parent");
  telltale_site* retried_site = make(TELLTALE_EVENT_SITE, TELLTALE_LEVEL_INFO, "retried");
  telltale_site* log_site = make(TELLTALE_LOG_SITE, TELLTALE_LEVEL_DEBUG, "decoded {frames} frames of {file}");
  telltale_site* worker_site = make(TELLTALE_LOG_SITE, TELLTALE_LEVEL_INFO, "on the worker");
  CHECK(telltale_site_enabled(decode_site) == 1);
  CHECK(telltale_site_enabled(log_site) == 1);

  /* Of a key that stands twice the later value wins, everywhere. */
  const telltale_attribute inherited[] = {string("job_id", "j-0"), int64("attempt", 3), string("job_id", "j-17")};
  const telltale_span job = telltale_span_begin(job_site, inherited, 3, NULL);
  CHECK(telltale_context_get().span == 0); /* begun, not yet current */
  const telltale_context outside = telltale_span_enter(job);
  CHECK(outside.span == 0);
  const telltale_context job_context = telltale_context_get();
  CHECK(same(job_context, telltale_span_context(job)));
  CHECK(job_context.span != 0 && job_context.scope != 0);

  const telltale_attribute all[] = {boolean("flag", 1),      boolean("no", 0),
                                    int64("low", INT64_MIN), uint64("high", UINT64_MAX),
                                    float64("ratio", 0.1),   string("codec", "h\"26\xc3\xb6")};
  const telltale_span decode = telltale_span_begin(decode_site, all, 6, NULL);
  const telltale_context in_job = telltale_span_enter(decode);
  CHECK(same(in_job, job_context));
  const telltale_context decode_context = telltale_context_get();
  CHECK(decode_context.trace_low == job_context.trace_low && decode_context.trace_high == job_context.trace_high);
  CHECK(decode_context.span != job_context.span && decode_context.scope == job_context.scope);

  const telltale_span block = telltale_span_begin(block_site, NULL, 0, NULL);
  const telltale_context in_decode = telltale_span_enter(block);
  const telltale_attribute counts[] = {uint64("frames", 0), string("file", "a.mkv"), boolean("unnamed", 1),
                                       uint64("frames", 48)};
  telltale_log(log_site, counts, 4);
  telltale_context_set(&in_decode);
  telltale_span_end(block);
  telltale_span_end(block); /* does nothing, */
  const telltale_span next = telltale_span_begin(block_site, NULL, 0, NULL);
  telltale_span_end(block); /* … nor to a span that has its place now */
  CHECK(telltale_span_context(next).span != decode_context.span);
  const telltale_attribute second = boolean("second", 1);
  telltale_span_set(next, &second, 1);
  telltale_span_end(next);

  const telltale_attribute later[] = {int64("rows", 7), float64("ratio", 0.25)};
  telltale_span_set(decode, later, 2);
  telltale_span_link(decode, &job_context, TELLTALE_LINK_RETRY_OF);
  telltale_span_link(decode, NULL, TELLTALE_LINK_RETRY_OF);
  const telltale_attribute attempts[] = {int64("again", 1), int64("again", 2)};
  telltale_span_event(decode, retried_site, attempts, 2);
  telltale_span_kind(decode, TELLTALE_KIND_CONSUMER);
  telltale_span_kind(decode, 99);
  telltale_span_fail(decode, str("truncated"));

  struct handed_over given = {telltale_span_begin(handed_site, NULL, 0, NULL), worker_site};
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, finish, &given) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  telltale_span_end(given.span);

  telltale_context_set(&in_job);
  telltale_span_end(decode);
  CHECK(same(telltale_context_set(NULL), job_context));
  CHECK(telltale_context_get().span == 0 && telltale_context_get().scope == 0);
  telltale_span_end(telltale_span_begin(late_site, NULL, 0, &job_context));
  CHECK(telltale_context_get().span == 0);
  telltale_span_end(job);

  CHECK(telltale_flush(30000) == 1);
  const telltale_statistics statistics = telltale_get_statistics();
  CHECK(statistics.written >= 8);
  CHECK(statistics.dropped == 0 && statistics.truncated == 0);
  CHECK(statistics.sink_dropped == 0 && statistics.sink_errors == 0);
  CHECK(telltale_shutdown(30000) == 1);
  telltale_log(worker_site, NULL, 0); /* dropped and counted */
  CHECK(telltale_get_statistics().dropped == 1);
  return failures == 0 ? 0 : 1;
}
