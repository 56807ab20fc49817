#include "compiler/Reference/Differential.h"
#include "compiler/Reference/Evaluator.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Transforms/RegionUtils.h"
#include <limits>

using namespace mlir;
using namespace sinter;

/// The entries that are compared: all but @prepare, which has no meaning of its own.
static SmallVector<func::FuncOp> getEntries(ModuleOp module) {
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (function->hasAttr(SinterDialect::kEntry) &&
        function.getName() != SinterDialect::kPrepareEntry)
      entries.push_back(function);
  return entries;
}

SmallVector<Difference> sinter::comparePass(ModuleOp module, const RunPass &run,
                                            const DifferentialOptions &options) {
  OwningOpRef<ModuleOp> after = module.clone();
  bool ran = succeeded(run(*after)) && succeeded(verify(*after));
  SmallVector<Difference> differences;
  for (func::FuncOp entry : getEntries(module)) {
    Difference &difference = differences.emplace_back();
    difference.entry = entry.getName();
    difference.error = std::numeric_limits<double>::infinity();
    if (!ran) {
      difference.message = "the pass failed";
      continue;
    }
    auto expected = evaluateEntry(module, entry.getName(), options.seed);
    auto actual = evaluateEntry(*after, entry.getName(), options.seed);
    if (failed(expected) || failed(actual)) {
      difference.message = failed(expected) ? "the module cannot be evaluated before the pass"
                                            : "the module cannot be evaluated after the pass";
      continue;
    }
    difference.error = relativeError(*actual, *expected);
    difference.holds = difference.error <= options.tolerance;
  }
  return differences;
}

namespace {
/// Shrinks one entry of a module step by step; a step is kept when the failure stays.
class Reducer {
public:
  Reducer(ModuleOp module, StringRef entry, const RunPass &run, const DifferentialOptions &options)
      : best(module.clone()), entry(entry), run(run), options(options) {
    for (func::FuncOp other : getEntries(*best))
      if (other.getName() != entry)
        other.erase();
  }

  OwningOpRef<ModuleOp> reduce() {
    // Diagnostics of the attempts are of no interest to anyone.
    ScopedDiagnosticHandler quiet(best->getContext(), [](Diagnostic &) { return success(); });
    dropLaterOps();
    for (bool shrunk = true; shrunk;)
      shrunk = replaceValuesByArguments();
    return std::move(best);
  }

private:
  func::FuncOp getEntry(ModuleOp module) { return module.lookupSymbol<func::FuncOp>(entry); }

  bool stillFails(ModuleOp candidate) {
    if (failed(verify(candidate)))
      return false;
    for (const Difference &difference : comparePass(candidate, run, options))
      if (!difference.holds)
        return true;
    return false;
  }

  /// Keeps `candidate` if it fails too.
  bool accept(OwningOpRef<ModuleOp> candidate) {
    removeUnused(getEntry(*candidate));
    if (!stillFails(*candidate))
      return false;
    best = std::move(candidate);
    return true;
  }

  /// Erases ops whose results nothing needs, then arguments that nothing needs.
  static void removeUnused(func::FuncOp function) {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
      if (isOpTriviallyDead(&op))
        op.erase();
    BitVector unused(function.getNumArguments());
    for (BlockArgument argument : function.getArguments())
      if (argument.use_empty())
        unused.set(argument.getArgNumber());
    // Erasing changes positions, which donations refer to by result only: arguments may go.
    (void)function.eraseArguments(unused);
  }

  /// Makes the function return just these values, as outputs.
  static void returnOnly(func::FuncOp function, ValueRange values) {
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
      if (function.removeArgAttr(i, SinterDialect::kDonated))
        function.setArgAttr(i, SinterDialect::kInput,
                            function.removeArgAttr(i, SinterDialect::kState));
  }

  /// Returns the results of the earliest op with which the failure still shows.
  void dropLaterOps() {
    size_t count =
        std::distance(getEntry(*best).front().begin(), getEntry(*best).front().end()) - 1;
    for (size_t i = 0; i < count; ++i) {
      OwningOpRef<ModuleOp> candidate = best->clone();
      func::FuncOp function = getEntry(*candidate);
      Operation &op = *std::next(function.front().begin(), i);
      returnOnly(function, op.getResults());
      if (accept(std::move(candidate)))
        return;
    }
  }

  /// Makes one more value an argument; false when none can be.
  bool replaceValuesByArguments() {
    size_t count =
        std::distance(getEntry(*best).front().begin(), getEntry(*best).front().end()) - 1;
    for (size_t i = count; i-- > 0;) {
      OwningOpRef<ModuleOp> candidate = best->clone();
      func::FuncOp function = getEntry(*candidate);
      Operation &op = *std::next(function.front().begin(), i);
      if (op.getNumResults() != 1 || op.hasTrait<OpTrait::ConstantLike>() ||
          llvm::is_contained(function.front().getTerminator()->getOperands(), op.getResult(0)))
        continue;
      OpBuilder builder(op.getContext());
      unsigned index = function.getNumArguments();
      auto attributes = builder.getDictionaryAttr(builder.getNamedAttr(
          SinterDialect::kInput, builder.getStringAttr("cut" + std::to_string(index))));
      if (failed(
              function.insertArgument(index, op.getResult(0).getType(), attributes, op.getLoc())))
        continue;
      op.getResult(0).replaceAllUsesWith(function.getArgument(index));
      if (accept(std::move(candidate)))
        return true;
    }
    return false;
  }

  OwningOpRef<ModuleOp> best;
  std::string entry;
  const RunPass &run;
  const DifferentialOptions &options;
};
} // namespace

OwningOpRef<ModuleOp> sinter::reduceFailure(ModuleOp module, StringRef entry, const RunPass &run,
                                            const DifferentialOptions &options) {
  return Reducer(module, entry, run, options).reduce();
}
