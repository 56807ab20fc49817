#include "compiler/Reference/Differential.h"
#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/Format/PipelineStages.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace sinter;

SmallVector<std::string> sinter::listEntries(ModuleOp module) {
  SmallVector<std::string> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(SinterDialect::kEntry) &&
        !runtime::isPreprocess(function.getName().str()))
      entries.push_back(function.getName().str());
  return entries;
}

GeneratedInputs DifferentialOptions::getInputs(StringRef entry) const {
  auto found = inputs.find(std::string_view(entry));
  return found == inputs.end() ? GeneratedInputs() : found->second;
}

/// Whether the derivative of the entry's loss along the direction of the inputs is what `gradients`
/// say that it is: of all of them, or of one.
static bool areGradients(ModuleOp module, StringRef entry, const NamedTensors &gradients,
                         GeneratedInputs inputs, const std::string &parameter = "") {
  // Central differences are off by the square of the step, and by roundings over it. What is
  // normalized may be small: a norm of inputs of 1e-4 is far from linear over a step of 1e-5.
  constexpr double kStep = 1e-6, kTolerance = 1e-5, kRoundings = 1e-8;
  inputs.shifted = parameter;
  double difference = 0, sum = 0;
  for (double sign : {1.0, -1.0}) {
    inputs.shift = sign * kStep;
    auto results = evaluateEntry(module, entry, inputs);
    if (failed(results) || !results->contains("loss"))
      return false;
    difference += sign * results->at("loss")[0] / (2 * kStep);
  }
  for (const auto &[name, gradient] : gradients) {
    if (!parameter.empty() && name != parameter)
      continue;
    ReferenceTensor direction = inputs.makeDirection(name, gradient.getType());
    for (auto [slope, along] : llvm::zip_equal(gradient.data(), direction.data()))
      sum += slope * along;
  }
  auto function = module.lookupSymbol<func::FuncOp>(entry);
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (getBoundName(function.getArgAttrDict(i), SinterDialect::kInput) == "loss_scale")
      difference *= inputs.make(function, i)[0];
  return std::abs(sum - difference) <=
         kTolerance * std::max(std::abs(sum), std::abs(difference)) + kRoundings;
}

Difference sinter::compareModules(ModuleOp before, ModuleOp after, StringRef entry,
                                  const DifferentialOptions &options) {
  constexpr StringLiteral kGradientPrefix = "gradient:";
  Difference difference{entry.str(), Outcome::Differs, std::numeric_limits<double>::infinity(), {}};
  GeneratedInputs inputs = options.getInputs(entry);
  Choices choices, *given = options.followsChoices ? &choices : nullptr;
  auto expected = evaluateEntry(before, entry, inputs, given);
  choices.areFollowed = true;
  auto actual = evaluateEntry(after, entry, inputs, given);
  if (failed(expected) || failed(actual)) {
    difference.message = failed(expected) ? "the module cannot be evaluated before the pass"
                                          : "the module cannot be evaluated after the pass";
    return difference;
  }
  for (const auto &[name, value] : *expected)
    if (llvm::any_of(value.data(), [](double x) { return std::isnan(x); })) {
      difference.message = "the reference of " + name + " is not a number: no evidence";
      return difference;
    }
  NamedTensors gradients;
  for (const auto &[name, value] : *actual)
    if (StringRef(name).starts_with(kGradientPrefix) && !expected->contains(name))
      gradients[name.substr(kGradientPrefix.size())] = value;
  std::erase_if(*expected, [&](const auto &result) {
    return StringRef(result.first).starts_with(kGradientPrefix) && !actual->contains(result.first);
  });
  difference.error = relativeError(*actual, *expected, options.floor);
  if (difference.error <= options.tolerance)
    difference.outcome = Outcome::Holds;
  if (gradients.empty())
    return difference;
  if (areGradients(before, entry, gradients, inputs))
    return difference;
  difference.outcome = Outcome::Differs;
  difference.message = "gradients are not the derivative of the loss";
  for (const auto &[name, gradient] : gradients)
    if (!areGradients(before, entry, gradients, inputs, name)) {
      difference.message = "the gradient of " + name + " is not the derivative of the loss";
      break;
    }
  return difference;
}

Differences sinter::comparePass(ModuleOp module, const RunPass &run,
                                const DifferentialOptions &options) {
  OwningOpRef<ModuleOp> after = module.clone();
  OperationFingerPrint before(*after);
  std::string error;
  LogicalResult ran = failure();
  {
    ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        return failure();
      if (error.empty())
        error = diagnostic.str();
      return success();
    });
    ran = success(succeeded(run(*after)) && succeeded(verify(*after)));
  }
  bool changed = OperationFingerPrint(*after) != before;
  Differences differences;
  for (const std::string &entry : listEntries(module))
    if (failed(ran))
      differences.push_back({entry, Outcome::Failed, std::numeric_limits<double>::infinity(),
                             error.empty() ? "the pass failed" : error});
    else if (!changed)
      differences.push_back({entry, Outcome::Unchanged, 0, {}});
    else
      differences.push_back(compareModules(module, *after, entry, options));
  return differences;
}

namespace {
/// Shrinks one entry of a module step by step; a step is kept when the failure stays.
class Reducer {
public:
  Reducer(ModuleOp module, StringRef entry, Outcome outcome, const CompareModule &compare)
      : best(module.clone()), entry(entry), outcome(outcome), compare(compare) {
    for (const std::string &other : listEntries(*best))
      if (other != entry)
        best->lookupSymbol(other)->erase();
    eraseUncalled(*best);
  }

