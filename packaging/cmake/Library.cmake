# SPDX-License-Identifier: BSD-3-Clause
# The targets that users link: rpcrdma::transport, rpcrdma::rpc and rpcrdma::tirpc, which find_package(rpcrdma) defines
# as well. Within this tree, and in projects that add it, they link the separate layers, so that a rebuild after an edit
# does not link a large library.
set(RPCRDMA_LIBRARY_FLOORS base wire fabric fabric_iwarp fabric_open capture memory connection chunks requester responder xdr rpc)
foreach(floor embed tirpc)
  if(TARGET rpcrdma_${floor})
    list(APPEND RPCRDMA_LIBRARY_FLOORS ${floor})
  endif()
endforeach()

# rpcrdma_component(NAME LAYERS...) makes rpcrdma::NAME, which links those of the layers that exist.
function(rpcrdma_component name)
  add_library(rpcrdma_component_${name} INTERFACE)
  add_library(rpcrdma::${name} ALIAS rpcrdma_component_${name})
  foreach(floor ${ARGN})
    if(TARGET rpcrdma_${floor})
      target_link_libraries(rpcrdma_component_${name} INTERFACE rpcrdma_${floor})
    endif()
  endforeach()
  target_compile_features(rpcrdma_component_${name} INTERFACE cxx_std_20)
endfunction()
rpcrdma_component(transport responder fabric_open capture)
rpcrdma_component(rpc embed rpc responder fabric_open capture)
if(TARGET rpcrdma_tirpc)
  rpcrdma_component(tirpc tirpc)
endif()

# The shared and the static library consist of the object files of the layers, each compiled once.
option(RPCRDMA_INSTALL "Build and install the library, its headers and its CMake package" ${PROJECT_IS_TOP_LEVEL})
if(NOT RPCRDMA_INSTALL OR RPCRDMA_SANITIZE OR RPCRDMA_COVERAGE OR RPCRDMA_FUZZ)
  return()
endif()
set(objects $<TARGET_OBJECTS:rpcrdma_xdr_protocols>)
foreach(floor ${RPCRDMA_LIBRARY_FLOORS})
  list(APPEND objects $<TARGET_OBJECTS:rpcrdma_${floor}>)
endforeach()
add_library(rpcrdma_static STATIC ${objects})
add_library(rpcrdma_shared SHARED ${objects})
target_link_libraries(rpcrdma_shared PRIVATE fmt::fmt spdlog::spdlog PkgConfig::TIRPC rpcrdma_isal Threads::Threads
                      ${CMAKE_DL_LIBS})
set(version_script "${PROJECT_SOURCE_DIR}/packaging/librpcrdma.map")
target_link_options(rpcrdma_shared PRIVATE LINKER:--version-script=${version_script} LINKER:--no-undefined)
set_target_properties(rpcrdma_shared PROPERTIES LINK_DEPENDS "${version_script}" VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(rpcrdma_shared rpcrdma_static PROPERTIES OUTPUT_NAME rpcrdma LINKER_LANGUAGE CXX
                      LIBRARY_OUTPUT_DIRECTORY "${RPCRDMA_LIBRARY_OUTPUT_DIR}" ARCHIVE_OUTPUT_DIRECTORY "${RPCRDMA_LIBRARY_OUTPUT_DIR}")
