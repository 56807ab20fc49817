#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/Philox.h"
#include "dialects/Sinter/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace sinter;

Type ElementEmitter::getComputeType(Type storage) {
  bool narrow = isa<FloatType>(storage) && storage.getIntOrFloatBitWidth() < 32;
  return narrow ? Float32Type::get(storage.getContext()) : storage;
}

bool ElementEmitter::supports(Operation *op) {
  return isa<ElementwiseOpInterface, MoveOpInterface, ConcatOp, ConstantOp, ReduceOp, ColumnSumOp,
             EmbeddingOp, LastRowOp, PickOp, OneHotOp, PositionsOp, RotaryOp, DropoutOp,
             StochasticRoundOp, CacheAppendOp>(op);
}

ElementEmitter::Key ElementEmitter::makeKey(const void *what, ArrayRef<AffineExpr> index) {
  Key key{what, {}};
  for (AffineExpr expr : index)
    key.second.push_back(expr.getAsOpaquePointer());
  return key;
}

Value ElementEmitter::lookup(std::map<Key, Value> ScopeData::*map, const Key &key) {
  for (ScopeData &scope : llvm::reverse(scopes))
    if (auto found = (scope.*map).find(key); found != (scope.*map).end())
      return found->second;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Which elements an element is made of
//===----------------------------------------------------------------------===//

ElementEmitter::Index ElementEmitter::getGatherIndex(Operation *op, ArrayRef<AffineExpr> index) {
  if (isa<EmbeddingOp>(op))
    return Index(index.drop_back());
  if (isa<RotaryOp>(op))
    return Index(index.take_front(2));
  return Index(index.take_front(1));
}

FailureOr<AffineExpr> ElementEmitter::getGatherRow(Operation *op, ArrayRef<AffineExpr> index,
                                                   bool probe) {
  Index where = getGatherIndex(op, index);
  auto rotary = dyn_cast<RotaryOp>(op);
  Value table = rotary ? rotary.getCos() : op->getOperand(0);
  int64_t extent = typeOf(table).getDimSize(isa<LastRowOp>(op) ? 1 : 0);
  if (rotary && !rotary.getStart() && space.getRange(where[1]).last < extent)
    return where[1];
  if (probe)
    return space.addDim(nullptr, 0, extent);
  Key key = makeKey(op, where);
  Value row = lookup(&ScopeData::elements, key);
  if (!row) {
    auto constant = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    if (rotary) {
      row = space.materialize(builder, loc, where[1]);
      if (rotary.getStart()) {
        FailureOr<Value> start = emitIndex(rotary.getStart(), where[0]);
        if (failed(start))
          return failure();
        row = arith::AddIOp::create(builder, loc, row, *start);
      }
    } else {
      FailureOr<Value> chosen = emitIndex(op->getOperand(1), where);
      if (failed(chosen))
        return failure();
      row = *chosen;
      if (isa<LastRowOp>(op))
        row = arith::SubIOp::create(builder, loc, row, constant(1));
    }
    row = arith::MaxSIOp::create(builder, loc, row, constant(0));
    row = arith::MinSIOp::create(builder, loc, row, constant(extent - 1));
    scopes.back().elements[key] = row;
  }
  AffineExpr &expr = rows[row];
  if (!expr)
    expr = space.addDim(row, 0, extent);
  return expr;
}

FailureOr<SmallVector<ElementEmitter::Source>>
ElementEmitter::getSources(Operation *op, ArrayRef<AffineExpr> index, bool probe) {
  SmallVector<Source> sources;
  if (isa<ElementwiseOpInterface>(op)) {
    for (Value operand : op->getOperands())
      sources.push_back({operand, Index(index)});
  } else if (auto move = dyn_cast<MoveOpInterface>(op)) {
    sources.push_back({op->getOperand(0), space.apply(move.getSourceMap(), index)});
  } else if (auto concat = dyn_cast<ConcatOp>(op)) {
    IndexSpace::Range range = space.getRange(index[concat.getDim()]);
    int64_t offset = 0;
    for (Value operand : concat.getOperands()) {
      int64_t end = offset + typeOf(operand).getDimSize(concat.getDim());
      if (range.first >= offset && range.last < end) {
        Index source(index);
        source[concat.getDim()] = space.simplify(source[concat.getDim()] - offset);
        sources.push_back({operand, source});
      }
      offset = end;
    }
  } else if (isa<EmbeddingOp, LastRowOp>(op)) {
    FailureOr<AffineExpr> row = getGatherRow(op, index, probe);
    if (failed(row))
      return failure();
    Index source = isa<LastRowOp>(op) ? Index{index[0], *row} : Index{*row};
    source.push_back(index.back());
    sources.push_back({op->getOperand(0), source});
  } else if (auto positions = dyn_cast<PositionsOp>(op)) {
    sources.push_back({positions.getStart(), {index[0]}});
  } else if (auto hot = dyn_cast<OneHotOp>(op)) {
    sources.push_back({hot.getIds(), Index(index.drop_back())});
  } else if (auto pick = dyn_cast<PickOp>(op)) {
    // The element itself is known only where its code stands.
    sources.push_back({pick.getIds(), Index(index)});
  } else if (auto dropout = dyn_cast<DropoutOp>(op)) {
    sources.push_back({dropout.getOperand(), Index(index)});
    sources.push_back({dropout.getSeed(), {space.constant(0)}});
    sources.push_back({dropout.getSeed(), {space.constant(1)}});
  } else if (auto round = dyn_cast<StochasticRoundOp>(op)) {
    sources.push_back({round.getOperand(), Index(index)});
    for (Value words : {round.getSeed(), round.getTag()})
      for (int64_t i : {0, 1})
        sources.push_back({words, {space.constant(i)}});
  } else if (auto rotary = dyn_cast<RotaryOp>(op)) {
    int64_t half = rotary.getCos().getType().getDimSize(1);
    IndexSpace::Range range = space.getRange(index[3]);
    sources.push_back({rotary.getOperand(), Index(index)});
    if (range.first >= 2 * half)
      return sources;
    bool low = range.last < half, high = range.first >= half && range.last < 2 * half;
    if (!low && !high && !(rotary.getInterleaved() && range.last < 2 * half))
      return SmallVector<Source>();
    FailureOr<AffineExpr> row = getGatherRow(op, index, probe);
    if (failed(row))
      return failure();
    Index partner(index);
    AffineExpr i = index[3];
    AffineExpr pair = i;
    if (rotary.getInterleaved()) {
      partner[3] = i + 1 - (i % 2) * 2;
      pair = i.floorDiv(2);
    } else {
      partner[3] = low ? i + half : i - half;
      pair = low ? i : i - half;
    }
    partner[3] = space.simplify(partner[3]);
    pair = space.simplify(pair);
    sources.push_back({rotary.getOperand(), partner});
    sources.push_back({rotary.getCos(), {*row, pair}});
    sources.push_back({rotary.getSin(), {*row, pair}});
  }
  return sources;
}

LogicalResult ElementEmitter::prepare(Value tensor, ArrayRef<AffineExpr> index,
                                      ArrayRef<AffineExpr> dims) {
  auto isFixed = [&](ArrayRef<AffineExpr> exprs) {
    return llvm::none_of(dims, [&](AffineExpr dim) { return IndexSpace::dependsOn(exprs, dim); });
  };
  if (isFixed(index))
    return LogicalResult(emit(tensor, index));
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<ReduceOp>(op))
    return success();
  bool gathers = isa<EmbeddingOp, LastRowOp, RotaryOp>(op);
  bool fixedRow = gathers && isFixed(getGatherIndex(op, index));
  if (fixedRow && failed(getGatherRow(op, index, /*probe=*/false)))
    return failure();
  FailureOr<SmallVector<Source>> sources = getSources(op, index, /*probe=*/gathers && !fixedRow);
  if (failed(sources))
    return failure();
  for (const Source &source : *sources) {
    // A row that is found only inside the loop cannot be read before it.
    if (gathers && !fixedRow && isFixed(source.index))
      continue;
    if (failed(prepare(source.tensor, source.index, dims)))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Where loops are cut
//===----------------------------------------------------------------------===//

void ElementEmitter::collectCuts(Value tensor, ArrayRef<AffineExpr> index, AffineExpr dim,
                                 SmallVectorImpl<int64_t> &cuts) {
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<ReduceOp>(op) || !IndexSpace::dependsOn(index, dim))
    return;
  auto cutAt = [&](AffineExpr expr, int64_t bound) {
    AffineExpr offset = space.simplify(expr - dim);
    if (auto number = dyn_cast<AffineConstantExpr>(offset))
      cuts.push_back(bound - number.getValue());
  };
  if (auto concat = dyn_cast<ConcatOp>(op)) {
    int64_t offset = 0;
    for (Value operand : concat.getOperands())
      cutAt(index[concat.getDim()], offset += typeOf(operand).getDimSize(concat.getDim()));
  } else if (auto rotary = dyn_cast<RotaryOp>(op)) {
    int64_t half = rotary.getCos().getType().getDimSize(1);
    cutAt(index[3], 2 * half);
    if (!rotary.getInterleaved())
      cutAt(index[3], half);
  }
  FailureOr<SmallVector<Source>> sources = getSources(op, index, /*probe=*/true);
  if (succeeded(sources))
    for (const Source &source : *sources)
      collectCuts(source.tensor, source.index, dim, cuts);
}

SmallVector<std::pair<int64_t, int64_t>>
ElementEmitter::getSegments(ArrayRef<Value> tensors,
                            llvm::function_ref<Index(Value, AffineExpr)> makeIndex,
                            int64_t extent) {
  SmallVector<std::pair<int64_t, int64_t>> done, open{{0, extent}};
  while (!open.empty()) {
    auto [lower, upper] = open.pop_back_val();
    AffineExpr dim = space.addDim(nullptr, lower, upper);
    SmallVector<int64_t> cuts;
    for (Value tensor : tensors)
      collectCuts(tensor, makeIndex(tensor, dim), dim, cuts);
    auto cut = llvm::find_if(
        cuts, [&, lower = lower, upper = upper](int64_t at) { return at > lower && at < upper; });
    if (cut == cuts.end()) {
      done.emplace_back(lower, upper);
    } else {
      open.emplace_back(*cut, upper);
      open.emplace_back(lower, *cut);
    }
  }
  return done;
}

int64_t ElementEmitter::findRowChange(Value tensor, ArrayRef<AffineExpr> index, AffineExpr dim) {
  Operation *op = tensor.getDefiningOp();
  if (!op || !IndexSpace::dependsOn(index, dim))
    return 0;
  if (isa<ReduceOp>(op)) {
    int64_t step = 0;
    for (AffineExpr expr : index)
      expr.walk([&](AffineExpr part) {
        if (part.getKind() == AffineExprKind::FloorDiv &&
            cast<AffineBinaryOpExpr>(part).getLHS() == dim)
          step = cast<AffineConstantExpr>(cast<AffineBinaryOpExpr>(part).getRHS()).getValue();
      });
    return step;
  }
  FailureOr<SmallVector<Source>> sources = getSources(op, index, /*probe=*/true);
  if (succeeded(sources))
    for (const Source &source : *sources)
      if (int64_t step = findRowChange(source.tensor, source.index, dim))
        return step;
  return 0;
}

//===----------------------------------------------------------------------===//
// Row buffers
//===----------------------------------------------------------------------===//

/// Whether the op repeats one value a row along it.
static bool spreadsRows(Operation *op) {
  auto broadcast = dyn_cast<BroadcastOp>(op);
  return broadcast && !llvm::is_contained(broadcast.getDims(), broadcast.getType().getRank() - 1);
}

/// What an elementwise op costs, a simple instruction being 1.
static int64_t estimateCost(Operation *op) {
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return 0;
  Block scratch;
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(scratch.addArgument(
        ElementEmitter::getComputeType(typeOf(operand).getElementType()), op->getLoc()));
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&scratch);
  elementwise.emitScalar(builder, op->getLoc(), operands);
  int64_t cost = 0;
  for (Operation &part : scratch)
    cost += isa<math::MathDialect>(part.getDialect()) ? 16 : isa<arith::DivFOp>(part) ? 4 : 1;
  return cost;
}

