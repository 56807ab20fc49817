#include "compiler/Pipelines/Verification.h"
#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Reference/Evaluator.h"
#include "compiler/Reference/StepLogits.h"
#include "dialects/Sinter/Pipelining.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/ADT/StringExtras.h"
#include <limits>

using namespace mlir;
using namespace sinter;

/// Steps that an entry with states is run for: the second reads what the first left.
static constexpr int64_t kSteps = 2;

Verification::Verification(const CompileRequest &request, const VerifyOptions &options)
    : request(request), options(options), compilation(this->request) {}

Expected<void> Verification::begin() {
  SINTER_CHECK(compilation.begin());
  if (GridAttr grid = GridAttr::lookup(compilation.getModule());
      grid && grid.getSize(runtime::kPipelineAxis) > 1)
    return fail("`grid` " + request.options.grid,
                "the reference does not run the stages of a pipeline against each other yet",
                "leave pipeline out");
  returnLogits(compilation.getModule());
  GeneratedInputs generated;
  generated.seed = options.seed;
  generated.steps = kSteps;
  inputs = makeEntryInputs(compilation.getModule(), generated);
  return {};
}

std::string Verification::getReasonNotToRun() {
  if (GridAttr grid = GridAttr::lookup(compilation.getModule()))
    return "an executable of " + std::to_string(grid.getRanks()) + " ranks is not run";
  return options.run ? "" : "there is no device to run an executable on";
}

std::vector<PassStep> sinter::selectSteps(ArrayRef<PassStep> steps, bool graphs) {
  std::vector<PassStep> selected;
  llvm::copy_if(steps, std::back_inserter(selected),
                [&](const PassStep &step) { return (step.phase <= kLastGraphPhase) == graphs; });
  return selected;
}

/// Whether a pass may round: it names a type of 16 or 8 bits or of integers, or keeps results in
/// the compute type.
static bool mayRound(const PassStep &step) {
  StringRef text = step.text;
  return text.contains("f16") || text.contains("tf32") || text.contains("=int") ||
         text.contains("=fp8") || step.argument == "sinter-quantize-products" ||
         step.argument == "sinter-narrow-results";
}

/// Whether a pass leaves three bits of a mantissa, or of an integer: of a small model's random
/// numbers that may be a quarter of what it computes.
static bool roundsCoarsely(const PassStep &step) {
  StringRef text = step.text;
  return text.contains("=fp8") || text.contains("=int4") ||
         step.argument == "sinter-quantize-products";
}

DifferentialOptions Verification::getOptions(ArrayRef<PassStep> passes) const {
  DifferentialOptions differential;
  differential.inputs = inputs;
  bool rounds = isNarrow() && llvm::any_of(passes, mayRound);
  if (rounds) {
    differential.tolerance = llvm::any_of(passes, roundsCoarsely) ? 0.5 : 0.1;
    differential.floor = 0.1;
    differential.followsChoices = true;
  }
  differential.tolerance = options.tolerance.value_or(differential.tolerance);
  return differential;
}

Differences Verification::compareGraphs(ModuleOp before, const PassStep &step) const {
  PassStep verified = step;
  verified.verifies = true;
  return comparePass(
      before, [&](ModuleOp module) { return runPass(module, verified); }, getOptions(step));
}

//===----------------------------------------------------------------------===//
// Executables
//===----------------------------------------------------------------------===//

Expected<std::vector<std::byte>> Verification::compileRest(ModuleOp fused,
                                                           ArrayRef<PassStep> steps) const {
  OwningOpRef<ModuleOp> module = fused.clone();
  ErrorCollector errors(*fused.getContext());
  for (const PassStep &step : steps)
    if (failed(runPass(*module, step)))
      return fail(step.argument, errors.getFirst(), "");
  SINTER_TRY(KernelCode code, compilation.emitKernels(*module));
  return serialize(*module, code, request.contents);
}

