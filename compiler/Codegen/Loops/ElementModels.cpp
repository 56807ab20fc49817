//===- ElementModels.cpp - How each op computes an element ----------------===//
#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/Philox.h"
#include "dialects/Sinter/Philox.h"
#include "dialects/Sinter/SumTree.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <limits>

using namespace mlir;
using namespace sinter;

#include "compiler/Codegen/Loops/ElementOpInterface.cpp.inc"

namespace {
/// What the models have in common: `Model` has methods on the op's own type, and those that it
/// does not have are the interface's.
template <typename Model, typename Op>
using ElementModel = ElementOpInterface::ExternalModel<Model, Op>;

using Index = ArrayRef<AffineExpr>;
using Sources = SmallVector<ElementSource>;

//===----------------------------------------------------------------------===//
// Constants and positions
//===----------------------------------------------------------------------===//

struct ConstantElements : ElementModel<ConstantElements, ConstantOp> {
  Sources getSources(Operation *, const IndexSpace &, Index, AffineExpr) const { return {}; }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index) const {
    auto constant = cast<ConstantOp>(op);
    auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!value)
      return op->emitError("expected a constant of one value in a rows kernel");
    ReferenceTensor number(value.resizeSplat(RankedTensorType::get({1}, value.getElementType())));
    return emitter.emitConstant(ElementEmitter::getComputeType(value.getElementType()), number[0]);
  }
};

struct PositionsElements : ElementModel<PositionsElements, PositionsOp> {
  Sources getSources(Operation *op, const IndexSpace &, Index index, AffineExpr) const {
    return {{cast<PositionsOp>(op).getStart(), {index[0]}}};
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    FailureOr<SmallVector<Value>> start = emitter.emitSources(op, index);
    if (failed(start))
      return failure();
    Value step = emitter.emitNumber(index[1], start->front().getType());
    return arith::AddIOp::create(emitter.getBuilder(), emitter.getLoc(), start->front(), step)
        .getResult();
  }
};

struct OneHotElements : ElementModel<OneHotElements, OneHotOp> {
  Sources getSources(Operation *op, const IndexSpace &, Index index, AffineExpr) const {
    return {{cast<OneHotOp>(op).getIds(), ElementIndex(index.drop_back())}};
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    FailureOr<SmallVector<Value>> id = emitter.emitSources(op, index);
    if (failed(id))
      return failure();
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    Value column = emitter.emitNumber(index.back(), id->front().getType());
    Value isHot =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, id->front(), column);
    Type type = ElementEmitter::getComputeType(cast<OneHotOp>(op).getType().getElementType());
    return arith::SelectOp::create(builder, loc, isHot, emitter.emitConstant(type, 1.0),
                                   emitter.emitConstant(type, 0.0))
        .getResult();
  }
};

//===----------------------------------------------------------------------===//
// Sums over parts
//===----------------------------------------------------------------------===//

struct SumPartsElements : ElementModel<SumPartsElements, SumPartsOp> {
  Sources getSources(Operation *op, const IndexSpace &space, Index index, AffineExpr) const {
    Value parts = cast<SumPartsOp>(op).getOperand();
    Sources sources;
    for (int64_t part = 0; part < typeOf(parts).getDimSize(0); ++part) {
      ElementIndex element{space.constant(part)};
      llvm::append_range(element, index);
      sources.push_back({parts, element});
    }
    return sources;
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    FailureOr<SmallVector<Value>> terms = emitter.emitSources(op, index);
    if (failed(terms))
      return failure();
    return sumAlongTree<Value>(
        terms->size(), [&](int64_t part) { return (*terms)[part]; },
        [&](Value a, Value b) -> Value {
          OpBuilder &builder = emitter.getBuilder();
          if (isa<FloatType>(a.getType()))
            return arith::AddFOp::create(builder, emitter.getLoc(), a, b);
          return arith::AddIOp::create(builder, emitter.getLoc(), a, b);
        });
  }
};

//===----------------------------------------------------------------------===//
// Parts of one dimension
//===----------------------------------------------------------------------===//

struct ConcatElements : ElementModel<ConcatElements, ConcatOp> {
  Sources getSources(Operation *op, const IndexSpace &space, Index index, AffineExpr) const {
    auto concat = cast<ConcatOp>(op);
    IndexSpace::Range range = space.getRange(index[concat.getDim()]);
    int64_t offset = 0;
    for (Value operand : concat.getOperands()) {
      int64_t end = offset + typeOf(operand).getDimSize(concat.getDim());
      if (range.first >= offset && range.last < end)
        return {{operand, shift(space, index, concat.getDim(), offset)}};
      offset = end;
    }
    return {};
  }

