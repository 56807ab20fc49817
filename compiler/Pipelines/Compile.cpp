#include "compiler/Pipelines/Compile.h"
#include "compiler/Codegen/Cpu/MachineCode.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Executable/MemoryReport.h"
#include "compiler/Executable/Serialize.h"
#include "compiler/Pipelines/Compilation.h"
#include "compiler/Pipelines/DecisionCollector.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/IR/Remarks.h"
#include <algorithm>
#include <chrono>
#include <future>
#include <limits>

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
  if (options.emit == "llvm" || options.emit == "asm" || options.emit == "cuda")
    return Phase::Codegen;
  return Phase::Memory;
}

/// The text of the kernels: of the machine code, or CUDA C++.
static Expected<std::string> printKernels(Compilation &compilation, const CompileRequest &request) {
  ModuleOp module = compilation.getModule();
  const std::string &emit = request.options.emit;
  auto target = TargetAttr::lookup(module);
  if ((emit == "cuda") != target.isGpu())
    return fail("`emit` " + emit,
                std::string("kernels for ") + request.options.getTarget() + " are not in it",
                target.isGpu() ? "give `emit` cuda" : "give `target` cuda:sm_90, or `emit` llvm");
  if (!target.isGpu())
    return printMachineCode(lookupKernels(module), target,
                            emit == "llvm" ? CodeText::Llvm : CodeText::Assembly);
  FailureOr<std::vector<CudaProgram>> programs = emitCudaPrograms(module);
  if (failed(programs))
    return compilation.makeDefect("printing kernels");
  std::string text;
  for (const CudaProgram &program : *programs)
    text += program.source;
  return text;
}

namespace {
/// A module behind its last phase, and the code of a GPU's kernels where that is an executable's.
struct Planned {
  std::unique_ptr<Compilation> compilation;
  std::optional<std::future<Expected<CudaCode>>> cudaCode;
};
} // namespace

/// From the planned module to what was asked for: text of the kernels, or an executable and, where
/// it is wanted, the report on its memory.
static Expected<void> finish(Planned &planned, const CompileRequest &request,
                             CompileResult &result) {
  auto start = std::chrono::steady_clock::now();
  Compilation &compilation = *planned.compilation;
  ModuleOp module = compilation.getModule();
  const std::string &emit = request.options.emit;
  if (emit == "llvm" || emit == "asm" || emit == "cuda") {
    SINTER_TRY(result.text, printKernels(compilation, request));
    return {};
  }
  auto makeCode = [&]() -> Expected<KernelCode> {
    if (planned.cudaCode)
      return planned.cudaCode->get();
    return compilation.emitKernels(module);
  };
  SINTER_TRY(KernelCode code, makeCode());
  SINTER_TRY(result.executable, serialize(module, code, request.contents));
  if (request.reportsMemory) {
    const auto *machine = std::get_if<MachineCode>(&code);
    result.memoryReport =
        makeMemoryReport(module, machine ? static_cast<int64_t>(machine->image.size()) : 0);
  }
  result.phaseMs["Executable"] =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  return {};
}

/// Whether a pass of Codegen says how many work items kernels have.
static bool setsGrids(const PassStep &step) {
  return step.argument == "sinter-lower-kernels" || step.argument == "sinter-tile-transposes" ||
         step.argument == "sinter-lower-cuda-kernels";
}

/// The passes up to and with a phase, recomputing `release` bytes. No plan depends on the code of
/// kernels: without `code`, Codegen ends with the last pass that says how many work items they
/// have.
static Expected<std::vector<PassStep>> listPasses(const Compilation &compilation, Phase last,
                                                  int64_t release, bool code) {
  SINTER_TRY(std::vector<PassStep> steps, compilation.listPasses(last, release));
  if (code)
    return steps;
  auto firstDropped = std::find_if(steps.rbegin(), steps.rend(), setsGrids).base();
  auto isCodegen = [](const PassStep &step) { return step.phase == Phase::Codegen; };
  steps.erase(std::remove_if(firstDropped, steps.end(), isCodegen), steps.end());
  return steps;
}