Value ElementEmitter::makeBuffer(int64_t extent, Type element) {
  int64_t bytes = extent * element.getIntOrFloatBitWidth() / 8;
  if (bytes > bufferBytesLeft)
    return nullptr;
  bufferBytesLeft -= bytes;
  OpBuilder front = OpBuilder::atBlockBegin(entry);
  return memref::AllocaOp::create(front, loc, MemRefType::get({extent}, element),
                                  front.getI64IntegerAttr(64));
}

void ElementEmitter::chooseBuffers(Block &block) {
  constexpr int64_t kWorthABuffer = 16;
  // Values that some reduction needs.
  llvm::DenseSet<Value> reduced;
  for (Operation &op : llvm::reverse(block))
    if (isa<ReduceOp>(op) ||
        llvm::any_of(op.getResults(), [&](Value result) { return reduced.contains(result); }))
      reduced.insert(op.operand_begin(), op.operand_end());
  llvm::DenseMap<Value, int64_t> costs;
  // The cost of a value that may be kept instead of computed again.
  auto decide = [&](Value value, int64_t cost) {
    RankedTensorType type = typeOf(value);
    bool again = !value.hasOneUse() && reduced.contains(value) && type.getRank() > 0 &&
                 isa<FloatType>(type.getElementType());
    if (!again || cost < kWorthABuffer)
      return cost;
    Type element = getComputeType(type.getElementType());
    int64_t bytes = type.getShape().back() * element.getIntOrFloatBitWidth() / 8;
    if (bytes > bufferBytesLeft)
      return cost;
    bufferBytesLeft -= bytes;
    buffers[value] = nullptr;
    return int64_t{1};
  };
  if (options.keepsLoads)
    for (BlockArgument argument : block.getArguments())
      costs[argument] = decide(argument, kWorthABuffer);
  for (Operation &op : block.without_terminator()) {
    int64_t cost = estimateCost(&op);
    // What is spread over a row is computed once a row.
    if (!isa<ReduceOp>(op) && !spreadsRows(&op))
      for (Value operand : op.getOperands())
        cost += costs.lookup(operand);
    costs[op.getResult(0)] = decide(op.getResult(0), cost);
  }
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

FailureOr<Value> ElementEmitter::emitIndex(Value tensor, ArrayRef<AffineExpr> index) {
  FailureOr<Value> number = emit(tensor, index);
  if (failed(number))
    return failure();
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), *number).getResult();
}

