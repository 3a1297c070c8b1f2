#include "hub/store/schema.hpp"

namespace telltale::hub {

namespace {

constexpr column u64(std::string_view name) {
  return {name, "UBIGINT", DUCKDB_TYPE_UBIGINT};
}
constexpr column i64(std::string_view name) {
  return {name, "BIGINT", DUCKDB_TYPE_BIGINT};
}
constexpr column u8(std::string_view name) {
  return {name, "UTINYINT", DUCKDB_TYPE_UTINYINT};
}
constexpr column f64(std::string_view name) {
  return {name, "DOUBLE", DUCKDB_TYPE_DOUBLE};
}
constexpr column text(std::string_view name) {
  return {name, "VARCHAR", DUCKDB_TYPE_VARCHAR};
}
// A number in memory, and its text in files.
constexpr column resource = {"resource", "UINTEGER", DUCKDB_TYPE_UINTEGER};

constexpr column span_columns[] = {
    u64("trace_hi"),    u64("trace_lo"),    u64("span"),    u64("parent"),     text("name"),    text("service"),
    text("scope"),      text("node"),       u8("kind"),     u8("status"),      u8("state"),     text("status_message"),
    i64("start_ns"),    i64("duration_ns"), text("job_id"), text("module_id"), text("task_id"), text("phase"),
    text("attributes"), text("events"),     text("links"),  resource};
constexpr column log_columns[] = {
    i64("time_ns"),        u64("trace_hi"), u64("trace_lo"),    u64("span"),  u8("severity"),
    text("severity_text"), text("service"), text("scope"),      text("node"), text("event_name"),
    text("body"),          text("job_id"),  text("attributes"), resource};
constexpr column metric_columns[] = {i64("time_ns"), text("name"), text("unit"), text("type"),    text("service"),
                                     text("node"),   f64("value"), u64("count"), text("buckets"), text("attributes")};
constexpr column link_columns[] = {u64("from_trace_hi"), u64("from_trace_lo"), u64("from_span"), u64("to_trace_hi"),
                                   u64("to_trace_lo"),   u64("to_span"),       text("kind"),     i64("start_ns")};

constexpr column thinned_columns[] = {text("name"), text("service"), u8("kind"),
                                      u8("status"), i64("start_ns"), i64("duration_ns")};

constexpr relation relations[file_kinds] = {{span_columns, "trace_hi, trace_lo, start_ns"},
                                            {log_columns, "time_ns"},
                                            {metric_columns, "name, time_ns"},
                                            {link_columns, "to_trace_hi, to_trace_lo, to_span"},
                                            {thinned_columns, "name, kind, start_ns"}};

}  // namespace

const relation& relation_of(file_kind k) noexcept {
  return relations[index(k)];
}

std::string table_of(file_kind k, std::uint64_t generation) {
  return "mem_" + std::string(name_of(k)) + "_" + std::to_string(generation);
}

std::string resources_of(std::uint64_t generation) {
  return "mem_resources_" + std::to_string(generation);
}

std::string create_tables(std::uint64_t generation) {
  std::string sql = "CREATE TABLE " + resources_of(generation) + " (id UINTEGER, json VARCHAR);";
  for (const file_kind k : kinds) {
    sql += "CREATE TABLE " + table_of(k, generation) + " (";
    bool first = true;
    for (const column& c : relations[index(k)].columns) {
      sql += (first ? "\"" : ", \"") + std::string(c.name) + "\" " + std::string(c.sql);
      first = false;
    }
    sql += ");";
  }
  return sql;
}

std::string drop_tables(std::uint64_t generation) {
  std::string sql = "DROP TABLE " + resources_of(generation) + ";";
  for (const file_kind k : kinds) sql += "DROP TABLE " + table_of(k, generation) + ";";
  return sql;
}

std::string select_memory(file_kind k, std::uint64_t generation) {
  std::string columns;
  bool has_resource = false;
  for (const column& c : relations[index(k)].columns) {
    if (!columns.empty()) columns += ", ";
    if (c.name == "resource") {
      has_resource = true;
      columns += "coalesce(r.json, '{}') AS resource";
    } else {
      columns += "m.\"" + std::string(c.name) + "\"";
    }
  }
  std::string sql = "SELECT " + columns + " FROM " + table_of(k, generation) + " m";
  if (has_resource) sql += " LEFT JOIN " + resources_of(generation) + " r ON m.resource = r.id";
  return sql;
}

std::string columns_of(file_kind k) {
  std::string out;
  for (const column& c : relations[index(k)].columns) {
    out += (out.empty() ? "\"" : ", \"") + std::string(c.name) + "\"";
  }
  return out;
}

std::string create_view(file_kind k, std::uint64_t generation, const std::vector<std::string>& paths) {
  std::string all = select_memory(k, generation);
  std::string list;
  for (const std::string& p : paths) list += (list.empty() ? "" : ", ") + p;
  if (!list.empty()) all += " UNION ALL SELECT " + columns_of(k) + " FROM read_parquet([" + list + "])";
  std::string more;
  if (k == file_kind::spans) {
    more =
        ", format('{:016x}{:016x}', trace_hi, trace_lo) AS trace_id, format('{:016x}', span) AS span_id, "
        "CASE WHEN parent = 0 THEN NULL ELSE format('{:016x}', parent) END AS parent_id";
  } else if (k == file_kind::logs) {
    more =
        ", CASE WHEN trace_hi = 0 AND trace_lo = 0 THEN NULL ELSE format('{:016x}{:016x}', trace_hi, trace_lo) "
        "END AS trace_id, CASE WHEN span = 0 THEN NULL ELSE format('{:016x}', span) END AS span_id";
  }
  return "CREATE OR REPLACE VIEW " + std::string(name_of(k)) + " AS SELECT *" + more + " FROM (" + all + ")";
}

std::string create_counted_view(const std::vector<std::string>& paths) {
  const std::string columns = columns_of(file_kind::thinned);
  std::string list;
  for (const std::string& p : paths) list += (list.empty() ? "" : ", ") + p;
  std::string sql = "CREATE OR REPLACE VIEW counted AS SELECT " + columns + " FROM spans";
  if (!list.empty()) sql += " UNION ALL SELECT " + columns + " FROM read_parquet([" + list + "])";
  return sql;
}

}  // namespace telltale::hub
