#include "compiler/Reference/StepLogits.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace sinter;

static void returnLogits(func::FuncOp entry, SampleOp sample) {
  unsigned index = sample->use_begin()->getOperandNumber();
  Value logits = sample.getLogits();
  sample.replaceAllUsesWith(logits);
  sample->erase();
  SmallVector<Type> results(entry.getResultTypes());
  results[index] = logits.getType();
  OpBuilder builder(entry);
  entry.setType(builder.getFunctionType(entry.getArgumentTypes(), results));
  entry.setResultAttr(index, SinterDialect::kOutput, builder.getStringAttr("logits"));
  // What it was drawn by.
  BitVector unused(entry.getNumArguments());
  for (BlockArgument argument : entry.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  LogicalResult erased = entry.eraseArguments(unused);
  assert(succeeded(erased) && "expected a function with a body");
  (void)erased;
}

void sinter::returnLogits(ModuleOp graph) {
  for (auto entry : graph.getOps<func::FuncOp>())
    for (auto sample : llvm::make_early_inc_range(entry.getOps<SampleOp>()))
      ::returnLogits(entry, sample);
}