/// What an entry is run on, as its arguments and those of @preprocess ask for it.
static RunRequest makeRunRequest(ModuleOp module, StringRef entry, const GeneratedInputs &inputs) {
  RunRequest run;
  run.entry = entry.str();
  run.inputs.resize(inputs.steps);
  auto add = [](RunValues &values, StringRef name, const ReferenceTensor &tensor) {
    values[name.str()] = tensor.data().vec();
  };
  for (const std::string &name : {getPreprocessName(module.lookupSymbol(entry)), entry.str()}) {
    auto function = module.lookupSymbol<func::FuncOp>(name);
    for (unsigned i = 0; function && i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      for (StringRef attribute : {SinterDialect::kParameter, SinterDialect::kState})
        if (StringRef bound = getBoundName(attributes, attribute);
            !bound.empty() && inputs.parameters.contains(std::string_view(bound)))
          add(run.parameters, bound, inputs.make(function, i));
      if (StringRef bound = getBoundName(attributes, SinterDialect::kInput); !bound.empty())
        for (auto [step, values] : llvm::enumerate(run.inputs))
          add(values, bound, inputs.make(function, i, static_cast<int64_t>(step)));
    }
  }
  return run;
}

Difference Verification::compareRun(ModuleOp fused, StringRef entry,
                                    std::span<const std::byte> executable) const {
  Difference difference{entry.str(), Outcome::Failed, std::numeric_limits<double>::infinity(), {}};
  GeneratedInputs generated = getOptions({}).getInputs(entry);
  auto expected = evaluateEntry(fused, entry, generated);
  if (failed(expected)) {
    difference.message = "the graph cannot be evaluated";
    return difference;
  }
  RunRequest run = makeRunRequest(fused, entry, generated);
  run.executable = executable;
  Expected<std::vector<RunValues>> steps = options.run(run);
  if (!steps) {
    difference.message = steps.error().message();
    return difference;
  }
  NamedTensors actual;
  for (auto [step, values] : llvm::enumerate(*steps))
    for (auto &[name, elements] : values) {
      std::string key = nameAtStep(name, static_cast<int64_t>(step));
      auto like = expected->find(key);
      if (like == expected->end())
        continue;
      ReferenceTensor tensor(like->second.getType());
      if (tensor.data().size() == elements.size()) {
        llvm::copy(elements, tensor.data().begin());
        actual[key] = std::move(tensor);
      }
    }
  // What has a layout of its own, or scales, is not stored as it reads; what is computed from it
  // tells.
  std::erase_if(*expected, [](const auto &result) {
    RankedTensorType type = result.second.getType();
    return type.getEncoding() || type.getElementTypeBitWidth() == 8;
  });
  // Roundings of f32 grow on their way through layers; what they leave of a zero is far below this.
  double tolerance = isNarrow() ? 0.1 : 1e-5;
  double floor = isNarrow() ? 0.1 : 1e-4;
  difference.error = relativeError(actual, *expected, floor);
  difference.outcome =
      difference.error <= options.tolerance.value_or(tolerance) ? Outcome::Holds : Outcome::Differs;
  return difference;
}

Differences Verification::compareExecutable(ModuleOp fused, ArrayRef<PassStep> steps) const {
  Expected<std::vector<std::byte>> executable = compileRest(fused, steps);
  Differences differences;
  for (const std::string &entry : listEntries(fused))
    if (executable)
      differences.push_back(compareRun(fused, entry, *executable));
    else
      differences.push_back({entry, Outcome::Failed, std::numeric_limits<double>::infinity(),
                             executable.error().message()});
  return differences;
}

Difference Verification::compareEntry(ModuleOp fused, ArrayRef<PassStep> steps,
                                      StringRef entry) const {
  Differences differences = compareExecutable(fused, steps);
  return *llvm::find_if(differences,
                        [&](const Difference &difference) { return difference.entry == entry; });
}

/// `steps` without optional ones from `begin` on.
static std::vector<PassStep> leaveOutFrom(ArrayRef<PassStep> steps, size_t begin) {
  std::vector<PassStep> rest;
  for (auto [i, step] : llvm::enumerate(steps))
    if (i < begin || !step.optional)
      rest.push_back(step);
  return rest;
}

