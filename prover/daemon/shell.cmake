# What stands around the daemon's inside: configuration, journal, witness generators, its API.
find_library(TOMLPLUSPLUS tomlplusplus REQUIRED)

# The TOML reader is heavy to include and stays in one file.
add_library(prover_daemon_config STATIC daemon/config.cpp daemon/config_print.cpp)
add_library(telltale::prover_daemon_config ALIAS prover_daemon_config)
telltale_strict(prover_daemon_config)
target_compile_definitions(prover_daemon_config PRIVATE TOML_HEADER_ONLY=0 TOML_SHARED_LIB=1)
telltale_link(prover_daemon_config prover PUBLIC telltale::prover PRIVATE ${TOMLPLUSPLUS})
telltale_test(prover_config_test prover daemon/config_test.cpp ONE_THREAD LIBS telltale::prover_daemon_config)
telltale_fuzzer(prover_config_fuzzer prover daemon/fuzz/config_fuzzer.cpp LIBS telltale::prover_daemon_config)

find_package(SQLite3 REQUIRED)
add_library(prover_daemon_outside STATIC
  daemon/witness_process.cpp
  daemon/journal/journal_sqlite.cpp
  daemon/journal/payload_files.cpp
  daemon/journal/sqlite.cpp
  daemon/journal/tables.cpp)
add_library(telltale::prover_daemon_outside ALIAS prover_daemon_outside)
telltale_strict(prover_daemon_outside)
telltale_link(prover_daemon_outside prover PUBLIC telltale::prover_daemon telltale::prover_daemon_config SQLite::SQLite3)
telltale_test(prover_witness_process_test prover daemon/witness_process_test.cpp ONE_THREAD
  LIBS telltale::prover_daemon_outside)
telltale_test(prover_journal_test prover daemon/journal/journal_sqlite_test.cpp LIBS telltale::prover_daemon_outside)

# The API: generated code and gRPC's headers in these few files, nothing of them in a header of ours.
find_package(Protobuf REQUIRED)
find_program(GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
find_library(GRPCPP grpc++ REQUIRED)
find_library(GRPCPP_REFLECTION grpc++_reflection REQUIRED)
find_library(GRPC grpc REQUIRED)
find_library(GPR gpr REQUIRED)
find_library(ABSL_SYNCHRONIZATION absl_synchronization REQUIRED)  # which the generated code calls itself
set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
set(api ${generated}/prover/daemon/rpc/prover)
add_custom_command(
  OUTPUT ${api}.pb.cc ${api}.pb.h ${api}.grpc.pb.cc ${api}.grpc.pb.h
  COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR} --cpp_out=${generated} --grpc_out=${generated}
          --plugin=protoc-gen-grpc=${GRPC_CPP_PLUGIN} prover/daemon/rpc/prover.proto
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/daemon/rpc/prover.proto
  VERBATIM)
# Not ours to be strict about.
add_library(prover_api STATIC ${api}.pb.cc ${api}.grpc.pb.cc)
target_include_directories(prover_api SYSTEM PUBLIC ${generated})
target_link_libraries(prover_api PUBLIC protobuf::libprotobuf ${GRPCPP} ${GRPC} ${GPR} ${ABSL_SYNCHRONIZATION})

add_library(prover_convert STATIC daemon/rpc/convert.cpp)
telltale_strict(prover_convert)
telltale_link(prover_convert prover PUBLIC telltale::prover prover_api)

# Loaded when it is needed: `prover prove` with a key of its own starts without gRPC.
add_library(telltale_prover_client SHARED daemon/rpc/client.cpp)
telltale_strict(telltale_prover_client)
set_target_properties(telltale_prover_client PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)
telltale_link(telltale_prover_client prover PRIVATE telltale::core prover_convert)
install(TARGETS telltale_prover_client LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_SKIP)

add_library(prover_load_client STATIC daemon/rpc/load_client.cpp)
add_library(telltale::prover_client ALIAS prover_load_client)
telltale_strict(prover_load_client)
target_compile_definitions(prover_load_client PRIVATE PROVER_CLIENT_LIBRARY="libtelltale_prover_client.so.1")
telltale_link(prover_load_client prover PUBLIC telltale::prover PRIVATE ${CMAKE_DL_LIBS})
add_dependencies(prover_load_client telltale_prover_client)

