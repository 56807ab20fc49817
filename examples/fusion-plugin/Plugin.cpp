//===- Plugin.cpp - What a tool looks for in the shared library -------------===//

#include "Passes.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Config/llvm-config.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "FusionPlugin", LLVM_VERSION_STRING,
          [] { example::registerFusionPluginPasses(); }};
}