  SmallVector<Boundary> getBoundaries(Operation *op) const {
    auto concat = cast<ConcatOp>(op);
    SmallVector<Boundary> boundaries;
    int64_t offset = 0;
    for (Value operand : concat.getOperands().drop_back()) {
      offset += typeOf(operand).getDimSize(concat.getDim());
      boundaries.push_back({static_cast<int64_t>(concat.getDim()), offset});
    }
    return boundaries;
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    return emitAmong(cast<ConcatOp>(op), emitter, index, 0, op->getNumOperands(), 0);
  }

private:
  static ElementIndex shift(const IndexSpace &space, Index index, int64_t dim, int64_t offset) {
    ElementIndex source(index);
    source[dim] = space.simplify(index[dim] - offset);
    return source;
  }

  /// Among the operands from `first` to `last`, whose elements begin at `offset`: as many
  /// comparisons as it takes to halve them until one is left.
  static FailureOr<Value> emitAmong(ConcatOp op, ElementEmitter &emitter, Index index,
                                    unsigned first, unsigned last, int64_t offset) {
    int64_t dim = op.getDim();
    if (first + 1 == last)
      return emitter.emit(op.getOperands()[first], shift(emitter.getSpace(), index, dim, offset));
    unsigned middle = (first + last) / 2;
    int64_t boundary = offset;
    for (Value operand : op.getOperands().slice(first, middle - first))
      boundary += typeOf(operand).getDimSize(dim);
    return emitter.choose(
        index[dim], boundary, ElementEmitter::getComputeType(op.getType().getElementType()),
        [&]() { return emitAmong(op, emitter, index, first, middle, offset); },
        [&]() { return emitAmong(op, emitter, index, middle, last, boundary); });
  }
};

struct RotaryElements : ElementModel<RotaryElements, RotaryOp> {
  /// Without a start the row is the position, if the tables have one for each.
  std::optional<RowChoice> getRowChoice(Operation *op, const IndexSpace &space, Index index) const {
    auto rotary = cast<RotaryOp>(op);
    int64_t rows = rotary.getCos().getType().getDimSize(0);
    if (!rotary.getStart() && space.getRange(index[1]).last < rows)
      return std::nullopt;
    return RowChoice{ElementIndex(index.take_front(2)), rows};
  }

  FailureOr<Value> emitChosenRow(Operation *op, ElementEmitter &emitter, Index index) const {
    auto rotary = cast<RotaryOp>(op);
    Value position = emitter.emitPosition(index[1]);
    if (!rotary.getStart())
      return position;
    FailureOr<Value> start = emitter.emitIndex(rotary.getStart(), index[0]);
    if (failed(start))
      return failure();
    return arith::AddIOp::create(emitter.getBuilder(), emitter.getLoc(), position, *start)
        .getResult();
  }

  Sources getSources(Operation *op, const IndexSpace &space, Index index, AffineExpr row) const {
    auto rotary = cast<RotaryOp>(op);
    int64_t half = getHalf(rotary);
    IndexSpace::Range range = space.getRange(index[3]);
    if (range.first >= 2 * half)
      return {{rotary.getOperand(), ElementIndex(index)}};
    bool isLow = range.last < half;
    bool isHigh = range.first >= half && range.last < 2 * half;
    if (rotary.getInterleaved() ? range.last >= 2 * half : !isLow && !isHigh)
      return {};
    return getPair(rotary, space, index, row, isLow);
  }

  SmallVector<Boundary> getBoundaries(Operation *op) const {
    auto rotary = cast<RotaryOp>(op);
    int64_t half = getHalf(rotary);
    SmallVector<Boundary> boundaries{{3, 2 * half}};
    if (!rotary.getInterleaved())
      boundaries.push_back({3, half});
    return boundaries;
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    auto rotary = cast<RotaryOp>(op);
    int64_t half = getHalf(rotary);
    Type type = ElementEmitter::getComputeType(rotary.getType().getElementType());
    AffineExpr i = index[3];
    auto pass = [&]() { return emitter.emit(rotary.getOperand(), index); };
    auto low = [&]() { return rotate(rotary, emitter, index, /*isLow=*/true); };
    auto high = [&]() { return rotate(rotary, emitter, index, /*isLow=*/false); };
    auto rotated = [&]() {
      return rotary.getInterleaved() ? low() : emitter.choose(i, half, type, low, high);
    };
    return emitter.choose(i, 2 * half, type, rotated, pass);
  }

private:
  static int64_t getHalf(RotaryOp op) { return op.getCos().getType().getDimSize(1); }