add_library(prover_server STATIC daemon/rpc/server.cpp daemon/rpc/listening.cpp daemon/status_json.cpp)
add_library(telltale::prover_server ALIAS prover_server)
telltale_strict(prover_server)
telltale_link(prover_server prover PUBLIC telltale::prover_daemon PRIVATE prover_convert ${GRPCPP_REFLECTION}
  OpenSSL::Crypto nlohmann_json::nlohmann_json)

# The two programs.
if(NOT TARGET telltale_http)
  message(FATAL_ERROR "prover-daemon needs libmicrohttpd-dev (scripts/install prover)")
endif()
add_executable(prover-daemon daemon/main.cpp daemon/http_routes.cpp)
telltale_strict(prover-daemon)
# g++ 12 sees null pointers in CLI11's vectors of strings that aren't there.
target_compile_options(prover-daemon PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference>)
telltale_link(prover-daemon prover PRIVATE prover_server telltale::prover_daemon_config prover_daemon_outside
  telltale::core_http CLI11::CLI11 ${GPR})
target_compile_definitions(prover-daemon PRIVATE TELLTALE_VERSION="${PROJECT_VERSION}")

# Ways of asking a daemon and measuring it: prover-bench's, and those of ./bench prover.
add_library(prover_load STATIC load/process_memory.cpp load/report.cpp load/run.cpp)
telltale_strict(prover_load)
telltale_link(prover_load prover PUBLIC telltale::prover_client PRIVATE nlohmann_json::nlohmann_json)

add_executable(prover-bench load/main.cpp cli/server_options.cpp)
telltale_strict(prover-bench)
target_compile_options(prover-bench PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-null-dereference>)
telltale_link(prover-bench prover PRIVATE prover_load CLI11::CLI11)
target_compile_definitions(prover-bench PRIVATE TELLTALE_VERSION="${PROJECT_VERSION}")
install(TARGETS prover-daemon prover-bench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

telltale_test(prover_screen_test prover cli/screen_test.cpp cli/screen.cpp ONE_THREAD
  LIBS telltale::prover nlohmann_json::nlohmann_json)

# Real daemons, killed, flooded and starved. Light to compile: the client's library brings gRPC.
find_package(CURL REQUIRED)
telltale_test(prover_daemon_faults_test prover daemon/tests/faults_test.cpp daemon/tests/network_test.cpp
  daemon/tests/operation_test.cpp LIBS prover_load CURL::libcurl)
if(TARGET prover_daemon_faults_test)
  target_compile_definitions(prover_daemon_faults_test PRIVATE
    PROVER_DAEMON="$<TARGET_FILE:prover-daemon>" DATA="${PROJECT_SOURCE_DIR}/data"
    DEPLOY="${PROJECT_SOURCE_DIR}/deploy" CLOCK_STEP="$<TARGET_FILE:prover_clock_step>")
  if(TELLTALE_SANITIZE)
    target_compile_definitions(prover_daemon_faults_test PRIVATE SANITIZED)
  endif()
  add_library(prover_clock_step MODULE daemon/tests/clock_step.cpp)
  add_dependencies(prover_daemon_faults_test prover-daemon prover_clock_step)
endif()

# What is shipped for operators: the example is a configuration, and the rules are Prometheus'.
if(TELLTALE_TESTS AND NOT TELLTALE_SANITIZE MATCHES "thread")
  add_test(NAME prover.ExampleConfiguration.IsUnderstood
    COMMAND prover-daemon --config ${PROJECT_SOURCE_DIR}/deploy/prover-daemon.toml --print-config)
  find_program(PROMTOOL promtool)
  if(PROMTOOL)
    add_test(NAME prover.AlertRules.AreUnderstood
      COMMAND ${PROMTOOL} check rules ${PROJECT_SOURCE_DIR}/deploy/prover-alerts.yaml)
    set_tests_properties(prover.AlertRules.AreUnderstood PROPERTIES LABELS prover)
  endif()
  set_tests_properties(prover.ExampleConfiguration.IsUnderstood PROPERTIES LABELS prover)
endif()