void ElementEmitter::store(Value element, Value memory, RankedTensorType type,
                           ArrayRef<AffineExpr> index) {
  if (element.getType() != type.getElementType())
    element = arith::TruncFOp::create(builder, loc, type.getElementType(), element);
  AffineExpr offset = space.apply(getOffsetMap(type), index).front();
  memref::StoreOp::create(builder, loc, element, memory, space.materialize(builder, loc, offset));
}

FailureOr<Value> ElementEmitter::emit(Value tensor, ArrayRef<AffineExpr> index) {
  Key key = makeKey(tensor.getAsOpaquePointer(), index);
  if (Value known = lookup(&ScopeData::elements, key))
    return known;
  if (!buffers.contains(tensor)) {
    FailureOr<Value> element = compute(tensor, index);
    if (succeeded(element))
      scopes.back().elements[key] = *element;
    return element;
  }
  Key row = makeKey(tensor.getAsOpaquePointer(), index.drop_back());
  Value memory = lookup(&ScopeData::buffers, row);
  FailureOr<Value> element = failure();
  if (memory) {
    Value column = space.materialize(builder, loc, index.back());
    element = memref::LoadOp::create(builder, loc, memory, column).getResult();
  } else {
    element = compute(tensor, index);
    if (failed(element))
      return failure();
    if (canFill(tensor, index)) {
      Value &buffer = buffers[tensor];
      if (!buffer) {
        OpBuilder front = OpBuilder::atBlockBegin(entry);
        auto type = MemRefType::get({typeOf(tensor).getShape().back()}, element->getType());
        buffer = memref::AllocaOp::create(front, loc, type, front.getI64IntegerAttr(64));
      }
      Value column = space.materialize(builder, loc, index.back());
      memref::StoreOp::create(builder, loc, *element, buffer, column);
      ++(*filled)[row];
    }
  }
  scopes.back().elements[key] = *element;
  return element;
}

