#include "compiler/Precision/AmaxHistory.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/IR/OperationSupport.h"
#include "runtime/Train/GradientTree.h"
#include <cmath>

using namespace mlir;
using namespace sinter;

static constexpr StringLiteral kHistory = "amax_history.", kData = "data";
static constexpr StringRef kStep(runtime::kStepAmax); // GradientTree.h

static RankedTensorType f32(ArrayRef<int64_t> shape, MLIRContext *context) {
  return RankedTensorType::get(shape, Float32Type::get(context));
}

double sinter::getLargestMagnitude(FloatType type) {
  return APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
}

static Location placeOf(StringAttr parameter, Stage stage) {
  Location place = NameLoc::get(parameter);
  return stage == Stage::Forward ? place : inStage(stage, place);
}

/// The history of `amax`, [values], in front of all steps but the oldest.
static Value push(OpBuilder &builder, Location loc, Value history, Value amax) {
  auto type = cast<RankedTensorType>(history.getType());
  int64_t values = type.getDimSize(0), length = type.getDimSize(1);
  SmallVector<Value> parts{
      ReshapeOp::create(builder, loc, f32({values, 1}, builder.getContext()), amax)};
  if (length > 1)
    parts.push_back(SliceOp::create(builder, loc, f32({values, length - 1}, builder.getContext()),
                                    history, ArrayRef<int64_t>{0, 0}));
  return ConcatOp::create(builder, loc, type, parts, 1);
}

AmaxHistory::AmaxHistory(func::FuncOp entry, int64_t length, int64_t margin)
    : entry(entry), length(length), margin(margin) {
  for (Operation &op : entry.getOps())
    if (!op.hasAttr(SinterDialect::kRecompute))
      originals[inStage(Stage::Recompute, op.getLoc())].push_back(&op);
}

// Which copies stand where depends on how much is computed again; histories must not.
Value AmaxHistory::getFirst(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !op->hasAttr(SinterDialect::kRecompute))
    return value;
  if (Value known = firsts.lookup(value))
    return known;
  Value first = value;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getFirst(operand));
  auto ignored =
      OperationEquivalence::IgnoreLocations | OperationEquivalence::IgnoreDiscardableAttrs;
  for (Operation *other : originals.lookup(op->getLoc()))
    if (llvm::equal(other->getOperands(), operands) &&
        OperationEquivalence::isEquivalentTo(
            op, other, OperationEquivalence::ignoreValueEquivalence, nullptr, ignored))
      first = other->getResult(cast<OpResult>(value).getResultNumber());
  return firsts[value] = first;
}

void AmaxHistory::add(BlockArgument parameter, Value value, FloatType element) {
  Value first = getFirst(value);
  if (!rows.contains({first, element})) {
    auto name = entry.getArgAttrOfType<StringAttr>(parameter.getArgNumber(), SinterDialect::kState);
    rows[{first, element}] = {name, values[name].size()};
    values[name].push_back(element);
  }
  Row row = rows.lookup({first, element});
  rows[{value, element}] = row;
}

/// What an empty history stands for: a scale of one, but for gradients. Those of a mean over tokens
/// are small; with a scale of one a first step would lose what is below 2^-17.
static double getFirstMagnitude(FloatType element) {
  return isa<Float8E5M2Type>(element) ? 1.0 : getLargestMagnitude(element);
}

