// A TraceQL query as a tree: what the parser makes and the evaluator and the SQL writer read.
//
// The language is Grafana Tempo's, a subset of it (docs/hub.md). Values own what they say; nothing here refers to the
// query's text but the offsets that errors point at.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace telltale::hub::traceql {

struct duration {
  std::int64_t ns = 0;
  friend bool operator==(const duration&, const duration&) = default;
};
// One of the language's own words for a status (ok, error, unset) or a kind (server, client, …).
struct word {
  std::string text;
  friend bool operator==(const word&, const word&) = default;
};
// The first is nil: no value.
using value = std::variant<std::monostate, bool, std::int64_t, double, std::string, duration, word>;

// What of a span is asked for.
enum class intrinsic : std::uint8_t {
  none,  // an attribute
  name,
  duration,
  kind,
  status,
  status_message,
  span_id,
  parent_id,
  root_name,
  root_service,
  trace_duration,
  trace_id,
};
enum class attribute_scope : std::uint8_t { any, span, resource };  // `.x` looks at the span first

struct field {
  intrinsic what = intrinsic::none;
  attribute_scope scope = attribute_scope::any;
  std::string key;  // of an attribute
  friend bool operator==(const field&, const field&) = default;
};

// In order of how tightly they bind. `and_` and `or_` bind alike and are read from left to right, as Tempo does.
enum class operation : std::uint8_t {
  or_,
  and_,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  match,
  not_match,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  power,
  negate,  // the last two take one operand
  not_,
};

// `.x * 2 > 3`, inside braces and in the parentheses of an aggregate.
struct expression {
  std::variant<value, field, operation> node;
  std::vector<expression> operands;  // of an operation
  std::uint32_t at = 0;              // where it stands in the text
  friend bool operator==(const expression& a, const expression& b) {
    return a.node == b.node && a.operands == b.operands;
  }
};

enum class aggregate : std::uint8_t { count, average, minimum, maximum, sum };

// `avg(duration) * 2`, outside of braces.
struct scalar {
  struct call {
    aggregate what = aggregate::count;
    std::vector<expression> of;  // one, but for count()
    friend bool operator==(const call&, const call&) = default;
  };
  std::variant<value, call, operation> node;
  std::vector<scalar> operands;
  friend bool operator==(const scalar& a, const scalar& b) { return a.node == b.node && a.operands == b.operands; }
};

struct pipeline;

// Sets of spans joined: `{ … } >> { … }`.
enum class relation : std::uint8_t { or_, and_, child, parent, descendant, ancestor, sibling };
struct spanset {
  struct filter {
    std::vector<expression> condition;  // none: every span
    friend bool operator==(const filter&, const filter&) = default;
  };
  std::variant<filter, relation, std::vector<pipeline>> node;  // the last: one pipeline in parentheses
  std::vector<spanset> operands;                               // of a relation: two
  friend bool operator==(const spanset& a, const spanset& b);
};

struct scalar_filter {
  operation compare = operation::equal;
  scalar left;
  scalar right;
  friend bool operator==(const scalar_filter&, const scalar_filter&) = default;
};
struct group_by {
  std::vector<expression> by;
  friend bool operator==(const group_by&, const group_by&) = default;
};
struct select {
  std::vector<expression> what;
  friend bool operator==(const select&, const select&) = default;
};
struct coalesce {
  friend bool operator==(const coalesce&, const coalesce&) = default;
};

enum class metric : std::uint8_t { rate, count, minimum, maximum, average, sum, quantile };
// `rate() by (name)`: the last stage of a query; its answer is numbers over time.
struct metrics {
  metric what = metric::rate;
  std::vector<field> of;          // one, but for rate() and count_over_time()
  std::vector<double> quantiles;  // 0 to 1
  std::vector<expression> by;
  friend bool operator==(const metrics&, const metrics&) = default;
};

using stage = std::variant<spanset, scalar_filter, group_by, select, coalesce, metrics>;
struct pipeline {
  std::vector<stage> stages;
  friend bool operator==(const pipeline&, const pipeline&) = default;
};

inline bool operator==(const spanset& a, const spanset& b) {
  return a.node == b.node && a.operands == b.operands;
}

// As text that parses to the same tree again, operations in parentheses.
std::string to_string(const pipeline& p);
std::string to_string(const expression& e);

}  // namespace telltale::hub::traceql