bool ElementEmitter::canFill(Value tensor, ArrayRef<AffineExpr> index) {
  if (!filled || index.back() != reductionDim ||
      typeOf(tensor).getShape().back() != reductionExtent ||
      IndexSpace::dependsOn(index.drop_back(), reductionDim))
    return false;
  // One memory a value: another row of it must not be in use.
  return llvm::none_of(scopes, [&](const ScopeData &scope) {
    return llvm::any_of(scope.buffers, [&](const auto &entry) {
      return entry.first.first == tensor.getAsOpaquePointer();
    });
  });
}

Value ElementEmitter::load(Value memory, RankedTensorType type, ArrayRef<AffineExpr> index) {
  AffineExpr offset = space.apply(getOffsetMap(type), index).front();
  Value element =
      memref::LoadOp::create(builder, loc, memory, space.materialize(builder, loc, offset));
  Type computed = getComputeType(element.getType());
  if (computed != element.getType())
    element = arith::ExtFOp::create(builder, loc, computed, element);
  return element;
}

FailureOr<Value> ElementEmitter::compute(Value tensor, ArrayRef<AffineExpr> index) {
  Operation *op = tensor.getDefiningOp();
  if (!op) {
    Value memory = memories.lookup(tensor);
    assert(memory && "expected memory for every argument");
    return load(memory, typeOf(tensor), index);
  }
  Type type = getComputeType(typeOf(tensor).getElementType());
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto value = dyn_cast<SplatElementsAttr>(constant.getValue());
    if (!value)
      return op->emitError("expected a constant of one value in a rows kernel");
    ReferenceTensor number(value.resizeSplat(RankedTensorType::get({1}, value.getElementType())));
    TypedAttr attribute = isa<FloatType>(type)
                              ? TypedAttr(builder.getFloatAttr(type, number[0]))
                              : builder.getIntegerAttr(type, static_cast<int64_t>(number[0]));
    return arith::ConstantOp::create(builder, loc, attribute).getResult();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return emitReduce(reduce, index);
  if (auto concat = dyn_cast<ConcatOp>(op))
    return emitConcat(concat, index);
  if (auto rotary = dyn_cast<RotaryOp>(op))
    return emitRotary(rotary, index);
  if (auto pick = dyn_cast<PickOp>(op))
    return emitPick(pick, index);
  if (isa<CacheAppendOp, ColumnSumOp>(op) || !supports(op))
    return op->emitError("expected no use of this op's result inside a rows kernel");
  FailureOr<SmallVector<Source>> sources = getSources(op, index, /*probe=*/false);
  if (failed(sources))
    return failure();
  SmallVector<Value> elements;
  for (const Source &source : *sources) {
    FailureOr<Value> element = emit(source.tensor, source.index);
    if (failed(element))
      return failure();
    elements.push_back(*element);
  }
  if (auto elementwise = dyn_cast<ElementwiseOpInterface>(op)) {
    Value element = elementwise.emitScalar(builder, loc, elements);
    // A cast to 16 bits has rounded.
    if (element.getType() != type)
      element = arith::ExtFOp::create(builder, loc, type, element);
    return element;
  }
  if (auto hot = dyn_cast<OneHotOp>(op)) {
    Value column = arith::IndexCastOp::create(builder, loc, elements[0].getType(),
                                              space.materialize(builder, loc, index.back()));
    Value isHot =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, elements[0], column);
    auto number = [&](double value) -> Value {
      return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
    };
    return arith::SelectOp::create(builder, loc, isHot, number(1.0), number(0.0)).getResult();
  }
  if (auto dropout = dyn_cast<DropoutOp>(op))
    return emitDropout(dropout, index, elements);
  if (auto round = dyn_cast<StochasticRoundOp>(op))
    return emitStochasticRound(round, index, elements);
  if (isa<PositionsOp>(op)) {
    Value t =
        arith::IndexCastOp::create(builder, loc, type, space.materialize(builder, loc, index[1]));
    return arith::AddIOp::create(builder, loc, elements[0], t).getResult();
  }
  return elements[0];
}

