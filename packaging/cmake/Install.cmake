# SPDX-License-Identifier: BSD-3-Clause
# Installs the programs, plug-in, libraries, public headers, files for bpftrace and Wireshark, CMake package and
# pkg-config files. The CMake package and the pkg-config files name other files by relative paths, so that an installed
# tree can be moved.
if(NOT TARGET rpcrdma_shared)
  return()
endif()
include(CMakePackageConfigHelpers)

# The programs link the layers statically: they use private parts of them, and do not need the installed library.
install(TARGETS rpcrdma-nfsd rpcrdma-ip RUNTIME DESTINATION "${CMAKE_INSTALL_SBINDIR}")
install(TARGETS rpcrdma-nfs rpcrdma-ping rpcrdma-conform rpcrdma-proxy rpcrdma-sim RUNTIME
        DESTINATION "${CMAKE_INSTALL_BINDIR}")
if(TARGET rpcrdma-bench)
  install(TARGETS rpcrdma-bench RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
if(TARGET rpcrdma_verbs_plugin)
  install(TARGETS rpcrdma_verbs_plugin LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}/rpcrdma")
endif()
install(TARGETS rpcrdma_shared rpcrdma_static
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")

# Installs the public headers: those of the transport that are named here, all headers of the folders in the second loop
# except those of NFS, and the generated build.hpp.
set(headers
  base/buffer_ref base/cursor base/error base/export base/histogram base/log base/log_limit base/log_subject base/payload
  base/payload_builder base/post_memory base/recycler base/runner base/unique_function base/wait_policy
  connection/call_statistics connection/characteristics connection/error connection/options connection/traffic
  fabric/arrival fabric/error fabric/fabric fabric/tap memory/pool
  requester/async_call requester/client requester/requester requester/reverse
  responder/responder responder/reverse_service responder/server
  wire/error wire/v2/characteristics)
foreach(header ${headers})
  string(REGEX REPLACE "/.*" "" module ${header})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES "${PROJECT_SOURCE_DIR}/transport/${module}/include/rpcrdma/${header}.hpp"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rpcrdma/${folder}")
endforeach()
foreach(folder transport/fabric/open observe/capture xdr rpc embed rpc/tirpc)
  if(IS_DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/include")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${folder}/include/" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
            REGEX "(nfs3|mount3|file_handle)\\.hpp$" EXCLUDE)
  endif()
endforeach()
install(FILES "${RPCRDMA_GENERATED_HEADERS}/rpcrdma/base/build.hpp" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/rpcrdma/base")

install(FILES "${PROJECT_SOURCE_DIR}/tools/bpftrace/rpcrdma-calls.bt" DESTINATION "${CMAKE_INSTALL_DATADIR}/rpcrdma/bpftrace")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/conform/known" DESTINATION "${CMAKE_INSTALL_DATADIR}/rpcrdma/conform")
install(FILES "${PROJECT_SOURCE_DIR}/tools/wireshark/rpcrdma2.lua" DESTINATION "${CMAKE_INSTALL_DATADIR}/rpcrdma/wireshark")

# Installs rpcrdma-gen and the CMake package, which contains cmake/Generate.cmake for rpcrdma_generate().
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/rpcrdma")
set(package_files "${CMAKE_CURRENT_BINARY_DIR}/packaging")
if(EXISTS "${PROJECT_SOURCE_DIR}/xdr/generator/rpcrdma-gen")
  install(PROGRAMS "${PROJECT_SOURCE_DIR}/xdr/generator/rpcrdma-gen" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/xdr/generator/rpcrdma_gen" DESTINATION "${CMAKE_INSTALL_DATADIR}/rpcrdma"
          FILES_MATCHING PATTERN "*.py" PATTERN "__pycache__" EXCLUDE)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/Generate.cmake" DESTINATION "${package_dir}")
endif()
if(TARGET rpcrdma_tirpc)
  set(RPCRDMA_TIRPC_COMPONENT tirpc)
endif()
list(JOIN RPCRDMA_ASIO_DEFINITIONS " -D" pkgconfig_definitions)
configure_package_config_file(
  packaging/cmake/rpcrdma-config.cmake.in "${package_files}/rpcrdma-config.cmake" INSTALL_DESTINATION "${package_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${package_files}/rpcrdma-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${package_files}/rpcrdma-config.cmake" "${package_files}/rpcrdma-config-version.cmake"
        packaging/cmake/rpcrdma-targets.cmake DESTINATION "${package_dir}")

set(pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
foreach(dir BINDIR INCLUDEDIR LIBDIR)  # each may be absolute
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_${dir} BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}" OUTPUT_VARIABLE full)
  file(RELATIVE_PATH RPCRDMA_${dir}_FROM_PREFIX "${CMAKE_INSTALL_PREFIX}" "${full}")
endforeach()
file(RELATIVE_PATH RPCRDMA_PREFIX_FROM_PKGCONFIG "${CMAKE_INSTALL_PREFIX}/${RPCRDMA_LIBDIR_FROM_PREFIX}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
foreach(name rpcrdma rpcrdma-tirpc)
  if(name STREQUAL "rpcrdma" OR TARGET rpcrdma_tirpc)
    configure_file(packaging/pkgconfig/${name}.pc.in "${package_files}/${name}.pc" @ONLY)
    install(FILES "${package_files}/${name}.pc" DESTINATION "${pkgconfig_dir}")
  endif()
endforeach()
