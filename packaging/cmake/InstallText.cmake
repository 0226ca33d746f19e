# SPDX-License-Identifier: BSD-3-Clause
# Text files that name installed files: the unit and the manual pages. `cmake --install --prefix` may give another prefix
# than the one that was configured; the files then name the paths below that one.

# rpcrdma_full_path(RESULT DIR): DIR, which may be relative to the prefix. The etc of /usr is /etc, as in GNUInstallDirs.
function(rpcrdma_full_path result dir)
  set(prefix "${CMAKE_INSTALL_PREFIX}")
  if(dir STREQUAL "etc" AND prefix MATCHES "^/usr/?$")
    set(prefix "/")
  endif()
  cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY "${prefix}" NORMALIZE)
  set(${result} "${dir}" PARENT_SCOPE)
endfunction()

# rpcrdma_replace_paths(RESULT FILE COPIES CONFIGURED_SBIN CONFIGURED_SYSCONF SBIN SYSCONF): the path of a copy of FILE, in
# the folder COPIES, that names the server in the folder SBIN and its configuration in the folder SYSCONF.
function(rpcrdma_replace_paths result file copies configured_sbin configured_sysconf sbin sysconf)
  file(READ "${file}" text)
  string(REPLACE "${configured_sbin}/rpcrdma" "${sbin}/rpcrdma" text "${text}")
  string(REPLACE "${configured_sysconf}/rpcrdma" "${sysconf}/rpcrdma" text "${text}")
  get_filename_component(name "${file}" NAME)
  file(WRITE "${copies}/${name}" "${text}")
  set(${result} "${copies}/${name}" PARENT_SCOPE)
endfunction()
