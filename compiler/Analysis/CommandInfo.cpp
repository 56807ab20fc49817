#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Analysis/KernelFamily.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

std::string sinter::getLabel(Block &block) {
  auto join = [&](bool moves) {
    std::string label;
    SmallVector<StringRef> seen;
    for (Operation &op : block.without_terminator()) {
      auto fusible = dyn_cast<FusibleOpInterface>(op);
      bool moving = fusible && fusible.getFusionRole() == FusionRole::Index;
      StringRef name = op.getName().stripDialect();
      if (moving != moves || isa<ConstantOp>(op) || llvm::is_contained(seen, name))
        continue;
      seen.push_back(name);
      label += (label.empty() ? "" : "+") + name.str();
    }
    return label;
  };
  std::string label = join(/*moves=*/false);
  return label.empty() ? join(/*moves=*/true) : label;
}

/// The names in a location, outermost first.
static void collectNames(Location location, SmallVector<StringRef> &names) {
  if (auto name = dyn_cast<NameLoc>(location)) {
    names.push_back(name.getName());
    collectNames(name.getChildLoc(), names);
  } else if (auto fused = dyn_cast<FusedLoc>(location)) {
    for (Location part : fused.getLocations())
      collectNames(part, names);
  } else if (auto call = dyn_cast<CallSiteLoc>(location)) {
    collectNames(call.getCallee(), names);
    collectNames(call.getCaller(), names);
  }
}

std::string sinter::getLayer(Location location) {
  SmallVector<StringRef> names;
  collectNames(location, names);
  for (StringRef name : names) {
    size_t end = 0;
    for (StringRef part : llvm::split(name, '.')) {
      end += part.size();
      if (!part.empty() && llvm::all_of(part, llvm::isDigit))
        return name.take_front(end).str();
      ++end;
    }
  }
  return names.empty() ? "" : names.front().str();
}

/// The block of what a call or a fusion computes, or null for other ops.
static Block *getBody(Operation *op) {
  if (auto fusion = dyn_cast<FusionOp>(op))
    return fusion.getBlock();
  if (auto call = dyn_cast<CallKernelOp>(op))
    return &SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, call.getKernelAttr()).front();
  return nullptr;
}

/// What an op costs whose body is null, or a kernel's or a fusion's.
static Cost getCost(Operation *op, Block *body, const CostModel &model) {
  if (!body)
    return model.getCost(op);
  auto fusion = dyn_cast<FusionOp>(op);
  const KernelFamily *family = fusion ? KernelFamilies(op->getContext()).lookup(fusion) : nullptr;
  return family ? family->getCost(getOps(*body), model) : model.getBodyCost(*body);
}

CommandInfo sinter::describeCommand(Operation *op, TargetAttr target) {
  CommandInfo info;
  Block *body = getBody(op);
  info.label = body ? getLabel(*body) : op->getName().stripDialect().str();
  info.layer = getLayer(op->getLoc());
  info.stage = getStage(op->getLoc());
  if (auto cost = dyn_cast<CostOpInterface>(op)) {
    info.flops = cost.getFlops();
    info.bytes = cost.getBytes();
  }
  if (target) {
    Cost cost = getCost(op, body, CostModel(target));
    info.predictedNs = std::llround(cost.ns);
    info.narrowFlops = std::llround(cost.narrowFlops);
    info.byteFlops = std::llround(cost.byteFlops);
    info.nibbleFlops = std::llround(cost.nibbleFlops);
    info.bytes = std::llround(cost.bytes);
    info.sharedBytes = std::llround(cost.sharedBytes);
    info.privateBytes = std::llround(cost.privateBytes);
  }
  return info;
}
