#include "compiler/Analysis/EntryEditor.h"
#include "compiler/Autodiff/Optimizers/Optimizer.h"
#include "compiler/Autodiff/Passes.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/Train/GradientTree.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {
#define GEN_PASS_DEF_APPLYOPTIMIZERPASS
#include "compiler/Autodiff/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// What a norm is kept away from zero by before it divides, as in PyTorch's clip_grad_norm_.
static constexpr double kNormEps = 1e-6;
static constexpr StringLiteral kAccumulate = "accumulate", kUpdate = "update", kData = "data";
// GradientTree.h
static constexpr StringRef kLast(runtime::kLastMicrobatch), kSum(runtime::kGradientSum);

namespace {
/// A parameter of a training step, and the places that hold it and its gradient.
struct Trained {
  Parameter parameter;
  BlockArgument value;
  Value gradient;
  NormalAttr initializer; ///< or null
};

struct ApplyOptimizerPass : sinter::impl::ApplyOptimizerPassBase<ApplyOptimizerPass> {
  ApplyOptimizerPass() = default;
  ApplyOptimizerPass(const ApplyOptimizerPass &other) : ApplyOptimizerPassBase(other) {}
  ApplyOptimizerPass(const OptimizerOptions &options, int64_t zero) {
    this->zero = zero;
#define SINTER_OPTION(name, type, member, initial, ...) member##Text = writeOption(options.member);
#include "compiler/Autodiff/OptimizerOptions.def"
  }

  void runOnOperation() override {
    SmallVector<func::FuncOp> steps, others;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        (hasGradients(function) ? steps : others).push_back(function);
    if (steps.empty())
      return markAllAnalysesPreserved();
    if (steps.size() > 1) {
      steps[1].emitError("expected one function with gradients, got @")
          << steps[0].getName() << " too";
      return signalPassFailure();
    }
    if (failed(readOptions()))
      return signalPassFailure();
    SmallVector<Trained> trained;
    if (failed(collect(steps.front(), trained)))
      return signalPassFailure();
    for (func::FuncOp other : others)
      bindParameters(other);
    if (numbers.accumulate == 1)
      return extend(steps.front(), trained);
    GridAttr grid = GridAttr::lookup(getOperation());
    auto tree = runtime::GradientTree::make(numbers.accumulate, numbers.leaves,
                                            grid ? grid.getSize(kData) : 1);
    if (!tree) {
      steps.front().emitError(tree.error().message());
      return signalPassFailure();
    }
    split(steps.front(), trained, *tree);
  }

private:
  static bool hasGradients(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (function.getResultAttr(i, SinterDialect::kGradient))
        return true;
    return false;
  }

