// The tables in ClickHouse, as text: what `telltale store init` says to a server.
//
// Each version of the schema is a list of statements that lead from the one before. They are written so that saying
// them again harms nothing: an init that was cut off is repeated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::hub {

struct clickhouse_schema {
  std::string database;
  std::string cluster;  // empty: one server, nothing replicated

  static constexpr std::uint32_t newest = 1;

  // The database, and the table that says which versions are in it.
  std::vector<std::string> foundation() const;
  std::vector<std::string> migration(std::uint32_t to) const;  // from to - 1; to is 1 to newest
  // How long rows are kept; 0 seconds: for ever. The table that has it last shows whether all have.
  std::vector<std::string> retention(std::int64_t seconds) const;
  std::string last_retained() const;

  std::string versions_table() const { return qualified("telltale_schema"); }

 private:
  std::string qualified(std::string_view table) const { return "`" + database + "`.`" + std::string(table) + "`"; }
  std::string on_cluster() const { return cluster.empty() ? "" : " ON CLUSTER `" + cluster + "`"; }
  // Where rows lie on a server: the table itself, or its part of it.
  std::string local(std::string_view table) const { return std::string(table) + (cluster.empty() ? "" : "_local"); }
  std::string engine(std::string_view kind, std::string_view table) const;
};

}  // namespace telltale::hub
