// What a sink sees. The drain (one background thread) turns records into these views and hands them to every sink in
// turn; a view and what it points at live until the call returns.
//
// A sink must not block for long (the files' sinks write on a thread of their own) and must not throw. Its calls come
// from one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <telltale/core/attribute.hpp>
#include <telltale/core/context.hpp>
#include <telltale/core/runtime.hpp>
#include <telltale/core/site.hpp>
#include <telltale/core/span.hpp>
#include <vector>

namespace telltale {

// One attribute of a record. `text` points into the record.
struct attribute_view {
  std::string_view key;
  attribute_type type = attribute_type::int64;
  bool cut = false;              // a string that was longer than its cap
  std::uint64_t bits = 0;        // boolean, int64, uint64, float64 (bit pattern)
  std::string_view text;         // string
  std::uint32_t key_number = 0;  // dense number of the key, for sinks that cache per key
};

// A call site as the drain knows it: read from the catalogue once, kept for ever.
struct site_info {
  std::uint32_t id = 0;
  std::string name;
  std::string module;
  std::string file;
  std::uint32_t line = 0;
  telltale::level level = telltale::level::info;
  site_kind kind = site_kind::span;
  struct attribute {
    std::string key;
    attribute_type type;
    std::uint32_t key_number;
  };
  std::vector<attribute> attributes;
};

// A node of inherited attributes and what stands above it.
struct scope_info : std::enable_shared_from_this<scope_info> {
  std::uint32_t id = 0;
  const site_info* site = nullptr;  // its name is the scope's name
  std::shared_ptr<const scope_info> parent;
  std::vector<attribute_view> attributes;  // its own; the nearer scope wins on equal keys
  std::string storage;                     // what their texts point into
};

struct thread_info {
  std::uint32_t number = 0;  // in order of appearance, never used twice
  std::int64_t os_id = 0;
  std::string name;
};

struct event_view {
  std::int64_t time_ns;
  const site_info* site;
  std::vector<attribute_view> attributes;
};

struct link_view {
  trace_id trace;
  span_id span;
  link_kind kind;
};

// Where a record comes from: from this process's rings, or from the flight record of a process that died.
enum class record_origin : std::uint8_t {
  live,
  pending,  // the dead process's sinks never had it
  handed,   // they had it; whether it got out is not known
  drained,  // they had it, and it got out
};
constexpr std::string_view to_string(record_origin o) noexcept {
  constexpr std::string_view names[] = {"live", "pending", "handed", "drained"};
  return names[static_cast<std::size_t>(o)];
}

// Times are nanoseconds since 1970-01-01T00:00:00Z.
struct span_view {
  const site_info& site;
  const scope_info* scope;
  const thread_info& thread;  // where it ended
  trace_id trace;
  span_id span;
  span_id parent;
  std::int64_t begin_ns;
  std::int64_t end_ns;
  bool failed;
  bool incomplete;  // some of its attributes, events or links were dropped (counted)
  span_kind kind;
  std::span<const attribute_view> attributes;
  std::span<const event_view> events;
  std::span<const link_view> links;
  record_origin origin = record_origin::live;
};

struct log_view {
  const site_info& site;  // its name is the message's template
  const scope_info* scope;
  const thread_info& thread;
  trace_id trace;
  span_id span;
  std::string_view span_name;  // empty where there is no span, or it is another process's
  std::int64_t time_ns;
  std::span<const attribute_view> attributes;
  record_origin origin = record_origin::live;
};

struct loss_view {
  drop_reason reason;
  std::uint64_t count;
  const thread_info* thread;  // null where the loss has no thread (it never got a ring)
  std::int64_t since_ns;      // when the first of them was dropped
};

class sink {
 public:
  virtual ~sink() = default;

  virtual void on_span(const span_view&) {}
  // A span that has been open for a second; once per span. `end_ns` is the time of the announcement.
  virtual void on_open_span(const span_view&) {}
  // It still is; every ten seconds after that.
  virtual void on_heartbeat(const span_view&) {}
  // A span that was open when its process died; `end_ns` is the last sign of life. It is marked as failed, with
  // error.type = "lost".
  virtual void on_lost_span(const span_view& s) { on_span(s); }
  // Calls of one span, told as one because they were too many to record each: from begin_ns to end_ns there were
  // `aggregate.calls` of them on that thread below that parent, and a sample of `aggregate.timed` took
  // `aggregate.mean_ns` on average, ± `aggregate.error_ns` (95 %). Its id belongs to none of them.
  virtual void on_aggregate(const span_view& s) { on_span(s); }
  virtual void on_log(const log_view&) {}
  // Records were dropped here, between what came before on that thread and what comes next.
  virtual void on_loss(const loss_view&) {}

  // What follows is another process's (one that died, or this one again): numbers of sites, keys, scopes and threads
  // begin anew. Forget what was kept by them.
  virtual void on_other_process(std::int64_t pid) { (void)pid; }

  // Called after every pass over the rings that found something: hand on what was gathered, without waiting.
  virtual void on_batch_end() {}
  // Waits until what was handed over is out, or the deadline passes (then false).
  virtual bool flush(std::chrono::steady_clock::time_point deadline) {
    (void)deadline;
    return true;
  }
  // How much it was handed up to its last on_batch_end(), and how much of that is out: two counts of whatever it counts
  // in. The flight recorder keeps records until they are out.
  struct delivery {
    std::uint64_t taken = 0;
    std::uint64_t out = 0;
  };
  virtual delivery delivered() const { return {}; }
  // The same sink for a forked child, with nothing pending; null: the child goes without.
  virtual std::shared_ptr<sink> for_child() { return nullptr; }

  virtual std::uint64_t dropped() const { return 0; }  // records it could not take
  virtual std::uint64_t errors() const { return 0; }
  virtual std::uint64_t retries() const { return 0; }        // deliveries it tried again
  virtual std::uint64_t spooled_bytes() const { return 0; }  // what waits on disk for a better moment
};

// Appends the message of a line with its fields filled in.
TELLTALE_EXPORT void append_message(std::string& out, const log_view& line);
// Appends a value as a person reads it: numbers plainly, strings as they are.
TELLTALE_EXPORT void append_value(std::string& out, const attribute_view& a);

// Opens the sinks of a specification such as "text:stderr; json:trace.jsonl?overflow=block".
TELLTALE_EXPORT result<std::vector<std::shared_ptr<sink>>> make_sinks(std::string_view specification);

}  // namespace telltale
