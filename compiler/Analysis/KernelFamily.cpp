#include "compiler/Analysis/KernelFamily.h"

using namespace mlir;
using namespace sinter;

OpSet sinter::getOps(Block &body) {
  OpSet ops;
  for (Operation &op : body.without_terminator())
    ops.insert(&op);
  return ops;
}

Cost KernelFamily::getCost(const OpSet &ops, const CostModel &costs) const {
  return costs.getFusedCost(ops);
}

FailureOr<int64_t> KernelFamily::lowerToLoops(func::FuncOp tensorKernel, func::FuncOp,
                                              const TargetAttr &) const {
  return tensorKernel.emitError("expected a family of kernels that there is code for, got ")
         << name;
}

LogicalResult KernelFamily::lowerToCommand(FusionOp fusion, CommandBuilder &) const {
  return fusion.emitError("expected a family that is a command, got ") << name;
}

KernelFamilies::KernelFamilies(MLIRContext *context) {
  for (const KernelFamilyInterface &interface :
       DialectInterfaceCollection<KernelFamilyInterface>(context))
    llvm::append_range(families, interface.getFamilies());
}

const KernelFamily *KernelFamilies::lookup(StringRef name) const {
  const auto *found = llvm::find_if(
      families, [&](const KernelFamily *family) { return family->getName() == name; });
  return found == families.end() ? nullptr : *found;
}

FailureOr<const KernelFamily *> KernelFamilies::require(func::FuncOp kernel) const {
  auto name = kernel->getAttrOfType<StringAttr>(SinterDialect::kKernel);
  if (const KernelFamily *family = lookup(name.getValue()))
    return family;
  return kernel.emitError("expected a family of kernels as ")
         << SinterDialect::kKernel << ", got " << name;
}

const KernelFamily *KernelFamilies::findRooted(Operation *op) const {
  const auto *found =
      llvm::find_if(families, [&](const KernelFamily *family) { return family->isRoot(op); });
  return found == families.end() ? nullptr : *found;
}
