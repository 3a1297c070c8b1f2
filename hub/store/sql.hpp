// Somebody's SELECT: one statement, read only, in limited time, its answer as plain cells.
#pragma once

#include <string>

#include "hub/store/duck.hpp"
#include "hub/store/store.hpp"

namespace telltale::hub {

result<void> ask(const duck::connection& c, std::string sql, query_limits limits, table& out);

}  // namespace telltale::hub
