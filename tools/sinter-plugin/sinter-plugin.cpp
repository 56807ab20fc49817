//===- sinter-plugin.cpp - Sinter inside stock MLIR tools -------------------===//
//
//   mlir-opt-22 --load-dialect-plugin=SinterPlugin.so --load-pass-plugin=SinterPlugin.so \
//     --pass-pipeline='builtin.module(sinter-evaluate)' graph.mlir
//
// It has the dialects and passes, and of MLIR nothing: that is the tool's. A second plugin, a
// user's own for instance, has neither and meets the same dialect.
//
//===----------------------------------------------------------------------===//

#include "compiler/Pipelines/Registration.h"
#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "Sinter", LLVM_VERSION_STRING,
          [](mlir::DialectRegistry *registry) { sinter::registerDialects(*registry); }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "SinterPasses", LLVM_VERSION_STRING,
          [] { sinter::registerPasses(); }};
}
