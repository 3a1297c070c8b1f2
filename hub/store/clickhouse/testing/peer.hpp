// A ClickHouse for tests: chDB behind the HTTP front beside this file, in a directory of its own.
//
//   clickhouse_peer peer;
//   if (!peer.why_not().empty()) GTEST_SKIP() << peer.why_not();
//   auto store = peer.store();                  // with its tables made
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "hub/store/clickhouse/clickhouse.hpp"
#include "hub/store/testing.hpp"

namespace telltale::hub::testing {

class clickhouse_peer {
 public:
  // `password` is wanted of everybody where it is given (the user is "telltale"); `config` is a file for chDB.
  explicit clickhouse_peer(const std::string& password = {}, const std::string& config = {});
  clickhouse_peer(const clickhouse_peer&) = delete;
  clickhouse_peer& operator=(const clickhouse_peer&) = delete;
  ~clickhouse_peer();

  const std::string& why_not() const noexcept { return why_not_; }  // no chDB here; empty where there is one
  clickhouse_options options() const;
  pid_t process() const noexcept { return process_; }

  // Makes the tables and opens the store; a failure is the test's.
  std::unique_ptr<store> opened(std::int64_t max_age_seconds = 0) const;

 private:
  temporary_directory directory_;
  std::string why_not_;
  std::string password_;
  pid_t process_ = -1;
  int input_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace telltale::hub::testing
