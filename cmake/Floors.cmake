# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma_floor(NAME PUBLIC|PRIVATE DEPS...) makes the library rpcrdma_NAME, one layer of the project, from the calling
# folder: public headers in include/, sources and private headers in src/. DEPS are lower layers and external
# libraries. An include of a layer that is neither in DEPS nor a PUBLIC dependency of one of them does not compile.
function(rpcrdma_floor name)
  cmake_parse_arguments(ARG "" "" "PUBLIC;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/src/*.cpp")
  set(target rpcrdma_${name})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_include_directories(${target} PUBLIC include PRIVATE src)
    target_link_libraries(${target} PUBLIC ${ARG_PUBLIC} rpcrdma_build PRIVATE ${ARG_PRIVATE} rpcrdma_options)
    rpcrdma_precompile(${target} library)
  else()
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE include)
    target_link_libraries(${target} INTERFACE ${ARG_PUBLIC} ${ARG_PRIVATE} rpcrdma_build)
  endif()
endfunction()
