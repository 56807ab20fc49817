#include "sinter/TrainStep.h"
#include "runtime/Base/ReadFile.h"
#include "runtime/Collective/Grid.h"
#include "runtime/Format/PipelineStages.h"
#include "runtime/Train/GradientTree.h"
#include "runtime/Train/PipelineSchedule.h"
#include <algorithm>
#include <cmath>
#include <utility>

using namespace sinter;

std::vector<uint64_t> sinter::getArenaBounds(uint64_t peak, uint64_t arena, uint64_t budget) {
  constexpr uint64_t kLeast = TrainingOptions::kLeastArena;
  // What is computed again has code, too: room for that.
  uint64_t excess = peak - budget + budget / 64;
  if (excess + kLeast >= arena)
    return {kLeast};
  return {arena - excess, kLeast};
}

Expected<runtime::TrainMemory> sinter::fitBudget(CompileRequest request, const RunOptions &options,
                                                 uint64_t budget, const runtime::TrainOptions &run,
                                                 bool validates, Compiled &compiled) {
  SINTER_TRY(runtime::TrainMemory memory,
             runtime::predictTrainMemory(compiled.executable, run, validates));
  if (budget == 0 || memory.getPeak() <= budget || !request.graph)
    return memory;
  for (uint64_t bound : getArenaBounds(memory.getPeak(), memory.session.arena, budget)) {
    request.options.training.arenaBudget = bound;
    SINTER_TRY(Compiled smaller, compileCached(request, options, compiled.executable->getName()));
    compiled.executable = std::move(smaller.executable);
    compiled.compileMs += smaller.compileMs;
    SINTER_TRY(memory, runtime::predictTrainMemory(compiled.executable, run, validates));
    if (memory.getPeak() <= budget)
      break;
  }
  return memory;
}

int64_t sinter::getDefaultSequence(const Model &model) {
  return model.text ? model.text->getNumber("seq")
                    : std::min<int64_t>(256, model.spec.maxPositions);
}

/// The options of a training step that decide its bits: what fuses, and with it the order of some
/// sums, must not follow the threads that it runs on, and a momentum is the optimizer's own unless
/// it is given.
static RunOptions makeStepOptions(const RunOptions &options) {
  RunOptions step = options;
  step.cacheType = DType::F32;
  step.training.momentum = options.training.getMomentum();
  return step;
}

/// Ranks along an axis; 1 where there is none of this name.
static uint64_t countAlong(std::span<const runtime::GridAxis> axes, std::string_view name) {
  for (const runtime::GridAxis &axis : axes)
    if (axis.name == name)
      return axis.size;
  return 1;
}

/// Fails where ranks cannot share the microbatches of a step.
static Expected<void> checkBlocks(const RunOptions &options) {
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(options.grid));
  uint64_t ranks = countAlong(axes, "data");
  SINTER_CHECK(runtime::GradientTree::make(static_cast<uint64_t>(options.training.accumulate),
                                           static_cast<uint64_t>(options.training.leaves), ranks,
                                           options.zero >= 2 ? runtime::Sharing::Interleaved
                                                             : runtime::Sharing::Blocks));
  return {};
}

Expected<void> sinter::checkNoTraining(const RunOptions &options,
                                       const std::set<std::string, std::less<>> &given,
                                       const std::string &what, const std::string &remedy) {
  Expected<void> result;
  auto check = [&](const OptionInfo &info, const auto &) {
    bool ofRanks = info.group == "Devices" && info.id != "zero" && info.id != "pipeline_schedule" &&
                   info.id != "microbatches";
    bool any = info.group.empty() || info.group == "Compiler" || ofRanks;
    if (result && given.contains(info.id) && !any)
      result = fail("`" + std::string(info.id) + "`", "is of a training step, not of " + what,
                    "add " + remedy + ", or leave it out");
  };
  TrainingOptions::visit(options.training, check);
  RunOptions::visit(options, check);
  return result;
}

Expected<void> sinter::resolveMicrobatches(RunOptions &options) {
  if (options.microbatches == 0)
    return {};
  std::string what = "`microbatches` " + std::to_string(options.microbatches);
  int64_t &accumulate = options.training.accumulate;
  if (accumulate != 1 && accumulate != options.microbatches)
    return fail(what, "`accumulate` says " + std::to_string(accumulate) + " of them a step",
                "leave one of them out");
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(options.grid));
  if (countAlong(axes, runtime::kPipelineAxis) == 1)
    return fail(what, "they are those of a pipeline, and `grid` has none",
                "give `accumulate`, or `grid` pipeline=2");
  accumulate = options.microbatches;
  return {};
}

/// Fails where stages cannot take the microbatches of a step in turn.
static Expected<void> checkPipeline(const RunOptions &options) {
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(options.grid));
  runtime::PipelineShape shape;
  SINTER_TRY(shape.schedule, runtime::parsePipelineSchedule(options.pipelineSchedule));
  shape.places = static_cast<uint32_t>(countAlong(axes, runtime::kPipelineAxis));
  shape.stages = shape.places * runtime::PipelineShape::stagesOfPlace(shape.schedule);
  shape.microbatches =
      static_cast<uint64_t>(options.training.accumulate) / countAlong(axes, "data");
  if (shape.places > 1)
    return shape.check();
  if (!options.pipelineSchedule.empty())
    return fail("`pipeline_schedule` " + options.pipelineSchedule,
                "it is of a pipeline, and `grid` has none", "give `grid` pipeline=2, for example");
  return {};
}