/// The position of the step that makes a difference, or none where it is there without all that can
/// be left out.
std::optional<size_t> Verification::findCulprit(ModuleOp fused, ArrayRef<PassStep> steps,
                                                StringRef entry) const {
  SmallVector<size_t> optional;
  for (auto [i, step] : llvm::enumerate(steps))
    if (step.optional)
      optional.push_back(i);
  auto isRight = [&](size_t count) {
    size_t begin = count < optional.size() ? optional[count] : steps.size();
    return compareEntry(fused, leaveOutFrom(steps, begin), entry).outcome == Outcome::Holds;
  };
  if (!isRight(0))
    return std::nullopt;
  // With the first `right` of them it holds, with the first `wrong` it does not.
  size_t right = 0, wrong = optional.size();
  while (right + 1 < wrong) {
    size_t middle = (right + wrong) / 2;
    (isRight(middle) ? right : wrong) = middle;
  }
  return optional[wrong - 1];
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

Verdict sinter::makeVerdict(const Difference &difference, const PassStep &step) {
  Verdict verdict;
  verdict.entry = difference.entry;
  verdict.outcome = difference.outcome;
  verdict.error = difference.error;
  verdict.message = difference.message;
  verdict.pass = step.argument;
  verdict.phase = stringifyPhase(step.phase).str();
  return verdict;
}

/// The innermost place that a location names, where it has a layer.
static std::string getPlace(Location location) {
  std::string place;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part);
        name && place.empty() && name.getName().getValue().starts_with(getLayer(location)))
      place = name.getName().str();
    return WalkResult::advance();
  });
  return place;
}

/// The verdict on a difference of which `reduced`, after the passes `run`, shows a failure.
Verdict Verification::describe(const Difference &difference, const PassStep &step, ModuleOp reduced,
                               ArrayRef<PassStep> run) const {
  Verdict verdict = makeVerdict(difference, step);
  // What is returned is what is wrong.
  auto entry = reduced.lookupSymbol<func::FuncOp>(difference.entry);
  for (Value value : entry.front().getTerminator()->getOperands())
    if (Operation *op = value.getDefiningOp(); op && verdict.op.empty()) {
      verdict.op = describeCommand(op, nullptr).label;
      verdict.layer = getLayer(op->getLoc());
      verdict.place = getPlace(op->getLoc());
    }
  llvm::raw_string_ostream stream(verdict.reproducer);
  stream << "// sinter-opt REPRODUCER --pass-pipeline='builtin.module("
         << llvm::join(llvm::map_range(run, [](const PassStep &each) { return each.text; }), ",")
         << ")'\n";
  reduced.print(stream, OpPrintingFlags().enableDebugInfo());
  stream << "\n";
  return verdict;
}

Verdict Verification::judge(const Difference &difference, const PassStep &step,
                            ModuleOp before) const {
  if (difference.outcome != Outcome::Differs && difference.outcome != Outcome::Failed)
    return makeVerdict(difference, step);
  OwningOpRef<ModuleOp> reduced =
      reduceFailure(before, difference.entry, difference.outcome,
                    [&](ModuleOp candidate) { return compareGraphs(candidate, step); });
  return describe(difference, step, *reduced, step);
}

Verdict Verification::blame(const Difference &difference, ModuleOp fused,
                            ArrayRef<PassStep> steps) const {
  // The small module compiles sooner, so it comes first.
  OwningOpRef<ModuleOp> reduced =
      reduceFailure(fused, difference.entry, difference.outcome,
                    [&](ModuleOp candidate) { return compareExecutable(candidate, steps); });
  std::optional<size_t> culprit = findCulprit(*reduced, steps, difference.entry);
  std::vector<PassStep> run = leaveOutFrom(steps, culprit ? *culprit + 1 : 0);
  Verdict verdict = describe(difference, steps[culprit.value_or(0)], *reduced, run);
  if (!culprit) {
    verdict.pass.clear();
    verdict.phase.clear();
    verdict.message += verdict.message.empty() ? "" : "; ";
    verdict.message += "also without every pass that can be left out";
  }
  return verdict;
}