  /// The element, its partner in the rotation, and the cosine and sine of their angle.
  static Sources getPair(RotaryOp op, const IndexSpace &space, Index index, AffineExpr row,
                         bool isLow) {
    int64_t half = getHalf(op);
    AffineExpr i = index[3];
    ElementIndex partner(index);
    AffineExpr pair = op.getInterleaved() ? i.floorDiv(2) : isLow ? i : i - half;
    // As a sum whose bounds are those of its terms.
    partner[3] = space.simplify(op.getInterleaved() ? i.floorDiv(2) * 2 + (1 - i % 2)
                                : isLow             ? i + half
                                                    : i - half);
    ElementIndex entry{row ? row : index[1], space.simplify(pair)};
    return {{op.getOperand(), ElementIndex(index)},
            {op.getOperand(), partner},
            {op.getCos(), entry},
            {op.getSin(), entry}};
  }

  /// x * cos - partner * sin for the first of a pair, x * cos + partner * sin for the second.
  static FailureOr<Value> rotate(RotaryOp op, ElementEmitter &emitter, Index index, bool isLow) {
    FailureOr<AffineExpr> row = emitter.emitRow(cast<ElementOpInterface>(op.getOperation()), index);
    if (failed(row))
      return failure();
    SmallVector<Value> elements;
    for (const ElementSource &source : getPair(op, emitter.getSpace(), index, *row, isLow)) {
      FailureOr<Value> element = emitter.emit(source.tensor, source.index);
      if (failed(element))
        return failure();
      elements.push_back(*element);
    }
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    Value straight = arith::MulFOp::create(builder, loc, elements[0], elements[2]);
    Value crossed = arith::MulFOp::create(builder, loc, elements[1], elements[3]);
    if (op.getInterleaved()) {
      Value odd = emitter.emitPosition(emitter.getSpace().simplify(index[3] % 2));
      Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
      Value isEven = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, odd, zero);
      Value negative = arith::NegFOp::create(builder, loc, crossed);
      crossed = arith::SelectOp::create(builder, loc, isEven, negative, crossed);
    } else if (isLow) {
      return arith::SubFOp::create(builder, loc, straight, crossed).getResult();
    }
    return arith::AddFOp::create(builder, loc, straight, crossed).getResult();
  }
};

//===----------------------------------------------------------------------===//
// Rows and elements that data choose
//===----------------------------------------------------------------------===//

/// The element that the element is.
FailureOr<Value> emitSource(Operation *op, ElementEmitter &emitter, Index index) {
  FailureOr<SmallVector<Value>> elements = emitter.emitSources(op, index);
  if (failed(elements))
    return failure();
  return elements->front();
}

struct EmbeddingElements : ElementModel<EmbeddingElements, EmbeddingOp> {
  std::optional<RowChoice> getRowChoice(Operation *op, const IndexSpace &, Index index) const {
    return RowChoice{ElementIndex(index.drop_back()), cast<EmbeddingOp>(op).getRows()};
  }

  FailureOr<Value> emitChosenRow(Operation *op, ElementEmitter &emitter, Index index) const {
    auto embedding = cast<EmbeddingOp>(op);
    FailureOr<Value> id = emitter.emitIndex(embedding.getIds(), index);
    if (failed(id) || !embedding.getStart())
      return id;
    OpBuilder &builder = emitter.getBuilder();
    FailureOr<Value> start =
        emitter.emitIndex(embedding.getStart(), builder.getAffineConstantExpr(0));
    if (failed(start))
      return failure();
    return arith::SubIOp::create(builder, emitter.getLoc(), *id, *start).getResult();
  }

  Sources getSources(Operation *op, const IndexSpace &, Index index, AffineExpr row) const {
    auto embedding = cast<EmbeddingOp>(op);
    ElementIndex source{row, index.back()};
    if (embedding.getTransposeTable())
      std::swap(source[0], source[1]);
    return {{embedding.getTable(), source}};
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    FailureOr<Value> element = emitSource(op, emitter, index);
    auto embedding = cast<EmbeddingOp>(op);
    if (failed(element) || !embedding.getStart())
      return element;
    FailureOr<Value> row = emitChosenRow(op, emitter, index.drop_back());
    if (failed(row))
      return failure();
    // Below zero is a large number.
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    Value rows = arith::ConstantIndexOp::create(builder, loc, embedding.getRows());
    Value holds = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, *row, rows);
    Value nothing = emitter.emitConstant(element->getType(), -0.0);
    return arith::SelectOp::create(builder, loc, holds, *element, nothing).getResult();
  }
};

