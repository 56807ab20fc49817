#include "test/support/StepLogits.h"
#include "compiler/Reference/StepLogits.h"
#include "frontends/Transformer/BuildGraph.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace sinter::test {

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
  sinter::returnLogits(**graph);
  llvm::raw_string_ostream stream(request.source);
  (*graph)->print(stream);
  request.spec = nullptr;
}

} // namespace sinter::test
