# Warnings are errors, in our own targets only: telltale_strict(target).
function(telltale_strict target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast -Wnon-virtual-dtor
    -Woverloaded-virtual -Wcast-align -Wnull-dereference -Wdouble-promotion -Wimplicit-fallthrough -Werror)
  get_target_property(sources ${target} SOURCES)
  # The C sources of the tests know none of the C++ flags.
  if("${sources}" MATCHES "\\.c(;|$)")
    set_property(TARGET ${target} PROPERTY COMPILE_OPTIONS -Wall -Wextra -Wpedantic -Wconversion -Werror)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND TELLTALE_SANITIZE)
    # g++ 12 reports false positives of these under the sanitizers' instrumentation.
    target_compile_options(${target} PRIVATE -Wno-null-dereference -Wno-maybe-uninitialized)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # libstdc++ 12's stable_sort uses what it calls deprecated.
    target_compile_options(${target} PRIVATE -Wno-deprecated-declarations)
  endif()
  if(TELLTALE_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${TELLTALE_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${TELLTALE_SANITIZE})
    if(TELLTALE_SANITIZE MATCHES "undefined")
      target_compile_options(${target} PRIVATE -fno-sanitize-recover=all)
      target_link_options(${target} PRIVATE -fno-sanitize-recover=all)
    endif()
  endif()
  if(TELLTALE_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# telltale_computes(TARGET...): arithmetic by the million. The sanitizer builds optimise their tests little or not
# at all, which compiles in a fraction of the time; these targets they optimise.
function(telltale_computes)
  if(TELLTALE_SANITIZE)
    foreach(target IN LISTS ARGN)
      if(TARGET ${target})
        target_compile_options(${target} PRIVATE -O1)
      endif()
    endforeach()
  endif()
endfunction()
