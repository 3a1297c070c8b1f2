// All metrics at one moment, as data: what exporters (Prometheus, OTLP) turn into their formats.
//
//   for (const telltale::metric& m : telltale::snapshot_metrics().metrics) …
//
// The vocabulary is that of the OpenTelemetry data model. Every sum and histogram is cumulative: it counts from
// `start_ns` on. The values of one point were read one after the other while the program went on counting; each is
// exact, and none is ever smaller than it was in an earlier snapshot (but in a forked child, which starts at nought).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/attribute_value.hpp>
#include <telltale/core/context.hpp>
#include <telltale/core/instrument.hpp>
#include <utility>
#include <variant>
#include <vector>

namespace telltale {

// The labels of a series: immutable, made once, shared by all snapshots.
struct label_set {
  std::vector<std::pair<std::string, attribute_value>> labels;  // in order of the key, each key once
  std::string exposition;  // as Prometheus writes them, without braces: a="b",c="d"
};

// A measurement and the span it was made in.
struct exemplar {
  double value = 0;
  std::int64_t time_ns = 0;  // since 1970, UTC
  trace_id trace;
  span_id span;
};

struct number_point {
  std::shared_ptr<const label_set> labels;  // never null
  std::variant<std::int64_t, double> value;
  std::vector<telltale::exemplar> exemplars;  // of counters: at most one
};

// counts[i] is the number of values above bounds[i - 1] and up to bounds[i]; one more than there are bounds.
struct histogram_point {
  std::shared_ptr<const label_set> labels;
  std::uint64_t count = 0;  // the sum of `counts`
  double sum = 0;
  std::vector<std::uint64_t> counts;
  std::vector<telltale::exemplar> exemplars;  // at most one per bucket, in order of the buckets
};

// counts[i] is the number of values v with base^(offset + i) < |v| <= base^(offset + i + 1), base = 2^(2^-scale).
struct exponential_buckets {
  std::int32_t offset = 0;
  std::vector<std::uint64_t> counts;  // at most 160; empty: no such values
};
struct exponential_point {
  std::shared_ptr<const label_set> labels;
  std::uint64_t count = 0;  // the sum of all buckets and the zero bucket
  double sum = 0;
  std::int32_t scale = 0;
  std::uint64_t zero_count = 0;  // values that are exactly zero: the zero threshold is 0
  exponential_buckets positive;
  exponential_buckets negative;
  std::vector<telltale::exemplar> exemplars;
};

// One instrument. counter, up_down_counter and gauge fill `numbers`, histogram fills `histograms`,
// exponential_histogram `exponentials`.
struct metric {
  std::string name;         // OpenTelemetry's: "prover.proof.duration"
  std::string description;  // may be empty
  std::string unit;         // UCUM: "s", "By", "{proof}", "1"; may be empty
  metric_kind kind = metric_kind::counter;
  std::vector<double> bounds;  // of a histogram: upper bounds, inclusive, increasing, without +Inf
  std::vector<number_point> numbers;
  std::vector<histogram_point> histograms;
  std::vector<exponential_point> exponentials;
};

struct metric_snapshot {
  std::int64_t start_ns = 0;    // since when everything cumulative counts; since 1970, UTC
  std::int64_t time_ns = 0;     // when the snapshot was taken
  std::vector<metric> metrics;  // in order of name
};

// Reads every instrument that was ever used, runs the callbacks, and adds the figures of the library itself
// (telltale.*). Any thread may call it; never delays a thread that counts. Snapshots exclude each other.
TELLTALE_EXPORT metric_snapshot snapshot_metrics();

}  // namespace telltale
