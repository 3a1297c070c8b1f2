// DuckDB's SQL for what differs between stores. Attributes are JSON that we wrote, without blanks: an exact match is a
// search for "key":value, which is much faster than reading the JSON. What it finds is read where that may be another
// value that begins alike, as numbers do, or a nested map's: in a CASE, because DuckDB evaluates both sides of an AND
// whose result is wanted, but a branch only for the rows that take it.
#include "hub/store/duckdb_dialect.hpp"

#include <algorithm>

#include "hub/otlp/text.hpp"

namespace telltale::hub {

namespace {

bool is_promoted(std::string_view key) noexcept {
  return key == "job_id" || key == "module_id" || key == "task_id" || key == "phase";
}
std::string_view column_of(dialect::from where) noexcept {
  return where == dialect::from::span ? "attributes" : "resource";
}

}  // namespace

std::string duckdb_dialect::text(std::string_view value) const {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\0') continue;  // no text in the store holds one
    out += c;
    if (c == '\'') out += c;
  }
  return out + "'";
}

std::string duckdb_dialect::is_trace(trace_id id) const {
  return "(trace_hi = " + std::to_string(id.high) + " AND trace_lo = " + std::to_string(id.low) + ")";
}

std::string duckdb_dialect::attribute(std::string_view key, from where) const {
  if (where == from::span && is_promoted(key)) return std::string(key);
  // A JSON path with the key in quotes; a quote or backslash in it is escaped as in JSON.
  std::string path = "$.";
  append_json(path, key);
  return "(" + std::string(column_of(where)) + " ->> " + text(path) + ")";
}

std::string duckdb_dialect::attribute_number(std::string_view key, from where) const {
  return "TRY_CAST(" + attribute(key, where) + " AS DOUBLE)";
}

std::string duckdb_dialect::attribute_is(std::string_view key, from where, const attribute_value& value) const {
  const bool is_text = std::holds_alternative<std::string>(value);
  if (where == from::span && is_promoted(key)) {  // kept as text
    // Said so, and not with COALESCE, DuckDB leaves out row groups that hold no such value.
    const std::string column(key);
    return is_text ? "(" + column + " = " + text(to_string(value)) + " AND " + column + " IS NOT NULL)" : "FALSE";
  }
  std::string item;
  append_json(item, key);
  item += ':';
  append_json(item, value);
  const std::string column(column_of(where));
  std::string has = "contains(" + column + ", " + text(item) + ")";
  std::string read = attribute(key, where) + " = " + text(to_string(value));
  if (is_text) read = "(NOT contains(" + column + "[2:], '{') OR " + read + ")";
  if (std::holds_alternative<double>(value)) {
    const auto ends_with = [&](char end) { return "contains(" + column + ", " + text(item + end) + ")"; };
    has = ends_with(',') + " OR " + ends_with('}');
    // As text a double is written in more than one way.
    read = attribute_number(key, where) + " = TRY_CAST(" + text(to_string(value)) + " AS DOUBLE)";
  }
  return "CASE WHEN " + has + " THEN COALESCE(" + read + ", FALSE) ELSE FALSE END";
}

std::string duckdb_dialect::quantile(std::string_view expression, double q) const {
  return "quantile_cont(" + std::string(expression) + ", " + std::to_string(std::clamp(q, 0.0, 1.0)) + ")";
}

std::string duckdb_dialect::matches(std::string_view expression, std::string_view regex) const {
  return "regexp_full_match(" + std::string(expression) + ", " + text(regex) + ")";
}

}  // namespace telltale::hub