FailureOr<Value> ElementEmitter::choose(AffineExpr expr, int64_t bound, Type type, Branch below,
                                        Branch above) {
  IndexSpace::Range range = space.getRange(expr);
  if (range.last < bound)
    return below();
  if (range.first >= bound)
    return above();
  Value limit = arith::ConstantIndexOp::create(builder, loc, bound);
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        space.materialize(builder, loc, expr), limit);
  auto branches = scf::IfOp::create(builder, loc, type, isBelow, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  for (auto [block, branch] :
       {std::pair(branches.thenBlock(), below), {branches.elseBlock(), above}}) {
    builder.setInsertionPointToEnd(block);
    Scope scope(*this);
    llvm::SaveAndRestore<std::map<Key, unsigned> *> never(filled, nullptr);
    FailureOr<Value> element = branch();
    if (failed(element))
      return failure();
    scf::YieldOp::create(builder, loc, *element);
  }
  return branches.getResult(0);
}

FailureOr<Value> ElementEmitter::emitConcat(ConcatOp op, ArrayRef<AffineExpr> index) {
  int64_t dim = op.getDim();
  Type type = getComputeType(op.getType().getElementType());
  // From the operand at `position` on, whose elements begin at `offset`.
  std::function<FailureOr<Value>(unsigned, int64_t)> emitFrom = [&](unsigned position,
                                                                    int64_t offset) {
    Value operand = op.getOperands()[position];
    auto here = [&]() {
      Index source(index);
      source[dim] = space.simplify(index[dim] - offset);
      return emit(operand, source);
    };
    if (position + 1 == op.getOperands().size())
      return here();
    int64_t end = offset + typeOf(operand).getDimSize(dim);
    return choose(index[dim], end, type, here, [&]() { return emitFrom(position + 1, end); });
  };
  return emitFrom(0, 0);
}

