#include "tools/sinter/Training.h"
#include "runtime/Base/ByteSize.h"
#include "runtime/Base/ReadFile.h"
#include <cmath>

using namespace sinter;
using namespace sinter::cli;

void sinter::cli::addStepOptions(CLI::App &command, StepOptions &options) {
  TrainingOptions &training = options.training;
  auto add = [&](const char *group, const char *name, auto &variable, const char *type,
                 const char *text) {
    CLI::Option *option = command.add_option(name, variable, text)
                              ->group(group)
                              ->type_name(type)
                              ->capture_default_str();
    return takesNumber(variable) ? option->check(isNumber) : option;
  };
  const char *group = "Optimizer";
  add(group, "--optimizer", training.optimizer, "NAME",
      "adamw; sgd: momentum; adafactor: factored second moments, little memory; muon: orthogonal "
      "updates of matrices, adamw for the rest")
      ->check(CLI::IsMember({"adamw", "sgd", "adafactor", "muon"}));
  add(group, "--weight-decay", training.weightDecay, "F",
      "decay of parameters of two or more dimensions, times the learning rate; decoupled, but for "
      "sgd, where it is added to the gradient");
  add(group, "--no-decay", training.noDecay, "TEXT,...",
      "no decay for parameters whose names contain one of these, such as wte,wpe");
  add(group, "--beta1", training.beta1, "F", "adamw, muon: decay of the mean gradient");
  add(group, "--beta2", training.beta2, "F", "adamw, muon: decay of the mean squared gradient");
  add(group, "--eps", training.epsilon, "F", "adamw, muon: added to the root of the latter");
  add(group, "--momentum", training.momentum, "F",
      "sgd, muon: decay of the sum of gradients (default: 0.9, of muon 0.95)");
  command.add_flag("--nesterov", training.nesterov, "sgd: look one step ahead")->group(group);
  add(group, "--relative-step", training.relativeStep, "BOOL",
      "adafactor: steps of its own, min(0.01, 1/sqrt(t)), instead of --lr");
  add(group, "--scale-parameter", training.scaleParameter, "BOOL",
      "adafactor: steps are times the root mean square of the parameter");
  add(group, "--grad-clip", training.gradientClip, "F",
      "largest norm of all gradients together; 0: any");
  add(group, "--accumulate", training.accumulate, "K",
      "microbatches of --batch rows whose gradients make one step")
      ->check(wholeNumber(1, 1 << 20));

  group = "Regularization";
  add(group, "--dropout", training.dropout, "P",
      "probability, for embeddings, attention weights and what layers add");
  add(group, "--z-loss", training.zLoss, "F",
      "adds F times the squared log of each softmax's sum to the loss; 1e-4, for example");
  command
      .add_flag("--document-mask", training.documentMask,
                "documents in one row do not see each other, and no loss is taken where one ends")
      ->group(group);

  group = "Memory";
  add(group, "--memory-budget", options.memoryBudget, "SIZE",
      "the most that the run may hold, as 8GiB, 500MB or bytes: all of its process that no file "
      "holds; activations are recomputed to fit (default: what it needs)");
  add(group, "--state-dtype", training.stateType, "TYPE",
      "adamw, muon, sgd: what the optimizer keeps of each parameter is held in f32 or, in half the "
      "memory, in bf16: momenta rounded to nearest, second moments at random")
      ->check(CLI::IsMember({"f32", "bf16"}));
  add(group, "--rematerialize", training.rematerialize, "WHAT",
      "what is recomputed under a budget: single ops, the cheapest first, or all of a layer, or of "
      "a block (attention, MLP)")
      ->check(CLI::IsMember({"op", "layer", "block"}));
}

/// Fails unless `value` is at least `least` and below (or, if `closed`, at most) `limit`.
static Expected<void> checkNumber(const char *option, double value, double least, double limit,
                                  bool closed, const char *example) {
  if (value >= least && (value < limit || (closed && value == limit)) && std::isfinite(value))
    return {};
  char range[64];
  if (std::isfinite(limit))
    std::snprintf(range, sizeof range, "is not a number from %g to %s%g", least,
                  closed ? "" : "below ", limit);
  else
    std::snprintf(range, sizeof range, "is not a number from %g up", least);
  char what[64];
  std::snprintf(what, sizeof what, "%s %g", option, value);
  return fail(what, range, std::string("give ") + example + ", for example");
}

Expected<void> sinter::cli::checkStepOptions(StepOptions &options) {
  TrainingOptions &training = options.training;
  constexpr double kAny = HUGE_VAL;
  SINTER_CHECK(checkNumber("--beta1", training.beta1, 0, 1, false, "0.9"));
  SINTER_CHECK(checkNumber("--beta2", training.beta2, 0, 1, false, "0.95"));
  SINTER_CHECK(checkNumber("--eps", training.epsilon, 0, kAny, false, "1e-8"));
  SINTER_CHECK(checkNumber("--momentum", training.getMomentum(), 0, 1, false, "0.9"));
  SINTER_CHECK(checkNumber("--weight-decay", training.weightDecay, 0, kAny, false, "0.1"));
  SINTER_CHECK(checkNumber("--grad-clip", training.gradientClip, 0, kAny, false, "1"));
  SINTER_CHECK(checkNumber("--dropout", training.dropout, 0, 1, false, "0.1"));
  SINTER_CHECK(checkNumber("--z-loss", training.zLoss, 0, kAny, false, "1e-4"));
  if (training.stateType != "f32" && training.optimizer == "adafactor")
    return fail("--state-dtype " + training.stateType,
                "is not of adafactor, which keeps little, in f32",
                "leave it out, or choose another optimizer");
  if (!options.memoryBudget.empty()) {
    SINTER_TRY(options.budgetBytes, parseByteSize(options.memoryBudget, "--memory-budget"));
  }
  return {};
}

