#include "compiler/Codegen/Cpu/InnermostLoops.h"
#include "compiler/Codegen/Loops/Kernels.h"

using namespace mlir;
using namespace sinter;

InnermostLoops::InnermostLoops(ModuleOp module) {
  ModuleOp kernels = lookupKernels(module);
  target = kernels ? TargetAttr::lookup(kernels) : nullptr;
  if (!target)
    return;
  kernels.walk([&](scf::ForOp loop) {
    bool hasLoop =
        loop.getBody()->walk([](scf::ForOp) { return WalkResult::interrupt(); }).wasInterrupted();
    if (!hasLoop)
      loops.push_back(loop);
  });
}
