// The store for more than one machine: an existing ClickHouse, over its HTTP interface, behind the same interface as
// the embedded store.
//
//   hub::clickhouse_options o;
//   o.url = "http://clickhouse:8123/telltale";
//   hub::init_clickhouse(o);                    // once: `telltale store init`
//   auto store = hub::open_clickhouse(o);
//
// What is asked is one SELECT at a time, with readonly = 1; what is written is RowBinary, so no text of a sender's is
// ever part of a statement. Several hubs may share one ClickHouse: each shows the open spans that it was told of.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <telltale/core/result.hpp>
#include <vector>

#include "hub/store/store.hpp"

namespace telltale::hub {

struct clickhouse_options {
  // http://HOST:8123/DATABASE, or several with commas between them: of one ClickHouse, the next where one can't be
  // reached. Empty: the embedded store. Without a database: telltale.
  std::string url;
  std::string user;                             // empty: the server's default
  std::string password;                         // sent as a header; in no message
  std::string cluster;                          // its name in the server's configuration; empty: one server
  std::int64_t timeout_seconds = 30;            // of an insert, and of what a trace is read with
  std::int64_t max_age_seconds = 0;             // 0: no limit. Takes effect with init_clickhouse
  std::uint64_t max_waiting_bytes = 64u << 20;  // waits to be sent; more is refused for now
  std::int64_t heartbeat_timeout_seconds = 35;  // as the embedded store's
};

struct clickhouse_address {
  std::vector<std::string> servers;  // http://HOST:PORT, without a slash behind it
  std::string database;
};
result<clickhouse_address> parse_clickhouse_url(std::string_view url);

// What is wrong with them, if anything; asks no server.
result<void> check_clickhouse(const clickhouse_options& o);

// Makes or migrates the tables, and sets how long they keep. What happened, for a person. Refuses a schema that is
// newer than this program.
result<std::string> init_clickhouse(const clickhouse_options& o);

// Fails where no server answers, and where the tables aren't those of this program.
result<std::unique_ptr<store>> open_clickhouse(clickhouse_options o);

}  // namespace telltale::hub