FailureOr<Value> ElementEmitter::emitPick(PickOp op, ArrayRef<AffineExpr> index) {
  FailureOr<Value> id = emitIndex(op.getIds(), index);
  if (failed(id))
    return failure();
  int64_t extent = op.getOperand().getType().getShape().back();
  Value first = arith::ConstantIndexOp::create(builder, loc, 0);
  Value end = arith::ConstantIndexOp::create(builder, loc, extent);
  // Unsigned, so that a negative id is outside, too.
  Value isInside = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult, *id, end);
  Value column = arith::SelectOp::create(builder, loc, isInside, *id, first);
  Index chosen(index);
  chosen.push_back(space.addDim(column, 0, extent));
  FailureOr<Value> element = emit(op.getOperand(), chosen);
  if (failed(element))
    return failure();
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(element->getType(), 0.0));
  return arith::SelectOp::create(builder, loc, isInside, *element, zero).getResult();
}

std::pair<Value, Value> ElementEmitter::splitNumber(Value number, int64_t count) {
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

Value ElementEmitter::callLibrary(StringRef name, ValueRange arguments, Type result) {
  auto module = entry->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    function = func::FuncOp::create(outside, loc, name,
                                    builder.getFunctionType(arguments.getTypes(), {result}));
    function.setPrivate();
    function->setAttr(kLibraryAttribute, builder.getUnitAttr());
  }
  return func::CallOp::create(builder, loc, function, arguments).getResult(0);
}

