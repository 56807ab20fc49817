# What every target shares: language level, warnings, caching, linker.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Several sources of a library are compiled as one, which takes half of the time: most of what a source
# costs are the headers that it instantiates. With OFF each is compiled by itself.
option(CMAKE_UNITY_BUILD "Compile several sources as one" ON)
# Assertions stay on in every build type: they are cheap here and catch what tests miss.
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-O3" "-O2" CMAKE_CXX_FLAGS_RELEASE "${CMAKE_CXX_FLAGS_RELEASE}")
string(REPLACE "-DNDEBUG" "" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")

find_program(SINTER_CCACHE ccache)
if(SINTER_CCACHE)
  # Precompiled headers are cacheable only with these allowances.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SINTER_CCACHE})
endif()
find_program(SINTER_MOLD mold)
if(SINTER_MOLD)
  # What mold 1.10 makes read-only after relocation begins with .tbss, which takes no room: where
  # what follows it begins a page, that is on a page that is not there, and the program cannot start.
  # Where that part ends with a page, mold lays the file out without an end: no gap behind it means
  # a segment less, without whose header it does not end with a page. Aligned segments have no such
  # gaps.
  add_link_options(-fuse-ld=mold LINKER:-z,norelro LINKER:-z,separate-loadable-segments)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -ffunction-sections -fdata-sections)
add_link_options(-Wl,--gc-sections)
if(SINTER_SANITIZE)
  add_compile_options(-fsanitize=${SINTER_SANITIZE} -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${SINTER_SANITIZE})
endif()
if(SINTER_FUZZ)
  # Of debug information a stack trace needs lines alone. What checks of pointers to nothing, or to
  # too small an object, would say, AddressSanitizer says of the access: they are a third of the time
  # to compile the largest source.
  add_compile_options(-fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=null,object-size
    -fno-sanitize-recover=undefined -gline-tables-only)
  add_link_options(-fsanitize=address,undefined)
endif()

include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
find_package(Threads REQUIRED)

# Precompiles headers for a library's sources, and for those of others (sinter_reuse_precompiled).
function(sinter_precompile name)
  target_precompile_headers(${name} PRIVATE ${ARGN})
  if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
    # The same bytes whenever it is made, which ccache asks for.
    target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  endif()
endfunction()

# Of a command line, which reads its arguments once, a third of the time to compile is optimization.
function(sinter_leave_unoptimized name)
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O0>)
endfunction()

# Lets a target's sources start from the precompiled header of another target. That of a library is
# compiled with -fPIC, so an executable's sources are, too, rather than with -fPIE.
function(sinter_reuse_precompiled name from)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${from})
endfunction()

# What tests cannot prove on this machine, and why: not-proved.txt in the build folder, with which
# `make check` ends.
file(WRITE ${CMAKE_BINARY_DIR}/not-proved.txt "")
function(sinter_not_proved what why)
  message(STATUS "Not proved here: ${what} (${why})")
  file(APPEND ${CMAKE_BINARY_DIR}/not-proved.txt "Not proved here: ${what} (${why})\n")
endfunction()
