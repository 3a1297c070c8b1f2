// Statements to a ClickHouse over HTTP, one at a time per connection; connections are kept.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <telltale/core/result.hpp>
#include <utility>
#include <vector>

#include "hub/store/clickhouse/clickhouse.hpp"

namespace telltale::hub {

class clickhouse_client {
 public:
  using settings = std::vector<std::pair<std::string_view, std::string>>;

  explicit clickhouse_client(const clickhouse_options& o, clickhouse_address at);
  ~clickhouse_client();

  // A question: it can't write, nor read what isn't in tables. The answer as the format in it says. Any thread.
  result<std::string> ask(std::string_view sql, std::chrono::milliseconds timeout, settings more = {}) const;
  // A statement that changes tables. Any thread.
  result<void> change(std::string_view sql) const;
  // Rows as RowBinary into a table. Returns when the server has them, on a cluster the shard's. Any thread.
  result<void> insert(std::string_view table, std::string_view rows) const;

  const std::string& database() const noexcept { return at_.database; }

 private:
  struct connection;
  result<std::string> send(const settings& parameters, std::string_view body, std::chrono::milliseconds timeout) const;

  const clickhouse_address at_;
  const std::string user_;
  const std::string password_;
  const std::chrono::milliseconds timeout_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<connection>> idle_;
  mutable std::size_t server_ = 0;  // the one that answered last
};

}  // namespace telltale::hub
