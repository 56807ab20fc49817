# What `cmake --install` puts where, and the package that find_package(Sinter) reads:
#
#   bin/                 the programs
#   lib/                 the library, libSinterCompiler.so, SinterPlugin.so
#   lib/cmake/Sinter/    the package: Sinter::Runtime, which runs what was compiled before; with the
#                        compiler also Sinter::Sinter, and sinter_add_plugin() for passes of one's
#                        own
#   include/sinter/      headers and .td files under the names that they have here, generated
#                        headers among them: #include "sinter/Model.h"

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SINTER_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/sinter)
set(SINTER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)

function(sinter_install_targets export)
  # An installed program finds its library beside itself, and others where they were found in the build.
  set_target_properties(${ARGN} PROPERTIES
    INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${ARGN} EXPORT ${export}
    RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT ${export} NAMESPACE Sinter:: DESTINATION ${SINTER_PACKAGE_DIR})
endfunction()

# Every library's headers are found from one root.
target_include_directories(SinterBase INTERFACE $<INSTALL_INTERFACE:${SINTER_INCLUDE_DIR}>)
set_target_properties(SinterInference PROPERTIES EXPORT_NAME Runtime)
sinter_install_targets(SinterRuntimeTargets
  SinterBase SinterGguf SinterInference SinterModelSpec SinterQuantized SinterRuntime
  SinterJinja SinterSafetensors SinterTokenizer SinterWeights
  sinter-run)
if(TARGET SinterMpi)
  install(TARGETS SinterMpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
set(folders frontends runtime sinter)
if(SINTER_COMPILER)
  target_include_directories(SinterCompiler INTERFACE $<INSTALL_INTERFACE:${SINTER_INCLUDE_DIR}>)
  set_target_properties(SinterLibrary PROPERTIES EXPORT_NAME Sinter)
  sinter_install_targets(SinterTargets
    SinterCompiler SinterLibrary SinterPlugin SinterRunSteps
    sinter sinter-lsp-server sinter-opt sinter-reduce)
  list(APPEND folders compiler dialects)
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/SinterAddPlugin.cmake DESTINATION ${SINTER_PACKAGE_DIR})
endif()

install(DIRECTORY ${folders} DESTINATION ${SINTER_INCLUDE_DIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
list(TRANSFORM folders PREPEND ${PROJECT_BINARY_DIR}/)
install(DIRECTORY ${folders} DESTINATION ${SINTER_INCLUDE_DIR}
  FILES_MATCHING PATTERN "*.inc" PATTERN "*_generated.h" PATTERN "CMakeFiles" EXCLUDE)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SinterConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/SinterConfig.cmake INSTALL_DESTINATION ${SINTER_PACKAGE_DIR}
  PATH_VARS SINTER_INCLUDE_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/SinterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/SinterConfig.cmake
  ${PROJECT_BINARY_DIR}/package/SinterConfigVersion.cmake
  DESTINATION ${SINTER_PACKAGE_DIR})
