#include "sinter/Plan.h"
#include "runtime/Base/Json.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Device/Cuda/NcclMemory.h"
#include "runtime/Memory/ProcessMemory.h"
#include "sinter/FitMemory.h"
#include "sinter/Prediction.h"
#include <malloc.h>
#include <nlohmann/json.hpp>

using namespace sinter;

static RunSize getRunSize(const PlanOptions &options) {
  return {options, options.mode.sequence, makeTrainOptions(options, options.saveEvery),
          options.validates};
}

/// Bytes that the heap holds for who asked it for them.
static uint64_t getHeapBytes() {
  struct mallinfo2 heap = ::mallinfo2();
  return heap.uordblks + heap.hblkhd;
}

/// What a run takes that no budget counts: pages of mapped files, which the system takes back when
/// it needs them, the tokenizer where text is generated, and what NCCL holds of a GPU.
static nlohmann::json describeOutside(const Model &model, const runtime::Executable &executable,
                                      const PlanOptions &options) {
  nlohmann::json outside = {{"libraries and program", runtime::readProcessMemory().mapped}};
  uint64_t weights = 0;
  if (model.weights)
    for (const WeightFiles::File &file : model.weights->getFiles())
      weights += file.bytes;
  if (weights != 0)
    outside["files of weights"] = weights;
  if (!options.isTraining() && !model.tokenizerFiles.empty()) {
    uint64_t before = getHeapBytes();
    if (auto tokenizer = Tokenizer::fromFiles(model.tokenizerFiles, model.path))
      outside["tokenizer"] = getHeapBytes() - before;
  }
  if (!executable.isForCpu() && runtime::countRanks(executable.getRoot()) > 1)
    outside["NCCL (estimated)"] = runtime::cuda::estimateNcclMemory(executable);
  return outside;
}

/// The plan's figures with those that only the runtime knows: code in whole pages, weights on their
/// way, what a trainer holds beside its step, and the process.
static Expected<nlohmann::json> addRuntime(const Model &model, const CompileResult &compiled,
                                           const PlanOptions &options, bool makesCode) {
  nlohmann::json report = parseJson(compiled.memoryReport);
  SINTER_TRY(std::shared_ptr<const runtime::Executable> executable,
             runtime::Executable::fromFlatbuffer(compiled.executable, model.path.string()));
  SINTER_TRY(runtime::TrainMemory use, predictStepMemory(model, executable, options));
  if (options.isTraining()) {
    report["spaces"]["snapshot"] = use.snapshot;
    report["spaces"]["batches"] = use.batches;
  }
  // What is not made takes some of what the process is allowed.
  uint64_t code = use.session.code;
  if (makesCode)
    report["spaces"]["code"] = code;
  else
    report["spaces"].erase("code");
  // Of a pipeline, those of the largest stage.
  report["spaces"]["state"] = use.session.state;
  report["spaces"]["parameter"] = use.session.parameter;
  if (executable->isForCpu())
    report["spaces"]["process"] = use.process + (makesCode ? 0 : code);
  report["resident_bytes"] = use.session.getResident() + use.snapshot + use.batches + use.process;
  report["preprocess_arena_bytes"] = use.session.preprocessArena;
  report["planned_bytes"] = use.getPeak();
  report["outside"] = describeOutside(model, *executable, options);
  return report;
}

static Expected<void> checkTrainingOnly(const PlanOptions &options) {
  if (!options.isTraining())
    for (const char *id : {"find_batch", "save_every", "validate"})
      if (options.given.contains(id))
        return fail("`" + std::string(id) + "`",
                    "is of a training run, not of " + options.mode.mode,
                    "add `mode` train, or leave it out");
  if (!options.findBatch)
    return {};
  if (options.memoryBudget.empty())
    return fail("`find_batch`", "nothing says what the batch must fit", "add `memory_budget`");
  if (options.given.contains("batch"))
    return fail("`find_batch`", "finds the batch that `batch` gives", "leave one of them out");
  return {};
}

