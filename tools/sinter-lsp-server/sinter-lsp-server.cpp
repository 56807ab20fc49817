//===- sinter-lsp-server.cpp - Editors' help with Sinter's IR ---------------===//

#include "compiler/Pipelines/Registration.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sinter::registerEverything(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
