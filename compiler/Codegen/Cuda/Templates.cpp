#include "compiler/Codegen/Cuda/Kernels.h"

using namespace mlir;
using namespace sinter;

TemplateGenerator sinter::lookupTemplate(FusionKind kind, func::FuncOp tensorKernel) {
  return nullptr;
}
