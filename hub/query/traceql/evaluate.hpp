// What a TraceQL query means: its answer on spans in memory. Stores may answer faster, never otherwise.
//
//   const trace_index trace(rows);                       // all spans of one trace
//   for (const span_group& g : evaluator(query).run(trace)) …
//
// The meaning is Tempo's: a comparison with an attribute that isn't there, or of two types, is false (`= nil` and
// `!= nil` ask whether it is there); regular expressions match the whole value (RE2).
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ast.hpp"
#include "hub/model.hpp"

namespace telltale::hub::traceql {

// The spans of a trace and how they hang together. Refers to the rows.
class trace_index {
 public:
  explicit trace_index(std::span<const span_row> rows);

  static constexpr std::size_t none = SIZE_MAX;
  std::span<const span_row> rows() const noexcept { return rows_; }
  std::size_t parent(std::size_t i) const noexcept { return parent_[i]; }
  std::size_t root() const noexcept { return root_; }  // the first to begin of those without a parent
  std::int64_t begin_ns() const noexcept { return begin_ns_; }
  std::int64_t end_ns() const noexcept { return end_ns_; }

 private:
  std::span<const span_row> rows_;
  std::vector<std::size_t> parent_;
  std::size_t root_ = none;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
};

struct span_group {
  std::vector<std::size_t> spans;  // into the rows, in their order
  std::vector<value> by;           // what `by (…)` grouped them by
};

// One line of numbers over time.
struct series {
  std::vector<std::pair<std::string, std::string>> labels;  // the expressions of `by`, as text; `p` for a quantile
  std::vector<double> values;                               // one per step; NaN where there is nothing to tell
};
struct steps {
  std::int64_t begin_ns = 0;
  std::int64_t step_ns = 1;
  std::size_t count = 1;
};

class evaluator {
 public:
  explicit evaluator(pipeline query);
  ~evaluator();

  // The groups of spans that the query leaves; none where the trace doesn't match. A last stage that makes metrics is
  // left out: add() is for that.
  std::vector<span_group> run(const trace_index& trace) const;
  // Whether one span alone fulfils the filter that the query begins with; for a live tail.
  bool first_filter_accepts(const span_row& row) const;

  bool makes_metrics() const noexcept;
  // Metrics: counts in the spans of a trace that the query leaves and that begin in a step. A span's start decides.
  void add(const trace_index& trace, const steps& over);
  std::vector<series> metrics_so_far(const steps& over) const;

  value get(const field& f, const trace_index& trace, std::size_t span) const;

 private:
  struct regexes;
  struct samples;
  value eval(const expression& e, const trace_index& trace, std::size_t span) const;
  value apply(const expression& e, const trace_index& trace, std::size_t span) const;
  std::vector<std::size_t> spans_of(const spanset& s, const trace_index& trace,
                                    const std::vector<std::size_t>& among) const;
  std::vector<span_group> run_pipeline(const pipeline& p, const trace_index& trace,
                                       std::vector<span_group> groups) const;
  double number(const scalar& s, const trace_index& trace, const span_group& g) const;
  void collect(const expression& e);
  void collect(const spanset& s);
  void collect(const pipeline& p);

  pipeline query_;
  std::unique_ptr<regexes> regexes_;
  std::map<std::vector<std::string>, std::unique_ptr<samples>> samples_;
};

// A value as text: strings as they are, durations in nanoseconds.
std::string text_of(const value& v);

}  // namespace telltale::hub::traceql