void AmaxHistory::begin() {
  editor.emplace(entry);
  auto builder = OpBuilder::atBlockBegin(&entry.front());
  MLIRContext *context = builder.getContext();
  for (auto &[parameter, elements] : values) {
    auto count = static_cast<int64_t>(elements.size());
    Location loc = placeOf(parameter, Stage::Forward);
    BlockArgument state = editor->addState((kHistory + parameter.getValue()).str(),
                                           f32({count, length}, context), std::nullopt);
    states[parameter] = state;
    recorded[parameter].resize(count);
    Value maxima = ReduceOp::create(builder, loc, f32(count, context), state, ReductionKind::Max);
    auto type = f32({}, context);
    auto number = [&](double value) -> Value {
      return ConstantOp::create(builder, loc, type, value);
    };
    for (auto [index, element] : llvm::enumerate(elements)) {
      double largest = getLargestMagnitude(element);
      Value own = SliceOp::create(builder, loc, f32(1, context), maxima,
                                  ArrayRef<int64_t>{static_cast<int64_t>(index)});
      Value magnitude = ReshapeOp::create(builder, loc, type, own);
      if (margin > 0)
        magnitude = MulOp::create(builder, loc, type, magnitude,
                                  number(std::exp2(static_cast<double>(margin))));
      Value factor = DivOp::create(builder, loc, type, number(largest), magnitude);
      magnitude = WhereFiniteOp::create(builder, loc, type, factor, magnitude,
                                        number(getFirstMagnitude(element)));
      factor = WhereFiniteOp::create(builder, loc, type, factor, factor,
                                     number(largest / getFirstMagnitude(element)));
      Value scale = MulOp::create(builder, loc, type, magnitude, number(1.0 / largest));
      scales[parameter].push_back({factor, scale});
      last = scale.getDefiningOp();
    }
  }
}

void AmaxHistory::setInsertionPoint(OpBuilder &builder, Value value) const {
  if (isa<BlockArgument>(value))
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointAfterValue(value);
}

AmaxScale AmaxHistory::getScale(Value value, FloatType element) const {
  Row row = rows.lookup({value, element});
  return scales.find(row.parameter)->second[row.index];
}

void AmaxHistory::record(Value value, FloatType element, Value amax) {
  Row row = rows.lookup({value, element});
  Value &known = recorded[row.parameter][row.index];
  if (!known) // a copy has the same
    known = amax;
}

void AmaxHistory::finish(bool updates) {
  OpBuilder &builder = editor->getBuilder();
  MLIRContext *context = builder.getContext();
  for (auto &[parameter, elements] : values) {
    auto count = static_cast<int64_t>(elements.size());
    Location loc = placeOf(parameter, Stage::Backward);
    SmallVector<Value> parts;
    for (Value amax : recorded[parameter])
      parts.push_back(ReshapeOp::create(builder, loc, f32(1, context), amax));
    Value all = ConcatOp::create(builder, loc, f32(count, context), parts, 0);
    // A step whose numbers overflowed, which the optimizer leaves out, says nothing of the next.
    Value none = ConstantOp::create(builder, loc, f32(count, context), 0.0);
    all = WhereFiniteOp::create(builder, loc, all.getType(), all, all, none);
    if (updates) {
      BlockArgument state = states.lookup(parameter);
      editor->setState(state, push(builder, placeOf(parameter, Stage::Optimizer), state, all));
      continue;
    }
    BlockArgument sofar =
        editor->addState((kStep + parameter.getValue()).str(), f32(count, context), std::nullopt);
    editor->setState(sofar, MaximumOp::create(builder, loc, all.getType(), sofar, all));
  }
  editor->finish();
}

void AmaxHistory::update(func::FuncOp entry, const AmaxValues &values, int64_t length) {
  EntryEditor editor(entry);
  OpBuilder &builder = editor.getBuilder();
  MLIRContext *context = builder.getContext();
  GridAttr grid = GridAttr::lookup(entry);
  int64_t ranks = grid ? grid.getSize(kData) : 1;
  for (auto &[parameter, elements] : values) {
    auto count = static_cast<int64_t>(elements.size());
    Location loc = placeOf(parameter, Stage::Optimizer);
    BlockArgument step =
        editor.addState((kStep + parameter.getValue()).str(), f32(count, context), std::nullopt);
    BlockArgument history = editor.addState((kHistory + parameter.getValue()).str(),
                                            f32({count, length}, context), std::nullopt);
    Value amax = step;
    if (ranks > 1) { // each has met microbatches of its own
      amax = AllGatherOp::create(builder, loc, f32({ranks, count}, context), amax,
                                 builder.getStrArrayAttr({kData}));
      amax = TransposeOp::create(builder, loc, f32({count, ranks}, context), amax,
                                 ArrayRef<int64_t>{1, 0});
      amax = ReduceOp::create(builder, loc, f32(count, context), amax, ReductionKind::Max);
    }
    editor.setState(history, push(builder, loc, history, amax));
    editor.setState(step, ConstantOp::create(builder, loc, f32(count, context), 0.0));
  }
  editor.finish();
}
