#include "compiler/Pipelines/Compilation.h"
#include "compiler/Analysis/BuildIdentity.h"
#include "compiler/Analysis/KernelFamily.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Pipelines/Registration.h"
#include "compiler/Sharding/ModelStages.h"
#include "dialects/Plan/PlanDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "runtime/Device/Cuda/CubinCache.h"
#include "runtime/Format/CudaArchitecture.h"
#include "runtime/Format/KernelMarks.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/PipelineSchedule.h"
#include <mutex>
#include <set>

using namespace mlir;
using namespace sinter;

static DialectRegistry makeRegistry() {
  // Passes are registered for the whole process; once is enough.
  static std::once_flag once;
  std::call_once(once, registerPasses);
  DialectRegistry registry;
  registerDialects(registry);
  return registry;
}

Compilation::Compilation(const CompileRequest &request)
    : request(request), context(makeRegistry(), MLIRContext::Threading::DISABLED), errors(context) {
  context.loadAllAvailableDialects();
}

Expected<void> Compilation::begin() {
  SINTER_CHECK(loadPlugins());
  return makeModule();
}

Expected<void> Compilation::loadPlugins() {
  for (const std::string &path : request.options.passPlugins) {
    auto plugin = PassPlugin::load(path);
    if (!plugin)
      return fail("`load_pass_plugin` " + path, llvm::toString(plugin.takeError()),
                  "give a shared library that was built against this version");
    plugin->registerPassRegistryCallbacks();
  }
  return {};
}

Expected<void> Compilation::makeModule() {
  SINTER_TRY(TargetAttr target,
             parseTarget(&context, request.options.getTarget(), request.options.cores));
  SINTER_TRY(module, request.graph->build(context, request, target));
  (*module)->setAttr(SinterDialect::kTarget, target);
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(request.options.grid));
  SINTER_CHECK(checkGrid(axes));
  // A text may say what it is written for.
  GridAttr written = GridAttr::lookup(*module);
  if (written && written != makeGrid(axes)) {
    std::string text;
    llvm::raw_string_ostream(text) << written;
    return fail("`grid`" + (axes.empty() ? "" : " " + request.options.grid),
                "the text is for " + text, "give `grid` that");
  }
  if (!axes.empty())
    (*module)->setAttr(SinterDialect::kGrid, makeGrid(axes));
  addMetadata();
  return {};
}

Expected<void> Compilation::checkGrid(ArrayRef<runtime::GridAxis> axes) {
  const CompileOptions &options = request.options;
  bool trains = llvm::any_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function->hasAttr(SinterDialect::kDifferentiate);
  });
  std::string what = "`grid` " + options.grid;
  for (const runtime::GridAxis &axis : axes) {
    if (axis.size == 1)
      continue;
    if (options.tune)
      return fail("`tune`", "each rank of " + what + " would choose for itself, and not the same",
                  "leave one of them out");
    if (!trains && axis.name == "data")
      return fail(what, "the axis data is for training",
                  "give tensor=" + std::to_string(axis.size));
    if (axis.name == runtime::kPipelineAxis)
      SINTER_CHECK(checkStages(axis.size, trains));
  }
  return {};
}

Expected<void> Compilation::checkStages(size_t places, bool trains) {
  SINTER_TRY(runtime::PipelineSchedule schedule,
             runtime::parsePipelineSchedule(request.options.pipelineSchedule));
  size_t stages = places * (trains ? runtime::PipelineShape::stagesOfPlace(schedule) : 1);
  func::FuncOp entry = findModelEntry(*module);
  size_t layers = entry ? listLayers(entry).size() : 0;
  size_t most = layers * places / stages;
  if (layers < stages)
    return fail("`grid` " + request.options.grid,
                "the model's " + std::to_string(layers) + " layers are fewer than the " +
                    std::to_string(stages) + " stages of its pipeline" +
                    (stages > places ? ", " + std::to_string(stages / places) + " a rank" : ""),
                most > 1 ? "give at most pipeline=" + std::to_string(most)
                         : "leave the axis pipeline out");
  if (!request.options.stages.empty())
    SINTER_CHECK(parseStageLayers(request.options.stages, stages, layers));
  return {};
}

GridAttr Compilation::makeGrid(ArrayRef<runtime::GridAxis> axes) {
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  for (const runtime::GridAxis &axis : axes) {
    names.push_back(StringAttr::get(&context, axis.name));
    sizes.push_back(static_cast<int64_t>(axis.size));
  }
  return GridAttr::get(&context, names, sizes);
}

void Compilation::addMetadata() {
  std::map<std::string, std::string> known = request.contents.metadata;
  CompileOptions options = request.options;
  options.target = options.getTarget();
  options.computeType = options.getComputeType();
  options.cacheType = options.getCacheType();
  options.maxSequence = options.getMaxSequence();
  known.merge(describeOptions(options));
  bool trains = llvm::any_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
    return function.getName() == "train_step" || function.getName() == "update";
  });
  if (trains)
    known.merge(describeOptions(options.training));
  NamedAttrList metadata((*module)->getAttrOfType<DictionaryAttr>(SinterDialect::kMetadata));
  for (const auto &[key, value] : known)
    metadata.set(key, StringAttr::get(&context, value));
  (*module)->setAttr(SinterDialect::kMetadata, metadata.getDictionary(&context));
}