  /// Reads the options from their texts.
  LogicalResult readOptions() {
#define SINTER_OPTION(name, type, member, initial, ...)                                            \
  if (!readOption(member##Text.getValue(), numbers.member))                                        \
    return getOperation().emitError("expected another value of " name ", got '")                   \
           << member##Text.getValue() << "'";
#include "compiler/Autodiff/OptimizerOptions.def"
    if (auto checked = numbers.check(); !checked)
      return getOperation().emitError(checked.error().message());
    Builder builder(&getContext());
    numbers.stateElement =
        numbers.stateType == "bf16" ? Type(builder.getBF16Type()) : builder.getF32Type();
    method = createOptimizer(numbers);
    return success();
  }

  /// Finds the parameters that have gradients, in the gradients' order.
  LogicalResult collect(func::FuncOp step, SmallVector<Trained> &trained) {
    llvm::StringMap<BlockArgument> parameters;
    for (BlockArgument argument : step.getArguments())
      if (auto name =
              step.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kParameter))
        parameters[name.getValue()] = argument;
    scalesLoss = findInput(step, kLossScale) != nullptr;
    for (OpOperand &returned : step.front().getTerminator()->getOpOperands()) {
      auto name = step.getResultAttrOfType<StringAttr>(returned.getOperandNumber(),
                                                       SinterDialect::kGradient);
      if (!name)
        continue;
      BlockArgument value = parameters.lookup(name.getValue());
      if (!value || value.getType() != returned.get().getType())
        return step.emitError("expected a gradient of a parameter and of its type, got ")
               << name << " of type " << returned.get().getType();
      auto type = cast<RankedTensorType>(value.getType());
      if (!type.getElementType().isF32())
        return step.emitError("expected parameters to train to be of f32, got ")
               << name << " of type " << type;
      bool isFixed = step.getArgAttr(value.getArgNumber(), SinterDialect::kFixed) != nullptr;
      bool decays = type.getRank() >= 2 && !isFixed &&
                    llvm::none_of(numbers.noDecay,
                                  [&](StringRef part) { return name.getValue().contains(part); });
      bool table = type.getRank() == 2 && isTable(value);
      auto initializer =
          step.getArgAttrOfType<NormalAttr>(value.getArgNumber(), SinterDialect::kInitializer);
      trained.push_back(
          {{name.getValue(), type, decays, table}, value, returned.get(), initializer});
    }
    return success();
  }

  /// Whether rows or columns of a matrix stand for tokens or positions: ids choose rows of it,
  /// its rows are added to every sequence, or a loss picks from what it is multiplied by, with no
  /// other product in between.
  static bool isTable(Value matrix) {
    llvm::SetVector<std::pair<Value, unsigned>> reached; ///< and whether it is of the product
    reached.insert({matrix, 0});
    for (size_t i = 0; i < reached.size(); ++i) {
      auto [value, multiplied] = reached[i];
      for (OpOperand &use : value.getUses()) {
        auto op = dyn_cast<FusibleOpInterface>(use.getOwner());
        FusionRole role = op ? op.getFusionRole() : FusionRole::Opaque;
        bool readsIds = llvm::any_of(use.getOwner()->getOperandTypes(), [](Type type) {
          return isa<IntegerType>(getElementTypeOrSelf(type));
        });
        if (readsIds && role == (multiplied ? FusionRole::RowReduction : FusionRole::Gather) &&
            use.getOperandNumber() == 0)
          return true;
        auto move = dyn_cast<MoveOpInterface>(use.getOwner());
        if (!multiplied && move && move.repeatsElements())
          return true;
        bool multiplies = role == FusionRole::Contraction && !multiplied;
        if (multiplies || role == FusionRole::Index ||
            (role == FusionRole::Elementwise && multiplied))
          for (Value result : op->getResults())
            reached.insert({result, multiplied | unsigned{multiplies}});
      }
    }
    return false;
  }

  /// Parameters live in states now; an entry that does not update them only reads.
  static void bindParameters(func::FuncOp function) {
    SmallVector<Attribute> attributes;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      NamedAttrList known(function.getArgAttrDict(i));
      if (Attribute name = known.erase(SinterDialect::kParameter)) {
        known.set(SinterDialect::kState, name);
        known.set(SinterDialect::kRole, RoleAttr::get(function.getContext(), Role::Parameter));
      }
      attributes.push_back(known.getDictionary(function.getContext()));
    }
    function.setAllArgAttrs(attributes);
  }

  /// Puts the update behind the gradients.
  void extend(func::FuncOp step, ArrayRef<Trained> trained) {
    bindParameters(step);
    EntryEditor entry(step);
    entry.eraseResults(SinterDialect::kGradient);
    buildUpdates(entry, trained, {});
    entry.finish();
  }

  /// Whether the ranks of the axis data sum their gradients while the last ones are computed. A GPU
  /// moves bytes beside its kernels; a processor does it with a core that would compute. A pipeline
  /// has bubbles for it; from ZeRO 2 on they are summed in each microbatch.
  bool sumsEarly() {
    GridAttr grid = GridAttr::lookup(getOperation());
    TargetAttr target = TargetAttr::lookup(getOperation());
    return grid && grid.getSize(kData) > 1 && grid.getSize("pipeline") == 1 && zero < 2 && target &&
           target.isGpu();
  }

