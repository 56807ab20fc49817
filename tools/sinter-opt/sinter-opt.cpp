//===- sinter-opt.cpp - Runs passes on IR -----------------------------------===//

#include "compiler/Pipelines/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  sinter::registerEverything(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "Sinter's optimizer driver\n", registry));
}
