# SPDX-License-Identifier: BSD-3-Clause
# Runs rpcgen on NAME.x and adapts its output to C++: the header includes the headers of its types outside extern "C";
# enumerations get a fixed underlying type, so that no value sent by a peer is undefined behaviour; booleans other than
# TRUE and FALSE are rejected.
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
string(REPLACE "#include <rpc/rpc.h>\n" "#include <rpc/rpc.h>\n#include \"rpcrdma/xdr/boolean.hpp\"\n${includes}" text "${text}")
string(REGEX REPLACE "enum ([A-Za-z0-9_]+) {" "enum \\1 : int {" text "${text}")
file(WRITE "${header}" "${text}")

file(READ "${code}" text)
string(REPLACE "xdr_bool (" "xdr_strict_bool (" text "${text}")
# xdr_fattr3() is in xdr/src/attributes.cpp, and calls this routine if it has to.
string(REPLACE "\nxdr_fattr3 (XDR" "\nxdr_fattr3_by_word (XDR" text "${text}")
file(WRITE "${code}" "${text}")