struct LastRowElements : ElementModel<LastRowElements, LastRowOp> {
  std::optional<RowChoice> getRowChoice(Operation *op, const IndexSpace &, Index index) const {
    return RowChoice{ElementIndex(index.take_front(1)),
                     cast<LastRowOp>(op).getOperand().getType().getDimSize(1)};
  }

  FailureOr<Value> emitChosenRow(Operation *op, ElementEmitter &emitter, Index index) const {
    FailureOr<Value> count = emitter.emitIndex(cast<LastRowOp>(op).getCount(), index);
    if (failed(count))
      return failure();
    OpBuilder &builder = emitter.getBuilder();
    Value one = arith::ConstantIndexOp::create(builder, emitter.getLoc(), 1);
    return arith::SubIOp::create(builder, emitter.getLoc(), *count, one).getResult();
  }

  Sources getSources(Operation *op, const IndexSpace &, Index index, AffineExpr row) const {
    return {{cast<LastRowOp>(op).getOperand(), {index[0], row, index.back()}}};
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    return emitSource(op, emitter, index);
  }
};

struct PickElements : ElementModel<PickElements, PickOp> {
  /// The picked element itself is known only where its code stands.
  Sources getSources(Operation *op, const IndexSpace &, Index index, AffineExpr) const {
    return {{cast<PickOp>(op).getIds(), ElementIndex(index)}};
  }

  /// The element of the row that the id says, or 0 where there is none.
  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    auto pick = cast<PickOp>(op);
    FailureOr<Value> id = emitter.emitIndex(pick.getIds(), index);
    if (failed(id))
      return failure();
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    int64_t extent = pick.getOperand().getType().getShape().back();
    Value first = arith::ConstantIndexOp::create(builder, loc, 0);
    Value end = arith::ConstantIndexOp::create(builder, loc, extent);
    // Unsigned, so that a negative id is outside, too.
    Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, *id, end);
    Value column = arith::SelectOp::create(builder, loc, isInside, *id, first);
    ElementIndex chosen(index);
    chosen.push_back(emitter.getSpace().addDim(column, 0, extent));
    FailureOr<Value> element = emitter.emit(pick.getOperand(), chosen);
    if (failed(element))
      return failure();
    Value zero = emitter.emitConstant(element->getType(), 0.0);
    return arith::SelectOp::create(builder, loc, isInside, *element, zero).getResult();
  }
};

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

/// The elements of `words`, two numbers.
void addWords(Sources &sources, const IndexSpace &space, Value words) {
  for (int64_t i : {0, 1})
    sources.push_back({words, {space.constant(i)}});
}

/// The number of the element in row-major order, of type index.
Value emitElementNumber(ElementEmitter &emitter, RankedTensorType type, Index index) {
  return emitter.emitPosition(emitter.getSpace().linearize(index, type.getShape()));
}

/// The two words of an element's number, of a tensor of `count` elements.
std::pair<Value, Value> splitNumber(ElementEmitter &emitter, Value number, int64_t count) {
  OpBuilder &builder = emitter.getBuilder();
  Location loc = emitter.getLoc();
  Type i32 = builder.getI32Type();
  if (count <= int64_t(1) << 32)
    return {arith::IndexCastOp::create(builder, loc, i32, number),
            arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(0))};
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  Value shift = arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(32));
  return {arith::TruncIOp::create(builder, loc, i32, wide),
          arith::TruncIOp::create(builder, loc, i32,
                                  arith::ShRUIOp::create(builder, loc, wide, shift))};
}

