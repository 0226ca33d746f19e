# SPDX-License-Identifier: BSD-3-Clause
# Functions to install text files that contain paths of installed files: the systemd unit and the manual pages. If
# `cmake --install --prefix` gives another prefix than the configured one, these paths are those for the given prefix.

# rpcrdma_full_path(RESULT DIR) sets RESULT to the absolute path of DIR, which may be relative to the prefix. For the
# prefix /usr, etc is /etc, as in GNUInstallDirs.
function(rpcrdma_full_path result dir)
  set(prefix "${CMAKE_INSTALL_PREFIX}")
  cmake_path(ABSOLUTE_PATH prefix)  # --prefix may be relative to the current folder
  if(dir STREQUAL "etc" AND prefix MATCHES "^/usr/?$")
    set(prefix "/")
  endif()
  cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY "${prefix}" NORMALIZE)
  set(${result} "${dir}" PARENT_SCOPE)
endfunction()

# rpcrdma_replace_paths(RESULT FILE COPIES CONFIGURED_SBIN CONFIGURED_SYSCONF SBIN SYSCONF) copies FILE to the folder
# COPIES with the paths of the server and its configuration changed to the folders SBIN and SYSCONF, and returns the
# copy's path.
function(rpcrdma_replace_paths result file copies configured_sbin configured_sysconf sbin sysconf)
  file(READ "${file}" text)
  string(REPLACE "${configured_sbin}/rpcrdma" "${sbin}/rpcrdma" text "${text}")
  string(REPLACE "${configured_sysconf}/rpcrdma" "${sysconf}/rpcrdma" text "${text}")
  get_filename_component(name "${file}" NAME)
  file(WRITE "${copies}/${name}" "${text}")
  set(${result} "${copies}/${name}" PARENT_SCOPE)
endfunction()
