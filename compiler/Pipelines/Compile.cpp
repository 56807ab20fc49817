#include "compiler/Pipelines/Compile.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Executable/MemoryReport.h"
#include "compiler/Executable/Serialize.h"
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
    return Phase::Autodiff;
  if (options.emit == "fused")
    return Phase::Fusion;
  if (options.emit == "llvm" || options.emit == "asm")
    return Phase::Codegen;
  return Phase::Memory;
}

/// From the planned module to what was asked for: text of the machine code, or an executable and
/// the report on its memory.
static Expected<void> finish(Compilation &compilation, const CompileRequest &request,
                             CompileResult &result) {
  auto start = std::chrono::steady_clock::now();
  ModuleOp module = compilation.getModule();
  auto target = TargetAttr::lookup(module);
  auto kernels = module.lookupSymbol<ModuleOp>(kKernelsModule);
  if (request.options.emit == "llvm" || request.options.emit == "asm") {
    CodeText form = request.options.emit == "llvm" ? CodeText::Llvm : CodeText::Assembly;
    SINTER_TRY(result.text, printMachineCode(kernels, target, form));
    return {};
  }
  SINTER_TRY(MachineCode code, emitMachineCode(kernels, target));
  SINTER_TRY(result.executable, serialize(module, code, request));
  MemoryReportInputs inputs;
  inputs.codeBytes = static_cast<int64_t>(code.image.size());
  result.memoryReport = makeMemoryReport(module, inputs);
  result.phaseMs["Executable"] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return {};
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
  SINTER_CHECK(finish(compilation, request, result));
  return result;
}
