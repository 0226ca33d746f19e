# SPDX-License-Identifier: BSD-3-Clause
# Parses library headers once for all targets, which halves the time of a whole build. Off by default, so that a plain
# build checks that each source includes the headers that it uses.
option(RPCRDMA_PRECOMPILE "Precompile the headers of other libraries" OFF)
if(RPCRDMA_PRECOMPILE)
  set(CMAKE_CXX_COMPILE_OPTIONS_PIE -fPIC)  # programs and libraries can then share precompiled headers
endif()

# rpcrdma_precompiled(NAME LIBRARIES...) compiles precompiled/NAME.hpp.
function(rpcrdma_precompiled name)
  if(NOT RPCRDMA_PRECOMPILE)
    return()
  endif()
  set(unit "${CMAKE_BINARY_DIR}/precompiled/${name}.cpp")
  if(NOT EXISTS "${unit}")
    file(WRITE "${unit}" "")
  endif()
  add_library(precompiled_${name} OBJECT "${unit}")
  target_link_libraries(precompiled_${name} PRIVATE ${ARGN} rpcrdma_build rpcrdma_options)
  target_precompile_headers(precompiled_${name} PRIVATE "${PROJECT_SOURCE_DIR}/cmake/precompiled/${name}.hpp")
endfunction()

# rpcrdma_precompile(TARGET NAME) makes TARGET use the headers NAME.
function(rpcrdma_precompile target name)
  if(RPCRDMA_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM precompiled_${name})
  endif()
endfunction()
