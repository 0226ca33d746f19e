# SPDX-License-Identifier: BSD-3-Clause
# rpcrdma_generate(TARGET FILE.x...) adds to TARGET the types and XDR routines that rpcgen generates from each file.
# TARGET can then include <FILE.rpcrdma.hpp>, which has a Procedure type for each procedure. Used within the tree and,
# once installed, through find_package(rpcrdma). Variables: RPCRDMA_GENERATOR (rpcrdma-gen), RPCGEN.

function(rpcrdma_generate target)
  find_program(RPCGEN rpcgen REQUIRED)
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/${target}.rpcrdma")
  get_filename_component(generator_dir "${RPCRDMA_GENERATOR}" DIRECTORY)
  file(GLOB generator_parts "${generator_dir}/rpcrdma_gen/*.py" "${generator_dir}/../share/rpcrdma/rpcrdma_gen/*.py")
  foreach(file ${ARGN})
    get_filename_component(source "${file}" ABSOLUTE)
    get_filename_component(name "${file}" NAME_WLE)
    set(generated "${dir}/${name}.rpcrdma.hpp" "${dir}/${name}.h" "${dir}/${name}_xdr.cpp")
    # rpcrdma-gen does not write an unchanged file again, so only the stamp shows when it has run.
    add_custom_command(
      OUTPUT "${dir}/${name}.stamp" BYPRODUCTS ${generated}
      COMMAND "${RPCRDMA_GENERATOR}" --rpcgen "${RPCGEN}" --output "${dir}" "${source}"
      COMMAND "${CMAKE_COMMAND}" -E touch "${dir}/${name}.stamp"
      DEPENDS "${source}" "${RPCRDMA_GENERATOR}" ${generator_parts} COMMENT "Generating ${name}.rpcrdma.hpp" VERBATIM)
    set_source_files_properties(${generated} PROPERTIES GENERATED TRUE)
    set_source_files_properties("${dir}/${name}_xdr.cpp" PROPERTIES
      COMPILE_OPTIONS -w SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON OBJECT_DEPENDS "${dir}/${name}.stamp")
    target_sources(${target} PRIVATE "${dir}/${name}.stamp" "${dir}/${name}_xdr.cpp" "${dir}/${name}.rpcrdma.hpp")
  endforeach()
  target_include_directories(${target} SYSTEM PUBLIC "$<BUILD_INTERFACE:${dir}>")
endfunction()
