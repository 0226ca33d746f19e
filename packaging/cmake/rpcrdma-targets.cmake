# SPDX-License-Identifier: BSD-3-Clause
# Defines the library, shared or static, and the components that link it. Included by rpcrdma-config.cmake, which sets
# the variables used here. A project may request further components later, or the same components again.
if(TARGET rpcrdma::library)
elseif(rpcrdma_USE_STATIC_LIBS)
  add_library(rpcrdma::library STATIC IMPORTED)
  # The program exports its symbols, so that the verbs plug-in uses the program's Asio. The C++ library is named instead
  # of the language, because the project may be written in C.
  set_target_properties(rpcrdma::library PROPERTIES
    IMPORTED_LOCATION "${rpcrdma_LIBRARY_DIR}/librpcrdma.a"
    INTERFACE_LINK_LIBRARIES "$<LINK_ONLY:spdlog::spdlog>;$<LINK_ONLY:fmt::fmt>;PkgConfig::RPCRDMA_LIBTIRPC;${RPCRDMA_ISAL_LIBRARY};$<LINK_ONLY:Threads::Threads>;${CMAKE_DL_LIBS};stdc++;m"
    INTERFACE_LINK_OPTIONS "LINKER:--export-dynamic")
else()
  add_library(rpcrdma::library SHARED IMPORTED)
  set_target_properties(rpcrdma::library PROPERTIES
    IMPORTED_LOCATION "${rpcrdma_LIBRARY_DIR}/librpcrdma.so.${rpcrdma_VERSION_FULL}"
    IMPORTED_SONAME "librpcrdma.so.${rpcrdma_SOVERSION}")
endif()

foreach(_rpcrdma_name ${_rpcrdma_wanted})
  if(TARGET rpcrdma::${_rpcrdma_name})
    continue()
  endif()
  add_library(rpcrdma::${_rpcrdma_name} INTERFACE IMPORTED)
  target_include_directories(rpcrdma::${_rpcrdma_name} INTERFACE "${rpcrdma_INCLUDE_DIR}")
  target_link_libraries(rpcrdma::${_rpcrdma_name} INTERFACE rpcrdma::library PkgConfig::RPCRDMA_LIBTIRPC)
  if(NOT _rpcrdma_name STREQUAL "tirpc")
    target_link_libraries(rpcrdma::${_rpcrdma_name} INTERFACE Boost::headers fmt::fmt Threads::Threads)
    target_compile_definitions(rpcrdma::${_rpcrdma_name} INTERFACE ${rpcrdma_ASIO_DEFINITIONS})
    target_compile_features(rpcrdma::${_rpcrdma_name} INTERFACE cxx_std_20)
  endif()
endforeach()
