# Adds a plugin with passes: sinter_add_plugin(Name source... [PASSES Passes.td] [PDLL file...]).
#
# The sources may include what is generated from the others by their names in the project:
# PASSES gives "Passes.h.inc" (declarations, bases and registration of the passes), each PDLL file
# gives "<file>.h.inc" (populateGeneratedPDLLPatterns). The plugin is built as lib/Name.so. Names of
# MLIR's and of Sinter's are left undefined: the program that loads it has them.
function(sinter_add_plugin name)
  cmake_parse_arguments(ARG "" "PASSES" "PDLL" ${ARGN})
  include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  include_directories(${SINTER_INCLUDE_DIR} ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR})

  add_library(${name} MODULE ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE -fno-exceptions)

  if(ARG_PASSES)
    set(LLVM_TARGET_DEFINITIONS ${ARG_PASSES})
    cmake_path(REPLACE_EXTENSION ARG_PASSES LAST_ONLY .h.inc OUTPUT_VARIABLE generated)
    mlir_tablegen(${generated} -gen-pass-decls -name ${name})
    add_public_tablegen_target(${name}IncGen)
    add_dependencies(${name} ${name}IncGen)
  endif()
  foreach(file ${ARG_PDLL})
    cmake_path(GET file STEM stem)
    add_mlir_pdll_library(${name}${stem}IncGen ${file} ${file}.h.inc
      EXTRA_INCLUDES ${SINTER_INCLUDE_DIR} ${MLIR_INCLUDE_DIRS})
    add_dependencies(${name} ${name}${stem}IncGen)
  endforeach()
endfunction()