std::vector<uint64_t> sinter::cli::getArenaBounds(uint64_t peak, uint64_t arena, uint64_t budget) {
  constexpr uint64_t kLeast = TrainingOptions::kLeastArena;
  // What is computed again has code, too: room for that.
  uint64_t excess = peak - budget + budget / 64;
  if (excess + kLeast >= arena)
    return {kLeast};
  return {arena - excess, kLeast};
}

Expected<runtime::TrainMemory> sinter::cli::fitBudget(CompileRequest request,
                                                      const ModelOptions &options, uint64_t budget,
                                                      const runtime::TrainOptions &run,
                                                      bool validates, Compiled &compiled) {
  SINTER_TRY(runtime::TrainMemory memory,
             runtime::predictTrainMemory(compiled.executable, run, validates));
  if (budget == 0 || memory.peak() <= budget || !request.graph)
    return memory;
  for (uint64_t bound : getArenaBounds(memory.peak(), memory.session.arena, budget)) {
    request.options.training.arenaBudget = bound;
    SINTER_TRY(Compiled smaller, compileCached(request, options));
    compiled.executable = std::move(smaller.executable);
    compiled.compileMs += smaller.compileMs;
    SINTER_TRY(memory, runtime::predictTrainMemory(compiled.executable, run, validates));
    if (memory.peak() <= budget)
      break;
  }
  return memory;
}

int64_t sinter::cli::getDefaultSequence(const ModelSpec &spec) {
  return std::min<int64_t>(256, spec.maxPositions);
}

Expected<CompileRequest> sinter::cli::makeTrainRequest(const Model &model,
                                                       const ModelOptions &options,
                                                       const StepOptions &step, int64_t sequence,
                                                       bool evaluate) {
  const ModelSpec &spec = model.spec;
  if (spec.positions == PositionKind::Learned && sequence > spec.maxPositions)
    return fail("--seq " + std::to_string(sequence),
                "the model has " + std::to_string(spec.maxPositions) + " learned positions",
                "use at most that many");
  std::vector<std::string> entries = {"train_step"};
  if (evaluate)
    entries.push_back("evaluate");
  SINTER_TRY(CompileRequest request,
             makeRequest(model, options, std::move(entries), sequence, sequence));
  // What the cost model fuses decides in which order some sums are taken. A run goes on with any
  // number of threads and gives the same bits, so its compilation must not know of them.
  constexpr int64_t kCores = 2;
  request.options.cores = kCores;
  request.options.cacheType = DType::F32;
  request.options.training = step.training;
  // The description goes with what is trained from it.
  std::error_code ignored;
  if (!std::filesystem::is_directory(model.path, ignored))
    request.contents.attachments["config.json"] = model.description;
  else
    for (const char *name : {"config.json", "generation_config.json"})
      if (std::filesystem::exists(model.path / name, ignored)) {
        SINTER_TRY(request.contents.attachments[name], readFile(model.path / name));
      }
  request.contents.metadata.merge(describeStep(options.batch, sequence, step));
  return request;
}

/// The shortest text that reads as this number.
static std::string writeNumber(double value) {
  char text[32];
  auto [end, status] = std::to_chars(text, text + sizeof text, value);
  return status == std::errc() ? std::string(text, end) : "";
}

std::map<std::string, std::string> sinter::cli::describeStep(int64_t batch, int64_t sequence,
                                                             const StepOptions &step) {
  const TrainingOptions &training = step.training;
  return {
      {"--batch", std::to_string(batch)},
      {"--seq", std::to_string(sequence)},
      {"--accumulate", std::to_string(training.accumulate)},
      {"--optimizer", training.optimizer},
      {"--weight-decay", writeNumber(training.weightDecay)},
      {"--no-decay", training.noDecay},
      {"--beta1", writeNumber(training.beta1)},
      {"--beta2", writeNumber(training.beta2)},
      {"--eps", writeNumber(training.epsilon)},
      {"--momentum", writeNumber(training.getMomentum())},
      {"--nesterov", training.nesterov ? "true" : "false"},
      {"--relative-step", training.relativeStep ? "true" : "false"},
      {"--scale-parameter", training.scaleParameter ? "true" : "false"},
      {"--grad-clip", writeNumber(training.gradientClip)},
      {"--state-dtype", training.stateType},
      {"--dropout", writeNumber(training.dropout)},
      {"--z-loss", writeNumber(training.zLoss)},
      {"--document-mask", training.documentMask ? "true" : "false"},
  };
}

double sinter::cli::getUsefulFlops(const ModelSpec &spec, int64_t batch, int64_t sequence) {
  auto elements = [](const LinearSpec &linear) { return double(linear.in) * double(linear.out); };
  double weights = elements(spec.head), attention = 0;
  for (const LayerSpec &layer : spec.layers) {
    for (const LinearSpec *linear :
         {&layer.query, &layer.key, &layer.value, &layer.output, &layer.up, &layer.down})
      weights += elements(*linear);
    if (layer.gate)
      weights += elements(*layer.gate);
    // Query i sees the keys 0 to i, or the last `window` of them.
    double window = double(layer.window ? std::min(layer.window, sequence) : sequence);
    double pairs = window * (window + 1) / 2 + (double(sequence) - window) * window;
    attention += 4 * double(batch) * pairs * double(spec.heads) * double(spec.headDim);
  }
  return 3 * (2 * double(batch) * double(sequence) * weights + attention);
}