Value ElementEmitter::emitKept(DropoutOp op, Value number, std::array<Value, 2> seed) {
  auto stream = static_cast<uint32_t>(op.getStream());
  double probability = op.getProbability().convertToDouble();
  if (!options.callsLibrary) {
    auto [low, high] = splitNumber(number, op.getType().getNumElements());
    return emitIsKept(builder, loc, low, high, stream, seed, probability);
  }
  auto word = [&](uint32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI32IntegerAttr(static_cast<int32_t>(value)));
  };
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return callLibrary(
      "is_kept", {wide, word(stream), seed[0], seed[1], word(philox::getThreshold(probability))},
      builder.getI1Type());
}

Value ElementEmitter::emitStochasticRound(StochasticRoundOp op, ArrayRef<AffineExpr> index,
                                          ArrayRef<Value> elements) {
  RankedTensorType type = op.getType();
  Value number = space.materialize(builder, loc, space.linearize(index, type.getShape()));
  if (!options.callsLibrary) {
    auto [low, high] = splitNumber(number, type.getNumElements());
    return sinter::emitStochasticRound(builder, loc, elements[0], low, high,
                                       {elements[3], elements[4]}, {elements[1], elements[2]});
  }
  Value wide = arith::IndexCastOp::create(builder, loc, builder.getI64Type(), number);
  return callLibrary("stochastic_round",
                     {elements[0], wide, elements[3], elements[4], elements[1], elements[2]},
                     elements[0].getType());
}

Value ElementEmitter::emitDropout(DropoutOp op, ArrayRef<AffineExpr> index,
                                  ArrayRef<Value> elements) {
  ArrayRef<int64_t> shape = op.getType().getShape();
  Value number = space.materialize(builder, loc, space.linearize(index, shape));
  Value isKept = emitKept(op, number, {elements[1], elements[2]});
  double probability = op.getProbability().convertToDouble();
  Type type = elements[0].getType();
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, value));
  };
  Value scaled = arith::MulFOp::create(builder, loc, elements[0], constant(1 / (1 - probability)));
  return arith::SelectOp::create(builder, loc, isKept, scaled, constant(0.0));
}