/// Fails where an option is another optimizer's, or of no parameter.
static Expected<void> checkOptimizer(const Model &model, const OptimizerOptions &options) {
  if (model.text) // which says all of its options, and was made with those that it has
    return {};
  constexpr std::pair<std::string_view, std::string_view> owners[] = {
      {"beta1", "adamw and muon"},     {"beta2", "adamw and muon"}, {"eps", "adamw and muon"},
      {"momentum", "sgd and muon"},    {"nesterov", "sgd"},         {"relative_step", "adafactor"},
      {"scale_parameter", "adafactor"}};
  auto changed = listChanged(options);
  for (auto [id, names] : owners)
    if (changed.contains(id) && names.find(options.optimizer) == names.npos)
      return fail("`" + std::string(id) + "`",
                  "is of `optimizer` " + std::string(names) + ", not of " + options.optimizer,
                  "leave it out, or choose another optimizer");
  for (const std::string &text : options.noDecay)
    if (std::ranges::none_of(model.getParameters(), [&](const ParameterInfo &parameter) {
          return parameter.name.find(text) != std::string::npos;
        }))
      return fail("`no_decay` " + text, "no parameter's name contains it",
                  "give a part of a name such as " + model.getParameters().front().name);
  return {};
}

/// Fails where nothing is recomputed of what options say how to.
static Expected<void> checkRecomputed(const RunOptions &options) {
  const TrainingOptions &step = options.training;
  if (step.rematerialize != "op" && options.memoryBudget.empty() && step.arenaBudget == 0)
    return fail("`rematerialize` " + step.rematerialize,
                "it is of what is recomputed under a budget, and there is none",
                "give `memory_budget` SIZE, or leave it out");
  return {};
}

/// Fails where states are to be split along an axis that is not there.
static Expected<void> checkZero(const RunOptions &options) {
  SINTER_TRY(std::vector<runtime::GridAxis> axes, runtime::parseGrid(options.grid));
  if (options.zero != 0 && std::ranges::find(axes, "data", &runtime::GridAxis::name) == axes.end())
    return fail("`zero` " + std::to_string(options.zero),
                "it splits along the axis data, and `grid` has none",
                "give `grid` data=2, for example");
  return {};
}

Expected<CompileRequest> sinter::makeTrainRequest(const Model &model, const RunOptions &options,
                                                  int64_t sequence, bool evaluate) {
  const ModelSpec &spec = model.spec;
  SINTER_CHECK(options.training.check());
  SINTER_CHECK(checkBlocks(options));
  SINTER_CHECK(checkPipeline(options));
  SINTER_CHECK(checkOptimizer(model, options.training));
  SINTER_CHECK(checkZero(options));
  SINTER_CHECK(checkRecomputed(options));
  if (spec.positions == PositionKind::Learned && sequence > spec.maxPositions)
    return fail("`seq` " + std::to_string(sequence),
                "the model has " + std::to_string(spec.maxPositions) + " learned positions",
                "use at most that many");
  std::vector<std::string> entries = {"train_step"};
  if (evaluate)
    entries.push_back("evaluate");
  SINTER_TRY(CompileRequest request,
             makeRequest(model, makeStepOptions(options), std::move(entries), sequence, sequence));
  constexpr int64_t kCores = 2;
  request.options.cores = kCores;
  // The description goes with what is trained from it.
  std::error_code ignored;
  if (!std::filesystem::is_directory(model.path, ignored))
    request.contents.attachments[model.text ? "model.mlir" : "config.json"] = model.description;
  else
    for (const char *name : {"config.json", "generation_config.json"})
      if (std::filesystem::exists(model.path / name, ignored)) {
        SINTER_TRY(request.contents.attachments[name], readFile(model.path / name));
      }
  return request;
}

std::map<std::string, std::string> sinter::describeStep(const RunOptions &options,
                                                        int64_t sequence) {
  std::map<std::string, std::string> step = describeOptions(makeStepOptions(options).training);
  step["batch"] = writeOption(options.batch);
  step["seq"] = writeOption(sequence);
  return step;
}

double sinter::getUsefulFlops(const ModelSpec &spec, int64_t batch, int64_t sequence) {
  auto elements = [](const LinearSpec &linear) { return double(linear.in) * double(linear.out); };
  double weights = elements(spec.head), attention = 0;
  if (spec.layerInputs)
    weights += elements(spec.layerInputs->projection);
  for (const LayerSpec &layer : spec.layers) {
    for (const LinearSpec *linear : layer.getLinears())
      weights += elements(*linear);
    if (layer.experts) {
      const ExpertsSpec::Expert &expert = layer.experts->experts.front();
      weights += elements(layer.experts->router) +
                 double(spec.expertsPerToken) *
                     (elements(expert.gate) + elements(expert.up) + elements(expert.down));
      if (layer.experts->sharedGate)
        weights += elements(*layer.experts->sharedGate);
    }
    // Query i sees the keys 0 to i, or the last `window` of them.
    double window = double(layer.window ? std::min(layer.window, sequence) : sequence);
    double pairs = window * (window + 1) / 2 + (double(sequence) - window) * window;
    // Of keys and of values, whose heads may be narrower.
    int64_t width = spec.getHeadDim(layer);
    width += layer.latent ? spec.valueSize : width;
    attention += 2 * double(batch) * pairs * double(spec.heads) * double(width);
  }
  return 3 * (2 * double(batch) * double(sequence) * weights + attention);
}
