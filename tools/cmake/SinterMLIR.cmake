# MLIR is linked once, as the shared library: a second copy inside a plugin would have its own
# MLIRContext and work only by luck of symbol interposition.

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

# Adds the shared library of everything that sinter_add_compiler_library added: dialects and passes
# exist once in a process, whoever loads them (see tools/sinter-plugin). The static libraries stay
# for unit tests, which want little to link.
function(sinter_add_compiler_shared_library name)
  get_property(libraries GLOBAL PROPERTY SINTER_COMPILER_LIBRARIES)
  set(objects ${libraries})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} SHARED ${objects})
  # Nothing is taken from these archives, whose objects are all there; what they need follows.
  target_link_libraries(${name} PRIVATE ${libraries} PUBLIC MLIR LLVM)
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
endfunction()

# Links a tool or a plugin with the compiler's shared library.
function(sinter_link_compiler name)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE SinterCompiler)
endfunction()

# Adds a program for work on the compiler: sinter_add_tool(name source...).
function(sinter_add_tool name)
  add_executable(${name} ${ARGN})
  sinter_link_compiler(${name})
endfunction()

# Gives a target MLIR's headers and the one shared libMLIR and libLLVM.
function(sinter_use_mlir name)
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PUBLIC MLIR LLVM)
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
