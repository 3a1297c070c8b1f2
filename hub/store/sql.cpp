#include "hub/store/sql.hpp"

#include <chrono>
#include <memory>
#include <thread>

namespace telltale::hub {

namespace {

using clock = std::chrono::steady_clock;

cell cell_of(const duck::rows& r, duckdb_type type, std::size_t c, std::size_t i) {
  if (r.is_null(c, i)) return std::monostate{};
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return r.get<bool>(c, i);
    case DUCKDB_TYPE_TINYINT:
      return std::int64_t{r.get<std::int8_t>(c, i)};
    case DUCKDB_TYPE_SMALLINT:
      return std::int64_t{r.get<std::int16_t>(c, i)};
    case DUCKDB_TYPE_INTEGER:
      return std::int64_t{r.get<std::int32_t>(c, i)};
    case DUCKDB_TYPE_BIGINT:
      return r.get<std::int64_t>(c, i);
    case DUCKDB_TYPE_UTINYINT:
      return std::int64_t{r.get<std::uint8_t>(c, i)};
    case DUCKDB_TYPE_USMALLINT:
      return std::int64_t{r.get<std::uint16_t>(c, i)};
    case DUCKDB_TYPE_UINTEGER:
      return std::int64_t{r.get<std::uint32_t>(c, i)};
    case DUCKDB_TYPE_UBIGINT: {
      const auto v = r.get<std::uint64_t>(c, i);
      if (v > INT64_MAX) return std::to_string(v);
      return static_cast<std::int64_t>(v);
    }
    case DUCKDB_TYPE_FLOAT:
      return static_cast<double>(r.get<float>(c, i));
    case DUCKDB_TYPE_DOUBLE:
      return r.get<double>(c, i);
    default:
      return std::string(r.text(c, i));
  }
}

bool is_simple(duckdb_type t) noexcept {
  switch (t) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_VARCHAR:
      return true;
    default:
      return false;
  }
}

result<void> execute(const duck::connection& c, duckdb_prepared_statement prepared,
                     const std::vector<duckdb_type>& types, query_limits limits, clock::time_point deadline,
                     table& out) {
  duckdb_pending_result pending = nullptr;
  const bool begun = duckdb_pending_prepared(prepared, &pending) == DuckDBSuccess;
  const std::unique_ptr<duckdb_pending_result, void (*)(duckdb_pending_result*)> owned(&pending,
                                                                                       &duckdb_destroy_pending);
  if (!begun) return error{duckdb_pending_error(pending)};
  for (;;) {
    const duckdb_pending_state state = duckdb_pending_execute_task(pending);
    if (state == DUCKDB_PENDING_ERROR) return error{duckdb_pending_error(pending)};
    if (duckdb_pending_execution_is_finished(state)) break;
    if (clock::now() > deadline) {
      // It has to notice by itself: a result that is dropped while its tasks run is never freed.
      duckdb_interrupt(c.get());
      for (duckdb_pending_state s = state; !duckdb_pending_execution_is_finished(s) && s != DUCKDB_PENDING_ERROR;
           s = duckdb_pending_execute_task(pending)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
      return error{"the query took longer than " + std::to_string(limits.timeout_ms) +
                   " ms and was stopped. Ask for less: a shorter time, fewer columns."};
    }
    if (state == DUCKDB_PENDING_NO_TASKS_AVAILABLE) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  duckdb_result r;
  const bool done = duckdb_execute_pending(pending, &r) == DuckDBSuccess;
  const std::unique_ptr<duckdb_result, void (*)(duckdb_result*)> kept(&r, &duckdb_destroy_result);
  if (!done) return error{duckdb_result_error(&r)};
  while (duckdb_data_chunk chunk = duckdb_fetch_chunk(r)) {
    const std::unique_ptr<duckdb_data_chunk, void (*)(duckdb_data_chunk*)> chunk_kept(&chunk,
                                                                                      &duckdb_destroy_data_chunk);
    const duck::rows rows(chunk, types.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (out.rows.size() == limits.rows) {
        out.cut = true;
        return {};
      }
      auto& row = out.rows.emplace_back();
      for (std::size_t k = 0; k < types.size(); ++k) row.push_back(cell_of(rows, types[k], k, i));
    }
  }
  return {};
}

}  // namespace

result<void> ask(const duck::connection& c, std::string sql, query_limits limits, table& out) {
  const auto deadline = clock::now() + std::chrono::milliseconds(limits.timeout_ms);
  while (!sql.empty() && (sql.back() == ';' || sql.back() == ' ' || sql.back() == '\n')) sql.pop_back();
  for (int pass = 0; pass < 2; ++pass) {
    duckdb_extracted_statements statements = nullptr;
    const idx_t count = duckdb_extract_statements(c.get(), sql.c_str(), &statements);
    const std::unique_ptr<duckdb_extracted_statements, void (*)(duckdb_extracted_statements*)> kept(
        &statements, &duckdb_destroy_extracted);
    if (count == 0) {
      const char* why = duckdb_extract_statements_error(statements);
      return error{why != nullptr ? why : "there is no statement"};
    }
    if (count > 1) return error{"one statement at a time; these are " + std::to_string(count)};
    duckdb_prepared_statement prepared = nullptr;
    const bool good = duckdb_prepare_extracted_statement(c.get(), statements, 0, &prepared) == DuckDBSuccess;
    const std::unique_ptr<duckdb_prepared_statement, void (*)(duckdb_prepared_statement*)> owned(
        &prepared, &duckdb_destroy_prepare);
    if (!good) return error{duckdb_prepare_error(prepared)};
    if (duckdb_prepared_statement_type(prepared) != DUCKDB_STATEMENT_TYPE_SELECT) {
      return error{"only SELECT is answered here: the store is written by what it receives"};
    }
    const idx_t columns = duckdb_prepared_statement_column_count(prepared);
    if (pass == 0) {  // once more with a limit, and with text for what isn't simple
      std::string list;
      out.columns.clear();
      for (idx_t i = 0; i < columns; ++i) {
        const char* name = duckdb_prepared_statement_column_name(prepared, i);
        out.columns.emplace_back(name);
        duckdb_free(const_cast<char*>(name));
        const duckdb_type t = duckdb_prepared_statement_column_type(prepared, i);
        const bool is_number = t == DUCKDB_TYPE_HUGEINT || t == DUCKDB_TYPE_UHUGEINT || t == DUCKDB_TYPE_DECIMAL;
        const std::string column = "c" + std::to_string(i);
        list += (i > 0 ? ", " : "") + (is_simple(t) ? column
                                       : is_number  ? "CAST(" + column + " AS DOUBLE)"
                                                    : "CAST(" + column + " AS VARCHAR)");
      }
      std::string names;
      for (idx_t i = 0; i < columns; ++i) names += (i > 0 ? ", c" : "c") + std::to_string(i);
      sql = "SELECT " + list + " FROM (" + sql + "\n) AS t(" + names + ") LIMIT " + std::to_string(limits.rows + 1);
      continue;
    }
    std::vector<duckdb_type> types;
    for (idx_t i = 0; i < columns; ++i) types.push_back(duckdb_prepared_statement_column_type(prepared, i));
    return execute(c, prepared, types, limits, deadline, out);
  }
  return {};
}

}  // namespace telltale::hub
