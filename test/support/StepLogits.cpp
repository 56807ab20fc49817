#include "test/support/StepLogits.h"
#include "dialects/Sinter/SinterDialect.h"
#include "frontends/Transformer/BuildGraph.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace sinter::test {

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
  ASSERT_TRUE(succeeded(entry.eraseArguments(unused)));
}

void returnLogits(ModuleOp graph) {
  for (auto entry : graph.getOps<func::FuncOp>())
    for (auto sample : llvm::make_early_inc_range(entry.getOps<SampleOp>()))
      returnLogits(entry, sample);
}

void returnLogits(CompileRequest &request) {
  MLIRContext context;
  GraphOptions options;
  options.batch = request.options.batch;
  options.chunk = request.options.chunk;
  options.capacity = request.options.capacity;
  options.entries = request.options.entries;
  options.parameterTypes = request.parameterTypes;
  auto graph = buildGraph(context, *request.spec, options);
  ASSERT_TRUE(graph) << graph.error().message();
  returnLogits(**graph);
  llvm::raw_string_ostream stream(request.source);
  (*graph)->print(stream);
  request.spec = nullptr;
}

} // namespace sinter::test