/// The module after all phases up to and with `last`, and what they decided.
static Expected<Planned> runPhases(const CompileRequest &request, Phase last, int64_t release,
                                   CompileResult &result) {
  Planned planned{std::make_unique<Compilation>(request), std::nullopt};
  auto &compilation = planned.compilation;
  if (request.explains && request.code &&
      failed(collectDecisions(compilation->getContext(), result.decisions)))
    return compilation->makeDefect("remarks");
  SINTER_CHECK(compilation->begin());
  SINTER_TRY(std::vector<PassStep> steps, listPasses(*compilation, last, release, request.code));
  bool makesCode = last == Phase::Memory && request.options.stopAfter.empty() &&
                   request.options.emit.empty() && request.code;
  bool isGpu = TargetAttr::lookup(compilation->getModule()).isGpu();
  for (const auto &[i, step] : llvm::enumerate(steps)) {
    auto start = std::chrono::steady_clock::now();
    SINTER_CHECK(compilation->run(step));
    // Of kernels whose passes are to explain themselves, none is left out.
    ArrayRef<PassStep> left = ArrayRef(steps).drop_front(i + 1);
    if (makesCode && !isGpu && !request.explains && setsGrids(step) &&
        llvm::none_of(left, setsGrids))
      compilation->takeKnownKernels(left);
    if (makesCode && isGpu && step.phase == Phase::Codegen &&
        steps[i + 1].phase != Phase::Codegen) {
      SINTER_TRY(planned.cudaCode, compilation->beginCudaCode(compilation->getModule()));
    }
    result.phaseMs[stringifyPhase(step.phase).str()] +=
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  }
  result.knownKernels = compilation->countKnownKernels();
  compilation->getContext().setRemarkEngine(nullptr);
  compilation->tellWarnings();
  return planned;
}

/// The arena of a planned module: that of its largest program.
static int64_t getArenaBytes(ModuleOp module) {
  int64_t bytes = 0;
  for (auto program : module.getOps<plan::ProgramOp>())
    bytes = std::max<int64_t>(bytes, program.getArenaBytes().value_or(0));
  return bytes;
}

/// The arena of a plan that recomputes `release` bytes.
static Expected<int64_t> planArena(const CompileRequest &request, Phase last, int64_t release) {
  Compilation compilation(request);
  SINTER_CHECK(compilation.begin());
  SINTER_TRY(std::vector<PassStep> steps, listPasses(compilation, last, release, /*code=*/false));
  for (const PassStep &step : steps)
    SINTER_CHECK(compilation.run(step));
  return getArenaBytes(compilation.getModule());
}

/// How many bytes to recompute: all where the least arena is asked for and that makes it smaller,
/// else as few as bring it within its budget, or, where that cannot be met, as make it smallest of
/// some. How many bytes of the arena a kept byte is depends on what else is alive, and more than
/// enough takes more again, so each is planned. What is not run is predicted without that.
static Expected<int64_t> findRelease(const CompileRequest &request, Phase last) {
  auto budget = static_cast<int64_t>(request.options.training.arenaBudget);
  constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
  bool isLeast = budget == TrainingOptions::kLeastArena;
  if (isLeast && !request.code)
    return kAll;
  SINTER_TRY(int64_t kept, planArena(request, last, 0));
  if (kept <= budget)
    return 0;
  if (isLeast) {
    SINTER_TRY(int64_t all, planArena(request, last, kAll));
    return all < kept ? kAll : 0;
  }
  // More than the arena is seldom released.
  int64_t best = kept;
  SINTER_TRY(int64_t smallest, planArena(request, last, best));
  if (smallest >= kept)
    return 0;
  if (smallest > budget) {
    SINTER_TRY(int64_t all, planArena(request, last, kAll));
    if (all <= budget)
      return kAll;
  }
  // Where neither is enough, less may be. The smallest arena releases more than half of the
  // largest.
  bool fits = smallest <= budget;
  int64_t tooLittle = fits ? 0 : kept / 2;
  int64_t release = fits ? kept - budget : (tooLittle + best) / 2;
  const int kPlans = fits ? 6 : 3;
  for (int plan = 0; plan < kPlans && tooLittle < release && release < best; ++plan) {
    SINTER_TRY(int64_t bytes, planArena(request, last, release));
    if (bytes > std::max(budget, smallest)) {
      tooLittle = release;
    } else {
      best = release;
      smallest = bytes;
    }
    if (bytes <= budget && budget - bytes < budget / 50)
      break;
    int64_t middle = (tooLittle + best) / 2;
    release = fits && best == kept ? std::min(2 * release, middle) : middle;
  }
  return best;
}

Expected<CompileResult> sinter::compile(const CompileRequest &request) {
  const CompileOptions &options = request.options;
  CompileResult result;
  SINTER_TRY(Phase last, getLastPhase(options));
  int64_t release = 0;
  if (options.training.arenaBudget > 0 && last == Phase::Memory) {
    SINTER_TRY(release, findRelease(request, last));
  }
  SINTER_TRY(Planned planned, runPhases(request, last, release, result));
  if (!options.stopAfter.empty() || options.emit == "graph" || options.emit == "fused" ||
      options.emit == "program") {
    result.text = planned.compilation->print();
    return result;
  }
  SINTER_CHECK(finish(planned, request, result));
  return result;
}
