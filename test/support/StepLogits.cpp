#include "test/support/StepLogits.h"
#include "compiler/Reference/StepLogits.h"
#include "frontends/Graph/BuildGraph.h"
#include "frontends/Graph/TextGraph.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace sinter::test {

void returnLogits(CompileRequest &request, const ModelSpec &spec) {
  MLIRContext context;
  GraphOptions options;
  options.batch = request.options.batch;
  options.chunk = request.options.chunk;
  options.maxSequence = request.options.getMaxSequence();
  options.entries = request.options.entries;
  options.parameterTypes = request.parameterTypes;
  auto graph = buildGraph(context, spec, options);
  ASSERT_TRUE(graph) << graph.error().message();
  sinter::returnLogits(**graph);
  std::string text;
  llvm::raw_string_ostream stream(text);
  // Stages of a pipeline are cut by the names of layers, which are locations.
  (*graph)->print(stream, OpPrintingFlags().enableDebugInfo());
  request.graph = makeTextGraph(std::move(text), "logits.mlir");
}

} // namespace sinter::test