  /// Makes `@accumulate`, which adds gradients to those of other microbatches, the carries from one
  /// buffer to the next, and `@update`; where ranks sum early, `@accumulate_last`.
  void split(func::FuncOp step, ArrayRef<Trained> trained, const runtime::GradientTree &tree) {
    auto buffers = static_cast<int64_t>(tree.getBuffers());
    bindParameters(step);
    step.setName(kAccumulate);
    EntryEditor update(kUpdate, step);
    bool early = sumsEarly(), inParts = early && zero > 0;
    SmallVector<Trained> summed;
    SmallVector<BlockArgument> sums;
    for (const Trained &one : trained) {
      BlockArgument sum = inParts ? addSum(update, one.parameter)
                                  : addBuffer(update, one.parameter, buffers - 1, buffers);
      BlockArgument value =
          update.addState(one.parameter.name, one.parameter.type, Role::Parameter, one.initializer);
      summed.push_back({one.parameter, value, sum, one.initializer});
      if (!inParts) // else it is written anew
        sums.push_back(sum);
    }
    buildUpdates(update, summed, sums);
    update.finish();
    for (int64_t carry = buffers - 1; carry > 0; --carry)
      buildCarry(step, trained, carry, buffers);
    if (early) {
      IRMapping last;
      OpBuilder builder(step);
      builder.setInsertionPointAfter(step);
      bool isOnly = tree.getMicrobatches() == 1;
      buildLast(cast<func::FuncOp>(builder.clone(*step, last)), last, trained, buffers, isOnly);
      if (isOnly)
        return step.erase();
    }
    EntryEditor first(step);
    first.eraseResults(SinterDialect::kGradient);
    for (const Trained &one : trained)
      addTo(first, addBuffer(first, one.parameter, 0, buffers), one.gradient);
    first.finish();
  }

  /// Makes the entry of a rank's last microbatch from a copy of the step: it adds its gradients,
  /// each as soon as it is there, does what carries are left, and leaves the sum of all ranks.
  /// @param isOnly whether it is the only microbatch that the rank has.
  void buildLast(func::FuncOp copy, const IRMapping &mapping, ArrayRef<Trained> trained,
                 int64_t buffers, bool isOnly) {
    copy.setName(kLast);
    EntryEditor entry(copy);
    entry.eraseResults(SinterDialect::kGradient);
    for (const Trained &one : trained) {
      BlockArgument buffer = addBuffer(entry, one.parameter, 0, buffers);
      Location loc = inStage(Stage::Backward, buffer.getLoc());
      Value gradient = mapping.lookup(one.gradient);
      OpBuilder builder(&getContext());
      builder.setInsertionPointAfterValue(gradient); // from where on it can be sent
      Value sum = AddOp::create(builder, loc, buffer.getType(), buffer, gradient);
      for (int64_t carry = 1; carry < buffers; ++carry) {
        BlockArgument next = addBuffer(entry, one.parameter, carry, buffers);
        auto step =
            CarryOp::create(builder, loc, TypeRange{next.getType(), sum.getType()}, next, sum);
        entry.setState(buffer, step.getCleared());
        sum = step.getNextSum();
        buffer = next;
      }
      if (zero > 0) {
        if (!isOnly) { // what others added is cleared as it is read
          Value none = ConstantOp::create(builder, loc, one.parameter.type, 0.0);
          auto step =
              CarryOp::create(builder, loc, TypeRange{none.getType(), sum.getType()}, none, sum);
          entry.setState(buffer, step.getCleared());
          sum = step.getNextSum();
        }
        buffer = addSum(entry, one.parameter);
      }
      entry.setState(buffer, sum);
    }
    entry.finish();
  }

  /// The state of the sum of a parameter's gradients that a rank has a part of.
  static BlockArgument addSum(EntryEditor &entry, const Parameter &parameter) {
    return entry.addState((kSum + parameter.name).str(), parameter.type, Role::Gradient);
  }

  /// The state of a parameter's gradient in a buffer; @update reads the last one.
  static BlockArgument addBuffer(EntryEditor &entry, const Parameter &parameter, int64_t buffer,
                                 int64_t buffers) {
    std::string number = buffer == buffers - 1 ? "" : std::to_string(buffer);
    return entry.addState(("gradient" + number + "." + parameter.name).str(), parameter.type,
                          Role::Gradient);
  }

  static void addTo(EntryEditor &entry, BlockArgument sum, Value term) {
    Location loc = inStage(Stage::Backward, sum.getLoc());
    entry.setState(sum, AddOp::create(entry.getBuilder(), loc, sum.getType(), sum, term));
  }

  /// Makes an entry behind another that adds a buffer to the next one, and clears it.
  static void buildCarry(func::FuncOp after, ArrayRef<Trained> trained, int64_t carry,
                         int64_t buffers) {
    EntryEditor entry(runtime::carryProgram(static_cast<uint64_t>(carry)), after);
    for (const Trained &one : trained) {
      BlockArgument from = addBuffer(entry, one.parameter, carry - 1, buffers);
      BlockArgument sum = addBuffer(entry, one.parameter, carry, buffers);
      auto step = CarryOp::create(entry.getBuilder(), inStage(Stage::Backward, sum.getLoc()),
                                  TypeRange{sum.getType(), from.getType()}, sum, from);
      entry.setState(sum, step.getNextSum());
      entry.setState(from, step.getCleared());
    }
    entry.finish();
  }

