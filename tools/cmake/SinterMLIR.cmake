# MLIR is in a process once: a second copy inside a plugin would have its own MLIRContext and work
# only by luck of symbol interposition. The copy is in libSinterCompiler.so, from the static archives
# of MLIR and LLVM: with their shared libraries 53,000 relocations are looked up by name at each start,
# which takes 27 ms of 38.

if(NOT DEFINED MLIR_DIR AND NOT CMAKE_PREFIX_PATH AND EXISTS /usr/lib/llvm-22/lib/cmake/mlir)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
set(MLIR_BINARY_DIR ${PROJECT_BINARY_DIR})
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
# mlir_tablegen finds its includes here.
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})

# Of MLIR without its C bindings, its tests and what needs a line editor or a JIT of LLVM's.
file(GLOB SINTER_MLIR_ARCHIVES CONFIGURE_DEPENDS ${LLVM_LIBRARY_DIR}/libMLIR*.a)
list(FILTER SINTER_MLIR_ARCHIVES EXCLUDE
  REGEX "CAPI|Test|Tblgen|TableGen|MlirOptMain|Query|ExecutionEngine[.]|JitRunner")
# Of LLVM without what merges Windows manifests, which wants an XML library and all of Unicode's data.
file(GLOB SINTER_LLVM_ARCHIVES CONFIGURE_DEPENDS ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(FILTER SINTER_LLVM_ARCHIVES EXCLUDE REGEX "WindowsManifest")
if(NOT SINTER_MLIR_ARCHIVES OR NOT SINTER_LLVM_ARCHIVES)
  message(FATAL_ERROR "${LLVM_LIBRARY_DIR} has no static archives of MLIR and LLVM: build them with "
    "BUILD_SHARED_LIBS=OFF, or install Debian's libmlir-22-dev and llvm-22-dev")
endif()
# What they need of others.
set(SINTER_LLVM_NEEDS z -l:libzstd.so.1 Threads::Threads ${CMAKE_DL_LIBS})

# Adds a library of the compiler: sinter_add_compiler_library(Name source... [DEPENDS target...]
# [LINK library...]). It sees the headers of MLIR and of the dialects through one
# shared precompiled header.
function(sinter_add_compiler_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  sinter_use_mlir(${name})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  set_property(GLOBAL APPEND PROPERTY SINTER_COMPILER_LIBRARIES ${name})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# Adds a shared library or a module of everything that sinter_add_compiler_library added:
# sinter_add_whole_compiler(Name SHARED|MODULE source...). MLIR is none of it.
function(sinter_add_whole_compiler name type)
  get_property(libraries GLOBAL PROPERTY SINTER_COMPILER_LIBRARIES)
  set(objects ${libraries})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} ${type} ${objects} ${ARGN})
  # Nothing is taken from these archives, whose objects are all there; what they need follows.
  target_link_libraries(${name} PRIVATE ${libraries})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# Adds libSinterCompiler.so: dialects, passes, all of MLIR, which a plugin may need more of than Sinter
# does, and what they use of LLVM.
function(sinter_add_compiler_shared_library name)
  sinter_add_whole_compiler(${name} SHARED)
  target_link_libraries(${name} PRIVATE
    -Wl,--whole-archive ${SINTER_MLIR_ARCHIVES} -Wl,--no-whole-archive
    -Wl,--start-group ${SINTER_LLVM_ARCHIVES} -Wl,--end-group ${SINTER_LLVM_NEEDS})
  # Bound to itself when it is linked, not when it is loaded: so nobody may have copies of its variables,
  # which executables take of what is declared elsewhere if they are compiled with -fPIE.
  target_link_options(${name} PRIVATE LINKER:-Bsymbolic LINKER:-z,defs
    $<$<CONFIG:Release>:LINKER:--strip-all>)
  target_compile_options(${name} INTERFACE -fPIC)
endfunction()

# Links a program with the compiler's shared library.
function(sinter_link_compiler name)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE SinterCompiler)
endfunction()

# Adds a program for work on the compiler: sinter_add_tool(name source...).
function(sinter_add_tool name)
  add_executable(${name} ${ARGN})
  sinter_link_compiler(${name})
endfunction()

# Gives a target MLIR's headers, and links an executable with libSinterCompiler.so: of static libraries
# that it links after this, it gets only what is not in there.
function(sinter_use_mlir name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL EXECUTABLE)
    sinter_link_compiler(${name})
  else()
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
  if(NOT name STREQUAL SinterPrecompiled)
    sinter_reuse_precompiled(${name} SinterPrecompiled)
  endif()
endfunction()

file(WRITE ${PROJECT_BINARY_DIR}/Precompiled.cpp "")
add_library(SinterPrecompiled STATIC ${PROJECT_BINARY_DIR}/Precompiled.cpp)
sinter_use_mlir(SinterPrecompiled)
sinter_precompile(SinterPrecompiled
  <mlir/IR/BuiltinTypes.h> <mlir/IR/PatternMatch.h> <mlir/IR/Remarks.h> <mlir/Pass/Pass.h>
  <mlir/Dialect/Affine/IR/AffineOps.h> <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/GPU/IR/GPUDialect.h>
  <mlir/Dialect/LLVMIR/LLVMDialect.h> <mlir/Dialect/Math/IR/Math.h>
  <mlir/Dialect/MemRef/IR/MemRef.h> <mlir/Dialect/SCF/IR/SCF.h>
  <mlir/Dialect/Vector/IR/VectorOps.h> <mlir/Interfaces/SideEffectInterfaces.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Bytecode/BytecodeOpInterface.h>
  <mlir/Transforms/GreedyPatternRewriteDriver.h> <llvm/Support/FormatVariadic.h>
  <dialects/Check/CheckDialect.h> <dialects/Plan/PlanDialect.h> <dialects/Sinter/SinterDialect.h>
  <runtime/Base/Error.h>)
add_dependencies(SinterPrecompiled
  SinterCheckIncGen SinterDialectIncGen SinterInterfacesIncGen SinterPlanIncGen)