  OwningOpRef<ModuleOp> reduce() {
    // Diagnostics of the attempts are of no interest to anyone.
    ScopedDiagnosticHandler quiet(best->getContext(), [](Diagnostic &) { return success(); });
    dropLaterOps();
    replaceValuesByArguments();
    return std::move(best);
  }

private:
  func::FuncOp getEntry(ModuleOp module) { return module.lookupSymbol<func::FuncOp>(entry); }

  bool stillFails(ModuleOp candidate) {
    return getEntry(candidate).getNumResults() > 0 && succeeded(verify(candidate)) &&
           llvm::any_of(compare(candidate), [&](const Difference &difference) {
             return difference.outcome == outcome;
           });
  }

  /// Keeps `candidate` if it fails too.
  bool accept(OwningOpRef<ModuleOp> candidate) {
    removeUnused(getEntry(*candidate));
    eraseUncalled(*candidate);
    if (!stillFails(*candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  /// Erases ops whose results nothing needs, then arguments that nothing needs.
  static void removeUnused(func::FuncOp function) {
    eraseDeadOps(function.front());
    BitVector unused(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    // Erasing changes positions, which donations refer to by result only: arguments may go.
    (void)function.eraseArguments(unused);
  }

  /// Erases kernels that nothing calls.
  static void eraseUncalled(ModuleOp module) {
    for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, module))
        function.erase();
  }

  /// Makes the function return just these values, as outputs. States become inputs, which are not
  /// zero; but for those in a layout of their own, which callers cannot write.
  static void returnOnly(func::FuncOp function, ArrayRef<Value> values) {
    OpBuilder builder(function.getContext());
    function.front().getTerminator()->setOperands(values);
    function.setType(
        builder.getFunctionType(function.getArgumentTypes(), ValueRange(values).getTypes()));
    SmallVector<DictionaryAttr> attributes;
    for (size_t i = 0; i < values.size(); ++i)
      attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
          SinterDialect::kOutput, builder.getStringAttr("value" + std::to_string(i)))));
    function.setAllResultAttrs(attributes);
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (function.removeArgAttr(i, SinterDialect::kDonated) &&
          !cast<RankedTensorType>(function.getArgumentTypes()[i]).getEncoding()) {
        function.setArgAttr(i, SinterDialect::kInput,
                            function.removeArgAttr(i, SinterDialect::kState));
        function.removeArgAttr(i, SinterDialect::kRole);
        function.removeArgAttr(i, SinterDialect::kInitializer);
      }
  }

  size_t countOps() {
    return std::distance(getEntry(*best).front().begin(), getEntry(*best).front().end()) - 1;
  }

  /// The values that the first ops of a function leave to the others.
  static SmallVector<Value> getLiveValues(func::FuncOp function, size_t ops) {
    SmallVector<Value> values;
    Block &block = function.front();
    auto end = std::next(block.begin(), ops);
    for (Operation &op : llvm::make_range(block.begin(), end))
      for (Value result : op.getResults())
        if (!op.hasTrait<OpTrait::ConstantLike>() &&
            llvm::any_of(result.getUsers(), [&](Operation *user) {
              return end->isBeforeInBlock(user) || user == &*end;
            }))
          values.push_back(result);
    return values;
  }

  /// Keeps the fewest first ops with which the failure shows, by halves, and of these the results
  /// of the last.
  void dropLaterOps() {
    OwningOpRef<ModuleOp> whole = best->clone();
    const size_t none = countOps() + 1;
    size_t right = 0, wrong = none;
    while (right + 1 < wrong) {
      size_t middle = (right + wrong) / 2;
      OwningOpRef<ModuleOp> candidate = whole->clone();
      func::FuncOp function = getEntry(*candidate);
      returnOnly(function, getLiveValues(function, middle));
      (accept(std::move(candidate)) ? wrong : right) = middle;
    }
    if (wrong == none)
      return;
    OwningOpRef<ModuleOp> candidate = whole->clone();
    func::FuncOp function = getEntry(*candidate);
    returnOnly(function, llvm::to_vector_of<Value>(
                             std::next(function.front().begin(), wrong - 1)->getResults()));
    accept(std::move(candidate));
  }

  /// Makes values arguments, from the last one on; what only they needed goes with them.
  void replaceValuesByArguments() {
    for (size_t i = countOps(); i-- > 0;) {
      i = std::min(i, countOps());
      if (i == countOps())
        continue;
      OwningOpRef<ModuleOp> candidate = best->clone();
      func::FuncOp function = getEntry(*candidate);
      Operation &op = *std::next(function.front().begin(), i);
      if (op.getNumResults() != 1 || op.hasTrait<OpTrait::ConstantLike>() ||
          llvm::is_contained(function.front().getTerminator()->getOperands(), op.getResult(0)))
        continue;
      OpBuilder builder(op.getContext());
      unsigned index = function.getNumArguments();
      auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(
          SinterDialect::kInput, builder.getStringAttr("cut" + std::to_string(cuts++))));
      if (failed(
              function.insertArgument(index, op.getResult(0).getType(), attributes, op.getLoc())))
        continue;
      op.getResult(0).replaceAllUsesWith(function.getArgument(index));
      accept(std::move(candidate));
    }
  }

  OwningOpRef<ModuleOp> best;
  std::string entry;
  Outcome outcome;
  const CompareModule &compare;
  unsigned cuts = 0; ///< values that were made arguments so far
};
} // namespace

OwningOpRef<ModuleOp> sinter::reduceFailure(ModuleOp module, StringRef entry, Outcome outcome,
                                            const CompareModule &compare) {
  return Reducer(module, entry, outcome, compare).reduce();
}