static nlohmann::json describeLayouts(const std::vector<Layout> &layouts) {
  nlohmann::json list = nlohmann::json::array();
  for (const Layout &layout : layouts)
    list.push_back({{"grid", layout.grid},
                    {"zero", layout.zero},
                    {"step_ms", layout.stepMs},
                    {"planned_bytes", layout.plannedBytes},
                    {"fits", layout.fits},
                    {"why", layout.why}});
  return list;
}

/// The plan's figures with what the step takes.
static Expected<void> addPrediction(const CompileResult &compiled, const CompileRequest &request,
                                    const PlanOptions &options, const runtime::Cluster &cluster,
                                    nlohmann::json &report) {
  SINTER_TRY(std::shared_ptr<const runtime::Executable> executable,
             runtime::Executable::fromFlatbuffer(compiled.executable, "the step"));
  SINTER_TRY(std::vector<ProgramRuns> runs, getModeRuns(*executable, options));
  SINTER_TRY(StepPrediction prediction, predictStep(*executable, runs, request.options, cluster));
  report["prediction"] = describePrediction(prediction, cluster);
  report["prediction"]["device_bytes"] = cluster.device.memoryBytes;
  return {};
}

Expected<nlohmann::json> sinter::planStep(const Model &model, PlanOptions options) {
  SINTER_CHECK(model.requireDescription("plan the model itself"));
  SINTER_CHECK(checkTrainingOnly(options));
  SINTER_TRY(auto chosen, chooseDevices(options.where, options));
  auto &[cluster, devices] = chosen;
  SINTER_CHECK(completeOptions(model, options));
  SINTER_TRY(uint64_t budget, options.getBudget());
  nlohmann::json found = nlohmann::json::object();
  if (!options.where.layout.empty()) {
    SINTER_TRY(std::vector<Layout> layouts, findLayouts(model, options, devices, cluster));
    options.grid = layouts.front().grid;
    options.zero = layouts.front().zero;
    found["layouts"] = describeLayouts(layouts);
  }
  if (options.findBatch) {
    MemoryPlanner planner(model, getRunSize(options));
    SINTER_TRY(LargestBatch largest, findLargestBatch(planner, budget));
    options.batch = largest.batch;
    found.update({{"batch", largest.batch}, {"plans", planner.getPlans()}});
    if (largest.next)
      found["next_planned_bytes"] = *largest.next;
  }
  if (options.isTraining())
    SINTER_CHECK(checkBudget(MemoryPlanner(model, getRunSize(options))));
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options, options.validates));
  request.reportsMemory = true;
  // Of ranks the code is within what a process is allowed.
  request.code = options.grid.empty();
  SINTER_TRY(CompileResult result, compileIsolated(request, options));
  SINTER_TRY(nlohmann::json report, addRuntime(model, result, options, request.code));
  // As a training run does: what does not fit is computed again.
  uint64_t peak = report["planned_bytes"];
  request.code |= !request.options.isGpu(); // what makes the least arena is looked for with code
  if (budget != 0 && peak > budget)
    for (uint64_t bound : getArenaBounds(peak, report["spaces"]["arena"], budget)) {
      request.options.training.arenaBudget = bound;
      SINTER_TRY(result, compileIsolated(request, options));
      SINTER_TRY(report, addRuntime(model, result, options, request.code));
      if (peak = report["planned_bytes"]; peak <= budget)
        break;
    }
  report.update(found);
  SINTER_CHECK(addPrediction(result, request, options, cluster, report));
  return report;
}

Expected<std::vector<Decision>> sinter::explain(const Model &model, StepModeOptions options) {
  SINTER_CHECK(
      model.requireDescription("explain the model itself, an executable keeps no decisions"));
  SINTER_CHECK(completeOptions(model, options));
  SINTER_TRY(CompileRequest request, makeModeRequest(model, options));
  request.explains = true;
  SINTER_TRY(CompileResult result, compile(request));
  return std::move(result.decisions);
}
