// What of a query a store can answer itself: conditions in its SQL that no matching span (or trace) fails.
//
// The store narrows down, the evaluator decides: a condition here may let too much through, never too little. `exact`
// says that it lets through exactly what the evaluator would.
#pragma once

#include <string>
#include <vector>

#include "ast.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub::traceql {

struct condition {
  std::string sql = "TRUE";
  bool exact = false;
};
condition to_sql(const expression& e, const dialect& d);

// Conditions on spans, each of which some span of a matching trace fulfils; never empty.
std::vector<condition> conditions_of(const pipeline& p, const dialect& d);

// Whether it asks of spans only what stays of thinned ones: name, kind, status, duration.
bool is_counted(const expression& e);

// A field as an SQL expression whose text is text_of() of its value; empty where there is none.
std::string column_of(const field& f, const dialect& d);

}  // namespace telltale::hub::traceql
