#include "compiler/Pipelines/Compile.h"
#include "compiler/Pipelines/Compilation.h"
#include "compiler/Pipelines/DecisionCollector.h"
#include "mlir/IR/Remarks.h"
#include <chrono>

using namespace mlir;
using namespace sinter;

/// The last phase that the options ask for.
static Expected<Phase> getLastPhase(const CompileOptions &options) {
  if (!options.stopAfter.empty())
    return parsePhase(options.stopAfter);
  if (options.emit == "graph")
    return Phase::Import;
  if (options.emit == "fused")
    return Phase::Fusion;
  if (options.emit == "llvm" || options.emit == "asm")
    return Phase::Codegen;
  return Phase::Memory;
}

Expected<CompileResult> sinter::compile(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  CompileResult result;
  SINTER_TRY(Phase last, getLastPhase(options));
  Compilation compilation(request);
  if (failed(collectDecisions(compilation.getContext(), result.decisions)))
    return compilation.makeDefect("remarks");
  SINTER_CHECK(compilation.begin());
  SINTER_TRY(std::vector<PassStep> steps, compilation.listPasses(last));
  for (const PassStep &step : steps) {
    auto start = std::chrono::steady_clock::now();
    SINTER_CHECK(compilation.run(step));
    result.phaseMs[stringifyPhase(step.phase).str()] +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  compilation.getContext().setRemarkEngine(nullptr);
  if (!options.stopAfter.empty() || options.emit == "graph" || options.emit == "fused" ||
      options.emit == "program") {
    result.text = compilation.print();
    return result;
  }
  return result;
}
