// From what a person names (a trace, a job, a query) to spans, by way of a store.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/query/traceql/evaluate.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

struct time_range {
  std::int64_t begin_ns = 0;  // of a span's start
  std::int64_t end_ns = INT64_MAX;
};

// A trace that a query matched.
struct found_trace {
  std::vector<span_row> spans;  // all of it
  std::vector<traceql::span_group> groups;
};
struct search_limits {
  std::size_t traces = 20;         // as many are given back
  std::size_t candidates = 2'000;  // as many are looked at
};
struct search_result {
  std::vector<found_trace> traces;  // the newest first
  std::size_t looked_at = 0;
  bool cut = false;  // there may be more
};
result<search_result> search(const store& s, const traceql::pipeline& query, time_range when, search_limits limits);

// 32 hexadecimal digits.
std::optional<trace_id> parse_trace_id(std::string_view text);

// What a question is about: 32 hexadecimal digits are a trace, what begins with { or ( is a query, anything else a job.
struct subject {
  std::vector<std::vector<span_row>> traces;  // a job is one, of spans that carry its id and those below; never empty
  bool cut = false;
};
// An error begins with "there is no" where it is not there.
result<subject> find_subject(const store& s, std::string_view name, time_range when, std::size_t most_traces = 100);

// The query's numbers over time. The store counts where the query lets it (one filter, exactly translated); otherwise
// the traces are read.
struct metrics_result {
  std::vector<traceql::series> series;
  bool cut = false;
};
result<metrics_result> measure(const store& s, const traceql::pipeline& query, const traceql::steps& over);

// Durations by name and kind.
struct top_row {
  std::string name;
  int kind = 0;
  std::uint64_t count = 0;
  std::uint64_t errors = 0;
  double rate = 0;  // per second, over the range or, where it is open, from the first to the last
  double p50_ns = 0;
  double p95_ns = 0;
  double p99_ns = 0;
  double max_ns = 0;
  double total_ns = 0;
  bool exact = true;  // the quantiles; otherwise within 1.6 % (hub/store/durations.hpp)
};
// `filter` is a query of one filter, null: all spans. Refused where the store can't decide it
// exactly. Without a filter, very many spans are counted by the store's histograms.
result<std::vector<top_row>> find_top(const store& s, const traceql::pipeline* filter, time_range when,
                                      std::size_t most);

}  // namespace telltale::hub
