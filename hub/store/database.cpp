#include "hub/store/database.hpp"

#include <algorithm>
#include <vector>

#include "hub/store/duckdb_dialect.hpp"

namespace telltale::hub {

result<database> open_database(const database_settings& s) {
  duckdb_config config = nullptr;
  duckdb_create_config(&config);
  const auto set = [&](const char* key, const std::string& value) { duckdb_set_config(config, key, value.c_str()); };
  set("threads", std::to_string(std::max(1u, s.threads)));
  set("memory_limit", std::to_string(s.memory_bytes / 1'000'000) + "MB");
  set("autoinstall_known_extensions", "false");
  set("autoload_known_extensions", "false");
  duckdb_database opened = nullptr;
  char* why = nullptr;
  const bool good = duckdb_open_ext(nullptr, &opened, config, &why) == DuckDBSuccess;
  duckdb_destroy_config(&config);
  if (!good) {
    error e{"cannot start DuckDB: " + std::string(why != nullptr ? why : "unknown reason")};
    duckdb_free(why);
    return e;
  }
  database db(opened);
  const duckdb_dialect sql;
  std::vector<std::string> settings = {"SET parquet_metadata_cache = true", "SET preserve_insertion_order = false"};
  const bool spill = s.spill && !s.directory.empty();
  settings.push_back("SET temp_directory = " + sql.text(spill ? s.directory + "/temporary" : ""));
  if (!s.directory.empty()) {
    settings.push_back("SET allowed_directories = [" + sql.text(s.directory + "/") + "]");
  }
  settings.emplace_back("SET enable_external_access = false");
  settings.emplace_back("SET lock_configuration = true");
  const duck::connection c(db.get());
  for (const std::string& one : settings) {
    if (const auto done = c.run(one); !done) return error{"cannot set DuckDB up: " + done.error().message};
  }
  return db;
}

}  // namespace telltale::hub
