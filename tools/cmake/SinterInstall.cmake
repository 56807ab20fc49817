# What `cmake --install` puts where, and the package that find_package(Sinter) reads:
#
#   bin/                 the programs
#   lib/                 libSinterCompiler.so, SinterPlugin.so
#   lib/cmake/Sinter/    the package; sinter_add_plugin() for passes of one's own
#   include/sinter/      headers and .td files under the names that they have here, generated
#                        headers among them: #include "dialects/Sinter/SinterDialect.h"

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(SINTER_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/sinter)
set(SINTER_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sinter)

set(installed sinter-opt sinter-lsp-server sinter-reduce SinterCompiler SinterPlugin)
foreach(program sinter sinter-run)
  if(TARGET ${program})
    list(APPEND installed ${program})
  endif()
endforeach()

# An installed program finds its library beside itself, and MLIR where it was found in the build.
set_target_properties(${installed} PROPERTIES
  INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}" INSTALL_RPATH_USE_LINK_PATH ON)
target_include_directories(SinterCompiler INTERFACE $<INSTALL_INTERFACE:${SINTER_INCLUDE_DIR}>)
install(TARGETS ${installed} EXPORT SinterTargets
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT SinterTargets NAMESPACE Sinter:: DESTINATION ${SINTER_PACKAGE_DIR})

install(DIRECTORY dialects compiler frontends runtime DESTINATION ${SINTER_INCLUDE_DIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.def")
foreach(folder dialects compiler)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/${folder} DESTINATION ${SINTER_INCLUDE_DIR}
    FILES_MATCHING PATTERN "*.inc" PATTERN "CMakeFiles" EXCLUDE)
endforeach()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/SinterConfig.cmake.in
  ${PROJECT_BINARY_DIR}/package/SinterConfig.cmake INSTALL_DESTINATION ${SINTER_PACKAGE_DIR}
  PATH_VARS SINTER_INCLUDE_DIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/SinterConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/SinterAddPlugin.cmake
  ${PROJECT_BINARY_DIR}/package/SinterConfig.cmake
  ${PROJECT_BINARY_DIR}/package/SinterConfigVersion.cmake
  DESTINATION ${SINTER_PACKAGE_DIR})
