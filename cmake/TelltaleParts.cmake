# The parts, and the arrows between them. A part links only what its line here allows: telltale_link() refuses
# the rest, so a circle or a short cut fails at configure time and names both ends.
set(TELLTALE_ALL_PARTS core gpu hub cli prover cluster shape)
set(TELLTALE_ALLOWED_core    "")
set(TELLTALE_ALLOWED_gpu     "core")
set(TELLTALE_ALLOWED_hub     "core")
set(TELLTALE_ALLOWED_cli     "core;hub")
set(TELLTALE_ALLOWED_prover  "core;gpu")
set(TELLTALE_ALLOWED_cluster "core;gpu;prover")
set(TELLTALE_ALLOWED_shape   "core;gpu")

# telltale_add_parts(): adds the folders of TELLTALE_PARTS and of what they stand on, lowest first.
function(telltale_add_parts)
  set(wanted ${TELLTALE_PARTS})
  foreach(part IN LISTS TELLTALE_PARTS)
    if(NOT part IN_LIST TELLTALE_ALL_PARTS)
      message(FATAL_ERROR "TELLTALE_PARTS names \"${part}\", which is no part. Parts: ${TELLTALE_ALL_PARTS}.")
    endif()
    list(APPEND wanted ${TELLTALE_ALLOWED_${part}})
  endforeach()
  foreach(part IN LISTS TELLTALE_ALL_PARTS)
    if(part IN_LIST wanted AND EXISTS ${PROJECT_SOURCE_DIR}/${part}/CMakeLists.txt)
      add_subdirectory(${part})
    endif()
  endforeach()
endfunction()

# telltale_link(TARGET PART VISIBILITY LIBRARY...): target_link_libraries that knows the layers. PART is the part
# the target belongs to; a library telltale::X or telltale::X_* belongs to part X.
function(telltale_link target part visibility)
  foreach(library IN LISTS ARGN)
    if(library MATCHES "^telltale::([a-z]+)")
      set(other ${CMAKE_MATCH_1})
      if(NOT other STREQUAL part AND NOT other IN_LIST TELLTALE_ALLOWED_${part})
        message(FATAL_ERROR "${target} (part ${part}) may not link ${library}: ${part} stands on "
                            "\"${TELLTALE_ALLOWED_${part}}\" only (cmake/TelltaleParts.cmake).")
      endif()
    endif()
  endforeach()
  target_link_libraries(${target} ${visibility} ${ARGN})
endfunction()

# telltale_test(NAME PART SOURCE... [ONE_THREAD] [LIBS library...]): one GoogleTest program, registered case by case with
# ctest. ONE_THREAD: what it tests knows no threads, so the thread sanitizer's build goes without it. Tests that flood
# want each record: the governor is off but where a test switches it on.
function(telltale_test name part)
  cmake_parse_arguments(arg "ONE_THREAD" "" "LIBS" ${ARGN})
  if(NOT TELLTALE_TESTS)
    return()
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  telltale_strict(${name})
  if(TELLTALE_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # What is tested is optimised; what tests it is compiled in a third of the time.
    target_compile_options(${name} PRIVATE -O0)
  endif()
  telltale_link(${name} ${part} PRIVATE ${arg_LIBS} GTest::gtest_main GTest::gtest Threads::Threads)
  if(arg_ONE_THREAD AND TELLTALE_SANITIZE MATCHES "thread")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  include(GoogleTest)
  gtest_discover_tests(${name} TEST_PREFIX "${part}." DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${part} ENVIRONMENT TELLTALE_OVERHEAD=off)
endfunction()

# telltale_bench(NAME PART SOURCE... [LIBS library...]): one Google Benchmark program, built into bin/bench.
function(telltale_bench name part)
  if(NOT TELLTALE_BENCH)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  telltale_strict(${name})
  telltale_link(${name} ${part} PRIVATE ${arg_LIBS} benchmark::benchmark Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/bench)
endfunction()

# telltale_fuzzer(NAME PART SOURCE... [LIBS library...]): one libFuzzer program, built into bin/fuzz. The target
# PART_fuzzers is all of a part's.
function(telltale_fuzzer name part)
  if(NOT TELLTALE_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "LIBS" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  telltale_strict(${name})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  telltale_link(${name} ${part} PRIVATE ${arg_LIBS} Threads::Threads)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/fuzz)
  if(NOT TARGET ${part}_fuzzers)
    add_custom_target(${part}_fuzzers)
  endif()
  add_dependencies(${part}_fuzzers ${name})
endfunction()
