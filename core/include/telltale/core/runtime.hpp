// Starting, steering and ending the recording. A program that calls nothing of this gets what the environment says:
// recording starts with the first record, and what was recorded is flushed when the program exits.
//
//   int main() {
//     if (auto started = telltale::start(); !started) return complain(started.error());   // bad TELLTALE_* variables
//
// Every function here may be called from any thread, any number of times, before and after main.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <telltale/core/context.hpp>
#include <telltale/core/detail/layout.hpp>
#include <telltale/core/result.hpp>
#include <vector>

namespace telltale {

class sink;

enum class overflow_policy : std::uint8_t {
  drop,   // the newest record is dropped and counted; the program never waits
  block,  // the thread waits for the drain: nothing is lost, and the program is as fast as the slowest sink
};

struct options {
  // Filters: "info,prover=debug,prover::msm=trace". A directive holds for its module and what is below it; the longest
  // one wins. Log lines and spans have one each: quiet logs never remove spans.
  std::string log = "info";
  std::string trace = "info";

  // Sinks, separated by ';': "text:stderr; json:trace.jsonl; rolling:app.log?max_size=64MiB&keep=5". "none" is none.
  std::string sinks = "text:stderr";

  // Keys of inherited attributes that may cross a process, as W3C baggage, in either direction. "none" is none.
  std::string baggage = "job_id,module_id,task_id";

  // Memory: fixed from start to end. A thread's ring holds about ring_bytes / 128 spans (a power of two).
  std::size_t ring_bytes = std::size_t{1} << 20;
  std::size_t memory_bytes = std::size_t{256} << 20;  // all rings together; touched only as threads need them
  overflow_policy overflow = overflow_policy::drop;

  // Which traces are recorded: always_on, always_off, traceidratio, or parentbased_ and one of these; sampling.hpp.
  std::string sampler = "parentbased_always_on";
  double sample_ratio = 1.0;  // of traceidratio: from 0 to 1

  // What telemetry may take of the program's processor time (of one core's where the program uses less), from 0 to 1.
  // A span that fires so often that it would take more is counted exactly and timed by sample until it fires less; 0:
  // never.
  double overhead = 0.01;

  // The flight recorder: a directory for a file that holds the rings and open spans, so that they outlive the process
  // (flight.hpp). "DIR?keep=2&service=NAME"; empty: none.
  std::string flight = {};

  std::chrono::milliseconds exit_timeout{2000};  // how long exit may wait for the sinks
  bool monotonic_clock = false;                  // never use the time-stamp counter

  // Sets of labels that an instrument keeps apart, where it doesn't say itself (2 to 1,048,576, the overflow's
  // included). Holds for instruments that are first used afterwards.
  std::uint32_t max_series = 2000;

  // TELLTALE_LOG (else RUST_LOG), TELLTALE_TRACE, TELLTALE_SINKS, TELLTALE_BAGGAGE, TELLTALE_RING, TELLTALE_MEMORY,
  // TELLTALE_OVERFLOW, TELLTALE_OVERHEAD, TELLTALE_FLIGHT, TELLTALE_EXIT_TIMEOUT, TELLTALE_CLOCK, TELLTALE_MAX_SERIES,
  // OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG; TRACING_ENABLED and OTLP_ENDPOINT add a sink. Fails at the first
  // value it cannot read, and names it.
  TELLTALE_EXPORT static result<options> from_environment();
};

// Starts recording with these options (without any: the environment's), or changes what a running one does: filters,
// also those that were set before, and sinks at once; sizes and flight only before the first record (else an error).
TELLTALE_EXPORT result<void> start();
TELLTALE_EXPORT result<void> start(const options& o);

// Changes a filter of the running process; on an error nothing changes.
TELLTALE_EXPORT result<void> set_log_filter(std::string_view directives);
TELLTALE_EXPORT result<void> set_trace_filter(std::string_view directives);
TELLTALE_EXPORT std::string log_filter();
TELLTALE_EXPORT std::string trace_filter();

// A sink of your own beside the configured ones; sink.hpp.
TELLTALE_EXPORT void add_sink(std::shared_ptr<sink> s);
TELLTALE_EXPORT void remove_sink(const std::shared_ptr<sink>& s);

// Waits until everything recorded before the call has left every sink; false when `timeout` passed first.
TELLTALE_EXPORT bool flush(std::chrono::milliseconds timeout = std::chrono::milliseconds{2000});

// Flushes and stops. Records made afterwards are dropped and counted. Calling it again does nothing.
struct shutdown_report {
  bool complete = false;          // everything reached every sink
  std::uint64_t undelivered = 0;  // records left in the rings
};
TELLTALE_EXPORT shutdown_report shutdown(std::chrono::milliseconds timeout = std::chrono::milliseconds{2000});

// The name under which this thread appears (at most 63 bytes); by default the operating system's.
TELLTALE_EXPORT void name_thread(std::string_view name);

// The library watches itself. produced = written + dropped + counted, whenever the rings are empty (after flush()).
struct statistics {
  std::uint64_t written = 0;                         // records the drain has handed to the sinks
  std::uint64_t dropped[detail::drop_reasons] = {};  // by reason, see to_string(drop_reason)
  std::uint64_t counted = 0;                         // calls of spans that were counted rather than recorded
  std::uint64_t left_out = 0;                        // traces that the sampler left out
  std::uint64_t truncated = 0;                       // values that were cut to a cap
  std::uint64_t lost_scopes = 0;                     // scopes whose attributes could not be kept
  std::uint64_t stale_scopes = 0;  // records whose scope was gone: their inherited attributes are missing
  std::uint64_t sink_dropped = 0;  // records that a sink could not take
  std::uint64_t sink_errors = 0;
  std::uint64_t sink_retries = 0;        // deliveries that sinks tried again
  std::uint64_t sink_spooled_bytes = 0;  // what waits on disk for a sink's receiver
  std::uint64_t threads = 0;             // rings in use
  std::uint64_t open_spans = 0;
  std::chrono::nanoseconds drain_cpu{0};  // processor time of the drain
  std::chrono::nanoseconds drain_lag{0};  // age of the oldest record when it was last drained
  std::string clock;                      // "tsc" or "monotonic", with the reason
  std::uint64_t dropped_total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t d : dropped) sum += d;
    return sum;
  }
};
TELLTALE_EXPORT statistics stats();

using drop_reason = detail::drop_reason;
constexpr std::string_view to_string(drop_reason r) noexcept {
  constexpr std::string_view names[] = {"ring_full", "no_memory", "too_many_open_spans", "too_large", "shut_down"};
  return names[static_cast<std::size_t>(r)];
}

}  // namespace telltale
