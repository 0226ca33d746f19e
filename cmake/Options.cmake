# SPDX-License-Identifier: BSD-3-Clause
# The options of the build, and the settings of compiler, linker and output folders.
option(RPCRDMA_TESTS "Build the test suites" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_UNIT_TESTS "With RPCRDMA_TESTS: build all unit and protocol tests, not only those that sanitizers cut short" ON)
option(RPCRDMA_VM_TESTS "Register the tests that run in virtual machines" OFF)
option(RPCRDMA_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(RPCRDMA_FUZZ "Build the libFuzzer targets (needs clang)" OFF)
option(RPCRDMA_COVERAGE "Instrument for coverage" OFF)
option(RPCRDMA_LLD "Link with lld if it is installed" OFF)
set(RPCRDMA_SANITIZE "" CACHE STRING "Sanitizers, such as address,undefined or thread")

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# The number of sources that a unity build (CMAKE_UNITY_BUILD) compiles at once. Unity builds take half the time. Large
# batches are best for whole builds, small ones for a rebuild after an edit.
if(NOT CMAKE_UNITY_BUILD_BATCH_SIZE)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 10)
endif()
include(GNUInstallDirs)
# The build folder is laid out like an installation, so that programs find the plug-in in the same relative place.
file(RELATIVE_PATH RPCRDMA_LIBDIR_FROM_BIN "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
cmake_path(ABSOLUTE_PATH RPCRDMA_LIBDIR_FROM_BIN BASE_DIRECTORY "${CMAKE_BINARY_DIR}/bin" NORMALIZE
           OUTPUT_VARIABLE RPCRDMA_LIBRARY_OUTPUT_DIR)

# C++ symbols are hidden unless they are marked as visible, as by RPCRDMA_EXPORT (rpcrdma/base/export.hpp).
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

find_program(RPCRDMA_CCACHE ccache)
if(RPCRDMA_CCACHE)
  # ccache supports precompiled headers only with this sloppiness. Its depend mode does not run the preprocessor first.
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
      "${RPCRDMA_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${RPCRDMA_CCACHE}")
endif()
if(RPCRDMA_LLD)
  find_program(RPCRDMA_LLD_PROGRAM ld.lld)
  if(RPCRDMA_LLD_PROGRAM)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# Compiler options for the project's own C++ sources. The examples do not use them.
add_library(rpcrdma_options INTERFACE)
target_compile_options(rpcrdma_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wdelete-non-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wnull-dereference $<$<BOOL:${PROJECT_IS_TOP_LEVEL}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False positives of GCC 12: null dereferences and uninitialized values in inlined library code; mismatched new and
  # delete if GCC inlines only one of the two operators with which Asio allocates and frees coroutine frames.
  target_compile_options(rpcrdma_options INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized
    -Wno-mismatched-new-delete)
  # More false positives of GCC 12, in optimized builds: overlapping or unbounded copies in std::string's operator+ (GCC
  # bugs 105651, 105329), and accesses beyond the end of Boost's small_vector.
  target_compile_options(rpcrdma_options INTERFACE
    $<$<CONFIG:Release>:-Wno-restrict -Wno-stringop-overflow -Wno-array-bounds>)
endif()

if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # Clang's -Wconversion includes changes of sign, which GCC's does not. In some versions of Boost a result returns its
  # value by value, in others by reference, so that std::move() may be superfluous.
  target_compile_options(rpcrdma_options INTERFACE -Wno-sign-conversion -Wno-pessimizing-move)
endif()

if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # In a unity build GCC treats a source as a header, and warns that its anonymous namespaces differ from unit to unit.
  target_compile_options(rpcrdma_options INTERFACE -Wno-subobject-linkage)
endif()

add_library(rpcrdma_build INTERFACE)
if(RPCRDMA_SANITIZE)
  target_compile_definitions(rpcrdma_build INTERFACE RPCRDMA_SANITIZED)
  target_compile_options(rpcrdma_build INTERFACE
    -fsanitize=${RPCRDMA_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(rpcrdma_build INTERFACE -fsanitize=${RPCRDMA_SANITIZE})
  if(RPCRDMA_SANITIZE MATCHES "undefined")
    # Alignment checks double the compile time: they are on only in targets that read and write wire formats (property
    # RPCRDMA_WIRE). Null checks are off: a null pointer crashes without them. So are checks of an object's dynamic
    # type, which lengthen the build and need two file descriptors; so wrong casts of objects that exist are not found.
    set(wire "$<BOOL:$<TARGET_PROPERTY:RPCRDMA_WIRE>>")
    target_compile_options(rpcrdma_build INTERFACE
      $<$<COMPILE_LANGUAGE:C,CXX>:-fno-sanitize=null,vptr$<$<NOT:${wire}>:$<COMMA>alignment>>)
  endif()
  if(RPCRDMA_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Clang 14 cannot compile coroutines with the check "function".
    target_compile_options(rpcrdma_build INTERFACE -fno-sanitize=function)
  endif()
  if(RPCRDMA_SANITIZE MATCHES "thread")
    # Thread sanitizer does not support stand-alone fences. Programs cannot replace its operator new.
    target_compile_definitions(rpcrdma_build INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK RPCRDMA_THREAD_SANITIZED)
  endif()
endif()
if(RPCRDMA_COVERAGE)
  target_compile_options(rpcrdma_build INTERFACE --coverage)
  target_link_options(rpcrdma_build INTERFACE --coverage)
endif()
if(RPCRDMA_FUZZ)
  target_compile_options(rpcrdma_build INTERFACE -fsanitize=fuzzer-no-link)
endif()
