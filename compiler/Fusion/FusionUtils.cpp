#include "compiler/Fusion/FusionUtils.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace sinter;

SmallVector<FusionOp> sinter::findFusions(ModuleOp module) {
  SmallVector<FusionOp> found;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(SinterDialect::kEntry))
      llvm::append_range(found, function.getOps<FusionOp>());
  return found;
}

SmallVector<FusionOp> sinter::findFusions(ModuleOp module, StringRef family) {
  SmallVector<FusionOp> found = findFusions(module);
  llvm::erase_if(found, [&](FusionOp fusion) { return fusion.getFamily() != family; });
  return found;
}

std::string sinter::describeOps(ArrayRef<Operation *> ops) {
  std::string text;
  auto append = [&](Operation *op) {
    text += (text.empty() ? "" : " + ") + op->getName().stripDialect().str();
  };
  for (Operation *op : ops) {
    if (auto fusion = dyn_cast<FusionOp>(op)) {
      for (Operation &inner : fusion.getBlock()->without_terminator())
        if (getRole(&inner) != FusionRole::Index)
          append(&inner);
    } else if (getRole(op) != FusionRole::Index) {
      append(op);
    }
  }
  if (text.empty())
    for (Operation *op : ops)
      append(op);
  return text;
}

FusionOp sinter::wrapOps(ArrayRef<Operation *> ops, const KernelFamily &family) {
  llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end());
  llvm::SetVector<Value> inputs, outputs;
  llvm::SetVector<Operation *> constants;
  for (Operation *op : ops) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (producer && inside.contains(producer))
        continue;
      if (producer && isSplatConstant(producer) && family.hasImmediates())
        constants.insert(producer);
      else
        inputs.insert(operand);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !inside.contains(user); }))
        outputs.insert(result);
  }
  SmallVector<Location> locations;
  for (Operation *op : ops)
    locations.push_back(op->getLoc());
  // Equal locations collapse: a fusion within a layer is at the layer.
  Location loc = FusedLoc::get(ops.front()->getContext(), locations);

  OpBuilder builder(ops.back());
  SmallVector<Type> types = llvm::map_to_vector(outputs, [](Value v) { return v.getType(); });
  auto fusion = FusionOp::create(builder, loc, types, inputs.getArrayRef(), family.getName());
  Block *body = builder.createBlock(&fusion.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Operation *constant : constants)
    builder.clone(*constant, mapping);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> yielded =
      llvm::map_to_vector(outputs, [&](Value v) { return mapping.lookup(v); });
  YieldOp::create(builder, loc, yielded);
  for (auto [i, output] : llvm::enumerate(outputs.getArrayRef()))
    Value(output).replaceAllUsesWith(fusion.getResult(i));
  for (Operation *op : llvm::reverse(ops)) {
    op->dropAllUses();
    op->erase();
  }
  for (Operation *constant : constants)
    if (constant->use_empty())
      constant->erase();
  return fusion;
}

FusionOp sinter::joinFusions(FusionOp producer, FusionOp consumer, StringRef family) {
  llvm::SetVector<Operation *> needed;
  BackwardSliceOptions options;
  options.inclusive = true;
  for (Value input : consumer.getInputs())
    if (input.getDefiningOp() == producer.getOperation())
      (void)getBackwardSlice(producer.getYielded()[cast<OpResult>(input).getResultNumber()],
                             &needed, options);
  OpBuilder builder(consumer);
  Location loc = FusedLoc::get(producer.getContext(), {producer.getLoc(), consumer.getLoc()});
  SmallVector<Value> inputs;
  auto joined = FusionOp::create(builder, loc, consumer.getResultTypes(), inputs, family);
  Block *body = builder.createBlock(&joined.getBody());
  IRMapping mapping;
  auto addInput = [&](BlockArgument argument, Value input) {
    auto *known = llvm::find(inputs, input);
    if (known == inputs.end()) {
      body->addArgument(input.getType(), input.getLoc());
      inputs.push_back(input);
      known = std::prev(inputs.end());
    }
    mapping.map(argument, body->getArgument(std::distance(inputs.begin(), known)));
  };
  for (auto [argument, input] :
       llvm::zip_equal(producer.getBlock()->getArguments(), producer.getInputs()))
    if (llvm::any_of(argument.getUsers(), [&](Operation *op) { return needed.contains(op); }))
      addInput(argument, input);
  for (Operation &op : producer.getBlock()->without_terminator())
    if (needed.contains(&op))
      builder.clone(op, mapping);
  for (auto [argument, input] :
       llvm::zip_equal(consumer.getBlock()->getArguments(), consumer.getInputs()))
    if (input.getDefiningOp() == producer.getOperation())
      mapping.map(argument, mapping.lookupOrDefault(
                                producer.getYielded()[cast<OpResult>(input).getResultNumber()]));
    else
      addInput(argument, input);
  for (Operation &op : *consumer.getBlock())
    builder.clone(op, mapping);
  joined.getInputsMutable().assign(inputs);
  return joined;
}
