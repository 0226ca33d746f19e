# SPDX-License-Identifier: BSD-3-Clause
# Runs rpcgen on NAME.x and makes its header fit for C++: what the types need is included outside of
# extern "C", and enumerations get a fixed type, so that no value of a peer is undefined behaviour.
file(MAKE_DIRECTORY "${HEADER_DIR}")
set(header "${HEADER_DIR}/${NAME}.h")
set(code "${CODE_DIR}/${NAME}.cpp")
file(REMOVE "${header}" "${code}")
foreach(kind IN ITEMS h c)
  set(output "${code}")
  if(kind STREQUAL "h")
    set(output "${header}")
  endif()
  execute_process(COMMAND "${RPCGEN}" -C -${kind} -i 0 -o "${output}" ${NAME}.x
                  WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

file(READ "${header}" text)
string(REGEX MATCHALL "#include \"rpcrdma[^\n]*\n" includes "${text}")
list(JOIN includes "" includes)
string(REGEX REPLACE "#include \"rpcrdma[^\n]*\n" "" text "${text}")
string(REPLACE "#include <rpc/rpc.h>\n" "#include <rpc/rpc.h>\n${includes}" text "${text}")
string(REGEX REPLACE "enum ([A-Za-z0-9_]+) {" "enum \\1 : int {" text "${text}")
file(WRITE "${header}" "${text}")
