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