struct DropoutElements : ElementModel<DropoutElements, DropoutOp> {
  Sources getSources(Operation *op, const IndexSpace &space, Index index, AffineExpr) const {
    auto dropout = cast<DropoutOp>(op);
    Sources sources{{dropout.getOperand(), ElementIndex(index)}};
    addWords(sources, space, dropout.getSeed());
    if (dropout.getWhole())
      sources.push_back({dropout.getSeed(), {space.constant(2)}});
    return sources;
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    auto dropout = cast<DropoutOp>(op);
    FailureOr<SmallVector<Value>> elements = emitter.emitSources(op, index);
    if (failed(elements))
      return failure();
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    Value element = elements->front();
    RankedTensorType whole = dropout.getType();
    if (dropout.getWhole())
      whole = whole.clone(*dropout.getWhole());
    Value number = emitElementNumber(emitter, whole, index);
    Value isKept =
        emitKept(dropout, emitter, number, elements->size() > 3 ? elements->back() : Value(),
                 {(*elements)[1], (*elements)[2]});
    double scale = 1 / (1 - dropout.getProbability().convertToDouble());
    Value scaled = arith::MulFOp::create(builder, loc, element,
                                         emitter.emitConstant(element.getType(), scale));
    return arith::SelectOp::create(builder, loc, isKept, scaled,
                                   emitter.emitConstant(element.getType(), 0.0))
        .getResult();
  }

private:
  /// Whether the dropout keeps the element of this number, which of a part counts from `first`.
  static Value emitKept(DropoutOp op, ElementEmitter &emitter, Value number, Value first,
                        std::array<Value, 2> seed) {
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    auto stream = static_cast<uint32_t>(op.getStream());
    double probability = op.getProbability().convertToDouble();
    if (!emitter.getOptions().callsLibrary) {
      auto [low, high] = splitNumber(emitter, number, op.getType().getNumElements());
      if (first)
        low = arith::AddIOp::create(builder, loc, low, first);
      return emitIsKept(builder, loc, low, high, stream, seed, probability);
    }
    auto word = [&](uint32_t value) -> Value {
      return arith::ConstantOp::create(builder, loc,
                                       builder.getI32IntegerAttr(static_cast<int32_t>(value)));
    };
    Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
    if (first) { // one word, as on a processor
      Value sum = arith::AddIOp::create(
          builder, loc, wide, arith::ExtSIOp::create(builder, loc, wide.getType(), first));
      Value all = arith::ConstantOp::create(
          builder, loc, builder.getI64IntegerAttr(std::numeric_limits<uint32_t>::max()));
      wide = arith::AndIOp::create(builder, loc, sum, all);
    }
    return emitter.callLibrary(
        "is_kept", {wide, word(stream), seed[0], seed[1], word(philox::getThreshold(probability))},
        builder.getI1Type());
  }
};

struct StochasticRoundElements : ElementModel<StochasticRoundElements, StochasticRoundOp> {
  Sources getSources(Operation *op, const IndexSpace &space, Index index, AffineExpr) const {
    auto round = cast<StochasticRoundOp>(op);
    Sources sources{{round.getOperand(), ElementIndex(index)}};
    addWords(sources, space, round.getSeed());
    addWords(sources, space, round.getTag());
    return sources;
  }

  FailureOr<Value> emitElement(Operation *op, ElementEmitter &emitter, Index index) const {
    RankedTensorType type = cast<StochasticRoundOp>(op).getType();
    FailureOr<SmallVector<Value>> elements = emitter.emitSources(op, index);
    if (failed(elements))
      return failure();
    Value element = elements->front();
    std::array<Value, 2> seed{(*elements)[1], (*elements)[2]}, tag{(*elements)[3], (*elements)[4]};
    OpBuilder &builder = emitter.getBuilder();
    Location loc = emitter.getLoc();
    Value number = emitElementNumber(emitter, type, index);
    if (!emitter.getOptions().callsLibrary) {
      auto [low, high] = splitNumber(emitter, number, type.getNumElements());
      return emitStochasticRound(builder, loc, element, low, high, tag, seed);
    }
    Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
    return emitter.callLibrary(
        "stochastic_round", {element, wide, tag[0], tag[1], seed[0], seed[1]}, element.getType());
  }
};
} // namespace

void sinter::registerElementModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, SinterDialect *) {
    ConcatOp::attachInterface<ConcatElements>(*context);
    ConstantOp::attachInterface<ConstantElements>(*context);
    DropoutOp::attachInterface<DropoutElements>(*context);
    EmbeddingOp::attachInterface<EmbeddingElements>(*context);
    LastRowOp::attachInterface<LastRowElements>(*context);
    OneHotOp::attachInterface<OneHotElements>(*context);
    PickOp::attachInterface<PickElements>(*context);
    PositionsOp::attachInterface<PositionsElements>(*context);
    RotaryOp::attachInterface<RotaryElements>(*context);
    StochasticRoundOp::attachInterface<StochasticRoundElements>(*context);
    SumPartsOp::attachInterface<SumPartsElements>(*context);
  });
}