  /// @param sums where gradients were accumulated: zeros afterwards; empty if they were not.
  void buildUpdates(EntryEditor &entry, ArrayRef<Trained> trained, ArrayRef<BlockArgument> sums) {
    auto getInput = [&](StringRef name, RankedTensorType type) -> Value {
      return entry.getInput(name, type);
    };
    Location loc =
        inStage(Stage::Optimizer, NameLoc::get(StringAttr::get(&getContext(), "gradient norm")));
    Value scale = buildScale(entry, loc, trained);
    for (auto [i, one] : llvm::enumerate(trained)) {
      SmallVector<BlockArgument> states;
      for (const OptimizerState &state : method->getStates(one.parameter))
        states.push_back(entry.addState(state.name, state.type, Role::Optimizer));
      Location place = NameLoc::get(StringAttr::get(&getContext(), one.parameter.name));
      UpdateBuilder builder(entry.getBuilder(), inStage(Stage::Optimizer, place), scale,
                            /*clears=*/!sums.empty(), getInput);
      Update update = method->build(builder, one.parameter, one.value, one.gradient,
                                    SmallVector<Value>(states.begin(), states.end()));
      entry.setState(one.value, update.parameter);
      for (auto [state, next] : llvm::zip_equal(states, update.states))
        entry.setState(state, next);
      if (!sums.empty())
        entry.setState(sums[i], update.cleared ? update.cleared : builder.constant(sums[i], 0.0));
    }
  }

  /// The norm of all gradients together, which becomes an output, and what they are multiplied by:
  /// the factor of clipping, over the loss' scale. Not finite if the norm is not.
  Value buildScale(EntryEditor &entry, Location loc, ArrayRef<Trained> trained) {
    UpdateBuilder b(entry.getBuilder(), loc, nullptr, false, nullptr);
    // Gradients of one type add into one sum a row, so that they share a kernel.
    llvm::MapVector<Type, Value> rows;
    for (const Trained &one : trained) {
      Value gradient = one.gradient;
      RankedTensorType type = one.parameter.type;
      if (type.getRank() == 0)
        gradient = ReshapeOp::create(b.getBuilder(), loc,
                                     RankedTensorType::get(1, type.getElementType()), gradient);
      type = cast<RankedTensorType>(gradient.getType());
      auto sum = RankedTensorType::get(type.getShape().drop_back(), type.getElementType());
      Value &before = rows[type];
      before = SquareSumOp::create(b.getBuilder(), loc, sum, gradient, before);
    }
    Value total;
    for (auto &[type, sum] : rows)
      total = total ? b.add(total, b.sum(sum)) : b.sum(sum);
    Value norm = b.unary<SqrtOp>(total), scale = b.constant(norm, 1.0);
    Value lossScale = scalesLoss ? entry.getInput(kLossScale) : Value();
    if (lossScale)
      norm = b.div(norm, lossScale);
    if (numbers.gradientClip > 0)
      scale = b.minimum(b.div(b.constant(norm, numbers.gradientClip), b.shifted(norm, kNormEps)),
                        scale);
    if (lossScale)
      scale = b.div(scale, lossScale);
    entry.addOutput("grad_norm", norm);
    return WhereFiniteOp::create(b.getBuilder(), loc, norm.getType(), norm, scale, norm);
  }

  // The options as text: of every type, and none of an optional one.
#define SINTER_OPTION(name, type, member, initial, ...)                                            \
  static constexpr FlagName member##Flag{name};                                                    \
  Option<std::string> member##Text{*this, member##Flag.text,                                       \
                                   llvm::cl::desc(OptionInfo{.id = name, __VA_ARGS__}.help),       \
                                   llvm::cl::init(writeOption(OptimizerOptions().member))};
#include "compiler/Autodiff/OptimizerOptions.def"
  Option<int64_t> zero{*this, "zero",
                       llvm::cl::desc("What is split along the axis data (CompileOptions.def)"),
                       llvm::cl::init(0)};

  Hyperparameters numbers;
  std::shared_ptr<const Optimizer> method;
  bool scalesLoss = false; ///< gradients are those of the loss times an input
};
} // namespace

std::unique_ptr<Pass> sinter::createApplyOptimizerPass(const OptimizerOptions &options,
                                                       int64_t zero) {
  return std::make_unique<ApplyOptimizerPass>(options, zero);
}
