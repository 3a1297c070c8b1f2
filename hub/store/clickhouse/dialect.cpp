// ClickHouse's SQL for what differs between stores. Attributes are kept as their JSON members, an array of "key":value
// as we wrote them: an exact match is one element of it, which an index knows, and a value is what stands behind the
// first element that begins with its key.
#include "hub/store/clickhouse/dialect.hpp"

#include <algorithm>

#include "hub/otlp/text.hpp"

namespace telltale::hub {

namespace {

bool is_promoted(std::string_view key) noexcept {
  return key == "job_id" || key == "module_id" || key == "task_id" || key == "phase";
}
std::string_view column_of(dialect::from where) noexcept {
  return where == dialect::from::span ? "attribute_items" : "resource_items";
}

}  // namespace

std::string clickhouse_dialect::text(std::string_view value) const {
  std::string out = "'";
  for (const char c : value) {
    if (c == '\0') {
      out += "\\0";
      continue;
    }
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

std::string clickhouse_dialect::is_trace(trace_id id) const {
  return "(trace_hi = " + std::to_string(id.high) + " AND trace_lo = " + std::to_string(id.low) + ")";
}

std::string clickhouse_dialect::attribute(std::string_view key, from where) const {
  if (where == from::span && is_promoted(key)) return std::string(key);
  std::string begin;
  append_json(begin, key);
  begin += ':';
  const std::string raw = "substring(arrayFirst(item -> startsWith(item, " + text(begin) + "), " +
                          std::string(column_of(where)) + "), " + std::to_string(begin.size() + 1) + ")";
  // A string is read as JSON; a number, truth or nested value is its JSON as text.
  return "(multiIf(" + raw + " IN ('', 'null'), NULL, startsWith(" + raw + ", '\"'), JSONExtractString(concat('[', " +
         raw + ", ']'), 1), " + raw + "))";
}

std::string clickhouse_dialect::attribute_number(std::string_view key, from where) const {
  return "toFloat64OrNull(" + attribute(key, where) + ")";
}

std::string clickhouse_dialect::attribute_is(std::string_view key, from where, const attribute_value& value) const {
  if (where == from::span && is_promoted(key)) {  // kept as text
    const bool is_text = std::holds_alternative<std::string>(value);
    const std::string column(key);
    return is_text ? "(" + column + " = " + text(to_string(value)) + " AND " + column + " IS NOT NULL)" : "FALSE";
  }
  std::string item;
  append_json(item, key);
  item += ':';
  append_json(item, value);
  return "has(" + std::string(column_of(where)) + ", " + text(item) + ")";
}

std::string clickhouse_dialect::quantile(std::string_view expression, double q) const {
  return "quantileExactInclusive(" + std::to_string(std::clamp(q, 0.0, 1.0)) + ")(" + std::string(expression) + ")";
}

std::string clickhouse_dialect::matches(std::string_view expression, std::string_view regex) const {
  // In ClickHouse a dot takes a line's end as well, unless it is told not to.
  return "match(" + std::string(expression) + ", " + text("^(?-s:" + std::string(regex) + ")$") + ")";
}

}  // namespace telltale::hub
