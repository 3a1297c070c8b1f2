// DuckDB, in memory, set up so that what it is asked can neither write files nor read others than the store's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

#include "hub/store/duck.hpp"

namespace telltale::hub {

struct database_settings {
  std::string directory;  // of the files it may read; empty: none
  bool spill = true;      // what has no room in memory goes to a folder there
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
};

struct close_database {
  void operator()(duckdb_database db) const noexcept { duckdb_close(&db); }
};
using database = std::unique_ptr<std::remove_pointer_t<duckdb_database>, close_database>;

result<database> open_database(const database_settings& s);

}  // namespace telltale::hub
