# SPDX-License-Identifier: BSD-3-Clause
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(TIRPC REQUIRED IMPORTED_TARGET libtirpc)
pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET lmdb)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
find_library(ISAL_LIBRARY isal REQUIRED)
find_path(ISAL_INCLUDE_DIR isa-l/crc.h PATH_SUFFIXES "" REQUIRED)
find_program(RPCGEN rpcgen REQUIRED)
find_path(SDT_INCLUDE_DIR sys/sdt.h)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

# Asio is compiled once, in the base library. Users of the library need the same definitions (rpcrdma/base/build.hpp).
set(RPCRDMA_ASIO_CACHE_SIZE 4)
set(RPCRDMA_ASIO_DEFINITIONS BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=${RPCRDMA_ASIO_CACHE_SIZE})
add_library(rpcrdma_asio INTERFACE)
target_include_directories(rpcrdma_asio SYSTEM INTERFACE ${Boost_INCLUDE_DIRS})
target_compile_definitions(rpcrdma_asio INTERFACE ${RPCRDMA_ASIO_DEFINITIONS})
target_link_libraries(rpcrdma_asio INTERFACE Threads::Threads)

# Static probes are optional.
add_library(rpcrdma_probes INTERFACE)
if(NOT SDT_INCLUDE_DIR)
  message(STATUS "Static probes left out: sys/sdt.h is not installed")
else()
  target_include_directories(rpcrdma_probes SYSTEM INTERFACE ${SDT_INCLUDE_DIR})
  target_compile_definitions(rpcrdma_probes INTERFACE RPCRDMA_PROBES)
endif()

add_library(rpcrdma_isal INTERFACE)
target_include_directories(rpcrdma_isal SYSTEM INTERFACE ${ISAL_INCLUDE_DIR})
target_link_libraries(rpcrdma_isal INTERFACE ${ISAL_LIBRARY})
