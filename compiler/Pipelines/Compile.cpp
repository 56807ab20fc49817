#include "compiler/Pipelines/Compile.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Executable/MemoryReport.h"
#include "compiler/Executable/Serialize.h"
#include "compiler/Pipelines/DecisionCollector.h"
#include "compiler/Pipelines/Pipeline.h"
#include "compiler/Pipelines/Registration.h"
#include "frontends/Transformer/BuildGraph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include <chrono>
#include <mutex>
#include <xxhash.h>

using namespace mlir;
using namespace sinter;

namespace {
/// Remembers the errors that ops and passes report; the first one is the cause.
class ErrorCollector {
public:
  explicit ErrorCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
            return failure();
          if (first.empty())
            first = diagnostic.str();
          return success();
        }) {}

  const std::string &getFirst() const { return first; }

private:
  std::string first;
  ScopedDiagnosticHandler handler;
};

/// One compilation: the context, the module on its way, and what was found out.
class Compilation {
public:
  explicit Compilation(const CompileRequest &request)
      : request(request), options(request.options), context(makeRegistry(), MLIRContext::Threading::DISABLED),
        errors(context) {
    context.loadAllAvailableDialects();
  }

  Expected<CompileResult> run();

private:
  static DialectRegistry makeRegistry() {
    // Passes are registered for the whole process; once is enough.
    static std::once_flag once;
    std::call_once(once, registerPasses);
    DialectRegistry registry;
    registerDialects(registry);
    return registry;
  }

  Expected<void> loadPlugins();
  Expected<void> makeModule();
  Expected<void> runPhases(Phase last);
  Expected<void> finish();

  /// An error of the compiler's own, with the first diagnostic as its reason.
  tl::unexpected<Error> makeDefect(std::string what) {
    auto error = fail(std::move(what), errors.getFirst(), "please report it with the model's config.json");
    error.value().defect = true;
    return error;
  }

  std::string print() {
    std::string text;
    llvm::raw_string_ostream stream(text);
    OpPrintingFlags flags;
    module->print(stream, flags.elideLargeElementsAttrs(16));
    return text;
  }

  const CompileRequest &request;
  const CompileOptions &options;
  MLIRContext context;
  ErrorCollector errors;
  OwningOpRef<ModuleOp> module;
  TargetAttr target;
  CompileResult result;
};
} // namespace

Expected<void> Compilation::loadPlugins() {
  for (const std::string &path : options.passPlugins) {
    auto plugin = PassPlugin::load(path);
    if (!plugin)
      return fail("--load-pass-plugin " + path, llvm::toString(plugin.takeError()),
                  "give a shared library that was built against this version");
    plugin->registerPassRegistryCallbacks();
  }
  return {};
}

Expected<void> Compilation::makeModule() {
  SINTER_TRY(target, parseTarget(&context, options.target, options.cores));
  if (!request.spec) {
    module = parseSourceString<ModuleOp>(request.source, &context);
    if (!module)
      return fail("MLIR text", errors.getFirst(), "mend the text");
  } else {
    GraphOptions graph;
    graph.batch = options.batch;
    graph.chunk = options.chunk;
    graph.capacity = options.capacity;
    graph.entries = options.entries;
    graph.parameterTypes = request.parameterTypes;
    SINTER_TRY(module, buildGraph(context, *request.spec, graph));
  }
  (*module)->setAttr(SinterDialect::kTarget, target);
  return {};
}

Expected<void> Compilation::runPhases(Phase last) {
  PipelineOptions pipeline;
  pipeline.computeType = options.computeType == DType::BF16 ? "bf16" : "f32";
  pipeline.cacheType = options.cacheType == DType::BF16 ? "bf16" : "f32";
  pipeline.disabledPasses = options.disabledPasses;
  pipeline.addedPasses = options.addedPasses;
  SINTER_TRY(std::vector<PassStep> steps, listPasses(pipeline, last));
  for (const PassStep &step : steps) {
    auto start = std::chrono::steady_clock::now();
    if (failed(runPass(*module, step)))
      return makeDefect(step.argument);
    result.phaseMs[stringifyPhase(step.phase).str()] +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  return {};
}

Expected<CompileResult> Compilation::run() {
  Phase last = Phase::Memory;
  if (!options.stopAfter.empty()) {
    SINTER_TRY(last, parsePhase(options.stopAfter));
  } else if (options.emit == "graph") {
    last = Phase::Import;
  } else if (options.emit == "fused") {
    last = Phase::Fusion;
  } else if (options.emit == "llvm" || options.emit == "asm") {
    last = Phase::Codegen;
  }
  SINTER_CHECK(loadPlugins());
  if (failed(collectDecisions(context, result.decisions)))
    return makeDefect("remarks");
  SINTER_CHECK(makeModule());
  SINTER_CHECK(runPhases(last));
  context.setRemarkEngine(nullptr);

  if (!options.stopAfter.empty() || options.emit == "graph" || options.emit == "fused" ||
      options.emit == "program") {
    result.text = print();
    return std::move(result);
  }
  SINTER_CHECK(finish());
  return std::move(result);
}
