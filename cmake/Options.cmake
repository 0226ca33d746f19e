# SPDX-License-Identifier: BSD-3-Clause
# Language level, warnings, sanitizers and output folders, for every target of the house.
option(RPCRDMA_TESTS "Build the test suites" ON)
option(RPCRDMA_VM_TESTS "Register the tests that run in virtual machines" OFF)
option(RPCRDMA_BENCH "Build the benchmarks" ON)
option(RPCRDMA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(RPCRDMA_COVERAGE "Instrument for coverage" OFF)
set(RPCRDMA_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# With CMAKE_UNITY_BUILD (the presets that test): several sources of a target at once, which halves a whole build.
set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(RPCRDMA_CCACHE ccache)
if(RPCRDMA_CCACHE)
  # Precompiled headers need the looser comparison.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${RPCRDMA_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${RPCRDMA_CCACHE}")
endif()

# Everything that is ours is compiled with these; generated code with fewer (see xdr/).
add_library(rpcrdma_options INTERFACE)
target_compile_options(rpcrdma_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdelete-non-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wnull-dereference -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees null dereferences and unset values inside inlined library code that are not there, and a mismatch where
  # it inlines only one of the two operators by which Asio allocates coroutine frames.
  target_compile_options(rpcrdma_options INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized
    -Wno-mismatched-new-delete)
  # Optimizing, it takes std::string's operator+ for an overlapping or endless copy (GCC bugs 105651, 105329), and the
  # end of Boost's small_vector for one beyond it.
  target_compile_options(rpcrdma_options INTERFACE
    $<$<CONFIG:Release>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds>)
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # A source within another counts as a header, whose types would differ from unit to unit.
  target_compile_options(rpcrdma_options INTERFACE -Wno-subobject-linkage)
endif()

add_library(rpcrdma_build INTERFACE)
if(RPCRDMA_SANITIZE)
  target_compile_options(rpcrdma_build INTERFACE
    -fsanitize=${RPCRDMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rpcrdma_build INTERFACE -fsanitize=${RPCRDMA_SANITIZE})
  if(RPCRDMA_SANITIZE MATCHES "undefined")
    # Checks of alignment double the time that compiling takes; they are made where octets of the wire are read and
    # written (property RPCRDMA_WIRE). A null pointer ends a program under the address sanitizer without a check.
    set(wire "$<BOOL:$<TARGET_PROPERTY:RPCRDMA_WIRE>>")
    target_compile_options(rpcrdma_build INTERFACE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=null$<$<NOT:${wire}>:$<COMMA>alignment>>)
  endif()
  if(RPCRDMA_SANITIZE MATCHES "thread")
    # Thread sanitizer does not model stand-alone fences.
    target_compile_definitions(rpcrdma_build INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
if(RPCRDMA_COVERAGE)
  target_compile_options(rpcrdma_build INTERFACE --coverage)
  target_link_options(rpcrdma_build INTERFACE --coverage)
endif()
if(RPCRDMA_FUZZ)
  target_compile_options(rpcrdma_build INTERFACE -fsanitize=fuzzer-no-link)
endif()