Expected<std::vector<PassStep>> Compilation::listPasses(Phase last, int64_t release) const {
  return sinter::listPasses(request.options, last, release);
}

Expected<void> Compilation::run(const PassStep &step) {
  if (succeeded(runPass(*module, step)))
    return {};
  if (step.phase == Phase::Sharding)
    return fail("`grid` " + request.options.grid, errors.getFirst(),
                request.options.forbidGather ? "give another grid, or leave out `forbid_gather`"
                                             : "give another grid");
  if (step.phase == Phase::Import && request.graph->isWritten())
    return fail(errors.getPlace().empty() ? "MLIR text" : errors.getPlace(), errors.getFirst(),
                "mend the text");
  return makeDefect(step.argument);
}

void Compilation::takeKnownKernels(ArrayRef<PassStep> left) {
  // A plugin's passes may change between runs without their names changing.
  ModuleOp code = lookupKernels(*module);
  if (!request.kernelCache || request.kernelCache->getFolder().empty() ||
      !request.options.passPlugins.empty() || !code)
    return;
  std::vector<std::string> passes;
  for (const PassStep &step : left)
    if (step.phase == Phase::Codegen)
      passes.push_back(step.text);
  kernels.emplace(*request.kernelCache, identifyBuild());
  kernels->take(code, TargetAttr::lookup(*module), passes);
}

void Compilation::tellWarnings() const {
  if (request.onWarning)
    for (const std::string &warning : errors.getWarnings())
      request.onWarning({"`grid` " + request.options.grid, warning,
                         "give another grid, or `forbid_gather` to make it an error"});
}

Expected<KernelCode> Compilation::emitKernels(ModuleOp planned) const {
  if (!request.code)
    return makeNoCode(planned);
  auto target = TargetAttr::lookup(planned);
  if (!target.isGpu())
    return emitMachineCode(lookupKernels(planned), target, kernels ? &*kernels : nullptr);
  SINTER_TRY(auto code, beginCudaCode(planned));
  return code.get();
}

KernelCode Compilation::makeNoCode(ModuleOp planned) const {
  std::set<std::string> names;
  planned.walk([&](plan::LaunchOp launch) { names.insert(launch.getKernel().str()); });
  if (TargetAttr::lookup(planned).isGpu()) {
    CudaProgram program;
    for (const std::string &name : names)
      program.kernels.push_back({name, /*block=*/1});
    return CudaCode{request.options.target, {std::move(program)}, {{}}, request.options.tune};
  }
  // Each has an entry of its own, with room for its mark before it.
  MachineCode code;
  for (const std::string &name : names) {
    code.image.resize(code.image.size() + runtime::kernelMarkBytes);
    code.offsets[name] = code.image.size();
    code.image.insert(code.image.end(), {std::byte{0x0f}, std::byte{0x0b}}); // ud2
  }
  return code;
}

/// Fills in the machine code of programs for their target, where it is wanted.
static Expected<CudaCode> compilePrograms(CudaCode code, bool cubins) {
  if (!cubins)
    return code;
  SINTER_TRY(runtime::cuda::Capability capability,
             runtime::cuda::capabilityOf(code.target, "`target`"));
  SINTER_TRY(std::string real, runtime::cuda::architectureFor(capability));
  std::vector<runtime::cuda::CudaSource> sources;
  for (auto [i, program] : llvm::enumerate(code.programs))
    sources.push_back(
        {("kernels-" + llvm::Twine(i) + ".cu").str(), program.source, program.options, {}});
  runtime::ThreadPool pool(0);
  SINTER_TRY(auto cache, runtime::cuda::CubinCache::standard());
  SINTER_TRY(auto compiled, cache.compile(sources, real, pool));
  for (auto [cubins, result] : llvm::zip_equal(code.cubins, compiled))
    cubins[real] = std::move(result.cubin);
  return code;
}

Expected<std::future<Expected<CudaCode>>> Compilation::beginCudaCode(ModuleOp lowered) const {
  FailureOr<std::vector<CudaProgram>> programs = emitCudaPrograms(lowered);
  if (failed(programs))
    return makeDefect("printing kernels");
  CudaCode code{request.options.target, std::move(*programs), {}, request.options.tune};
  code.cubins.resize(code.programs.size());
  return std::async(std::launch::async, compilePrograms, std::move(code), request.options.cubins);
}

std::string Compilation::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags;
  if (request.options.elidesConstants)
    flags.elideLargeElementsAttrs(16);
  // It is a model, too: what fuses depends on the stages of a step, which locations keep.
  if (request.options.emit == "graph")
    flags.enableDebugInfo();
  const_cast<OwningOpRef<ModuleOp> &>(module)->print(stream, flags);
  stream << '\n';
  return text;
}

tl::unexpected<Error> Compilation::makeDefect(std::string what) const {
  auto error =
      fail(std::move(what), errors.getFirst(), "please report it with the model's config.json");
  error.value().defect = true;
  return error;
}
