# What stands around the daemon's inside: configuration, journal, witness generators, its API.
find_library(TOMLPLUSPLUS tomlplusplus REQUIRED)

# The TOML reader is heavy to include and stays in one file.
add_library(prover_daemon_config STATIC daemon/config.cpp)
add_library(telltale::prover_daemon_config ALIAS prover_daemon_config)
telltale_strict(prover_daemon_config)
target_compile_definitions(prover_daemon_config PRIVATE TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
telltale_link(prover_daemon_config prover PUBLIC telltale::prover PRIVATE ${TOMLPLUSPLUS})
telltale_test(prover_config_test prover daemon/config_test.cpp ONE_THREAD LIBS telltale::prover_daemon_config)
telltale_fuzzer(prover_config_fuzzer prover daemon/fuzz/config_fuzzer.cpp LIBS telltale::prover_daemon_config)

find_package(SQLite3 REQUIRED)
add_library(prover_daemon_outside STATIC
  daemon/witness_process.cpp daemon/witness_source.cpp
  daemon/journal/journal_sqlite.cpp
  daemon/journal/payload_files.cpp
  daemon/journal/sqlite.cpp)
add_library(telltale::prover_daemon_outside ALIAS prover_daemon_outside)
telltale_strict(prover_daemon_outside)
telltale_link(prover_daemon_outside prover PUBLIC telltale::prover telltale::prover_daemon_config SQLite::SQLite3)
telltale_test(prover_witness_process_test prover daemon/witness_process_test.cpp ONE_THREAD
  LIBS telltale::prover_daemon_outside)
telltale_test(prover_journal_test prover daemon/journal/journal_sqlite_test.cpp LIBS telltale::prover_daemon_outside)