FailureOr<Value> ElementEmitter::emitRotary(RotaryOp op, ArrayRef<AffineExpr> index) {
  int64_t half = op.getCos().getType().getDimSize(1);
  Type type = getComputeType(op.getType().getElementType());
  AffineExpr i = index[3];
  auto pass = [&]() { return emit(op.getOperand(), index); };
  // x[i] * cos + sign * x[partner] * sin
  auto rotate = [&](AffineExpr partner, AffineExpr pair, auto combine) -> FailureOr<Value> {
    FailureOr<AffineExpr> row = getGatherRow(op, index, /*probe=*/false);
    if (failed(row))
      return failure();
    Index other(index);
    other[3] = space.simplify(partner);
    Index entry{*row, space.simplify(pair)};
    FailureOr<Value> x = emit(op.getOperand(), index), y = emit(op.getOperand(), other);
    FailureOr<Value> cos = emit(op.getCos(), entry), sin = emit(op.getSin(), entry);
    if (failed(x) || failed(y) || failed(cos) || failed(sin))
      return failure();
    Value straight = arith::MulFOp::create(builder, loc, *x, *cos);
    Value crossed = arith::MulFOp::create(builder, loc, *y, *sin);
    return combine(straight, crossed);
  };
  auto subtract = [&](Value a, Value b) -> Value {
    return arith::SubFOp::create(builder, loc, a, b);
  };
  auto add = [&](Value a, Value b) -> Value { return arith::AddFOp::create(builder, loc, a, b); };
  if (op.getInterleaved()) {
    auto interleaved = [&]() {
      return rotate(
          i + 1 - (i % 2) * 2, i.floorDiv(2), [&](Value straight, Value crossed) -> Value {
            Value odd = space.materialize(builder, loc, space.simplify(i % 2));
            Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
            Value isEven = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, odd, zero);
            Value negative = arith::NegFOp::create(builder, loc, crossed);
            return add(straight, arith::SelectOp::create(builder, loc, isEven, negative, crossed));
          });
    };
    return choose(i, 2 * half, type, interleaved, pass);
  }
  auto low = [&]() { return rotate(i + half, i, subtract); };
  auto high = [&]() { return rotate(i - half, i - half, add); };
  auto rotated = [&]() { return choose(i, half, type, low, high); };
  return choose(i, 2 * half, type, rotated, pass);
}

FailureOr<Value> ElementEmitter::emitReduce(ReduceOp op, ArrayRef<AffineExpr> index) {
  Value operand = op.getOperand();
  Type type = getComputeType(op.getType().getElementType());
  int64_t extent = typeOf(operand).getShape().back();
  auto makeIndex = [&](Value, AffineExpr column) {
    Index whole(index);
    whole.push_back(column);
    return whole;
  };
  bool isMax = op.getKind() == ReductionKind::Max;
  Value total = arith::ConstantOp::create(
      builder, loc,
      isMax ? builder.getFloatAttr(type, APFloat::getInf(cast<FloatType>(type).getFloatSemantics(),
                                                         /*Negative=*/true))
            : builder.getFloatAttr(type, 0.0));
  auto combine = [&](Value a, Value b) -> Value {
    if (isMax)
      return arith::MaximumFOp::create(builder, loc, a, b);
    return arith::AddFOp::create(builder, loc, a, b);
  };
  auto segments = getSegments(operand, makeIndex, extent);
  std::map<Key, unsigned> filledHere;
  for (auto [lower, upper] : segments) {
    AffineExpr probe = space.addDim(nullptr, lower, upper);
    if (failed(prepare(operand, makeIndex(operand, probe), probe)))
      return failure();
    Value first = arith::ConstantIndexOp::create(builder, loc, lower);
    Value last = arith::ConstantIndexOp::create(builder, loc, upper);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, first, last, one, total);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Scope scope(*this);
    llvm::SaveAndRestore inner(filled, &filledHere);
    llvm::SaveAndRestore counter(reductionDim, space.addDim(loop.getInductionVar(), lower, upper));
    llvm::SaveAndRestore width(reductionExtent, extent);
    FailureOr<Value> element = emit(operand, makeIndex(operand, reductionDim));
    if (failed(element))
      return failure();
    scf::YieldOp::create(builder, loc, combine(loop.getRegionIterArg(0), *element));
    total = loop.getResult(0);
  }
  for (auto &[row, times] : filledHere)
    if (times == segments.size())
      scopes.back().buffers[row] = buffers[Value::getFromOpaquePointer(row.first)];
  if (op.getKind() == ReductionKind::Mean) {
    Value count = arith::ConstantOp::create(
        builder, loc, builder.getFloatAttr(type, static_cast<double>(extent)));
    total = arith::DivFOp::create(builder, loc, total, count);
  }
  return total;
}
