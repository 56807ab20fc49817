#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;
using namespace sinter;

Type ElementEmitter::getComputeType(Type storage) {
  if (storage.isInteger(4))
    return IntegerType::get(storage.getContext(), 8);
  bool narrow = isa<FloatType>(storage) && storage.getIntOrFloatBitWidth() < 32;
  return narrow ? Float32Type::get(storage.getContext()) : storage;
}

bool ElementEmitter::supports(Operation *op) {
  return isa<ElementOpInterface, ElementwiseOpInterface, MoveOpInterface, ReduceOp>(op);
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

FailureOr<AffineExpr> ElementEmitter::emitRow(ElementOpInterface op, ArrayRef<AffineExpr> index) {
  std::optional<RowChoice> choice = op.getRowChoice(space, index);
  if (!choice)
    return AffineExpr();
  Key key = makeKey(op, choice->index);
  Value row = lookup(&ScopeData::elements, key);
  if (!row) {
    FailureOr<Value> chosen = op.emitChosenRow(*this, choice->index);
    if (failed(chosen))
      return failure();
    Value first = arith::ConstantIndexOp::create(builder, loc, 0);
    Value last = arith::ConstantIndexOp::create(builder, loc, choice->rows - 1);
    row = arith::MaxSIOp::create(builder, loc, *chosen, first);
    row = arith::MinSIOp::create(builder, loc, row, last);
    scopes.back().elements[key] = row;
  }
  AffineExpr &expr = rows[row];
  if (!expr)
    expr = space.addDim(row, 0, choice->rows);
  return expr;
}

FailureOr<SmallVector<ElementSource>>
ElementEmitter::getSources(Operation *op, ArrayRef<AffineExpr> index, bool probe) {
  if (auto move = dyn_cast<MoveOpInterface>(op))
    return SmallVector<ElementSource>{{op->getOperand(0), space.apply(move.getSourceMap(), index)}};
  auto elements = dyn_cast<ElementOpInterface>(op);
  if (!elements) {
    SmallVector<ElementSource> sources;
    for (Value operand : op->getOperands())
      sources.push_back({operand, ElementIndex(index)});
    return sources;
  }
  FailureOr<AffineExpr> row = AffineExpr();
  if (std::optional<RowChoice> choice = elements.getRowChoice(space, index))
    row = probe ? space.addDim(nullptr, 0, choice->rows) : emitRow(elements, index);
  if (failed(row))
    return failure();
  return elements.getSources(space, index, *row);
}

LogicalResult ElementEmitter::prepare(Value tensor, ArrayRef<AffineExpr> index,
                                      ArrayRef<AffineExpr> dims) {
  // A row that is found only inside the loop has no value before it.
  auto isFixed = [&](ArrayRef<AffineExpr> exprs) {
    return space.haveValues(exprs) &&
           llvm::none_of(dims, [&](AffineExpr dim) { return IndexSpace::dependsOn(exprs, dim); });
  };
  if (isFixed(index))
    return LogicalResult(emit(tensor, index));
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<ReduceOp>(op))
    return success();
  std::optional<RowChoice> choice;
  if (auto elements = dyn_cast<ElementOpInterface>(op))
    choice = elements.getRowChoice(space, index);
  bool rowIsInside = choice && !isFixed(choice->index);
  FailureOr<SmallVector<ElementSource>> sources = getSources(op, index, /*probe=*/rowIsInside);
  if (failed(sources))
    return failure();
  for (const ElementSource &source : *sources)
    if (failed(prepare(source.tensor, source.index, dims)))
      return failure();
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
  if (auto elements = dyn_cast<ElementOpInterface>(op))
    for (Boundary boundary : elements.getBoundaries())
      cutAt(index[boundary.dim], boundary.at);
  FailureOr<SmallVector<ElementSource>> sources = getSources(op, index, /*probe=*/true);
  if (succeeded(sources))
    for (const ElementSource &source : *sources)
      collectCuts(source.tensor, source.index, dim, cuts);
}

bool ElementEmitter::crossesBoundary(Value tensor, ArrayRef<AffineExpr> index, AffineExpr dim) {
  Operation *op = tensor.getDefiningOp();
  if (!op || isa<ReduceOp>(op) || !IndexSpace::dependsOn(index, dim))
    return false;
  if (auto elements = dyn_cast<ElementOpInterface>(op))
    for (Boundary boundary : elements.getBoundaries()) {
      IndexSpace::Range range = space.getRange(index[boundary.dim]);
      if (range.first < boundary.at && range.last >= boundary.at)
        return true;
    }
  FailureOr<SmallVector<ElementSource>> sources = getSources(op, index, /*probe=*/true);
  return succeeded(sources) && llvm::any_of(*sources, [&](const ElementSource &source) {
           return crossesBoundary(source.tensor, source.index, dim);
         });
}

SmallVector<std::pair<int64_t, int64_t>>
ElementEmitter::getSegments(ArrayRef<Value> tensors,
                            llvm::function_ref<ElementIndex(Value, AffineExpr)> makeIndex,
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
  FailureOr<SmallVector<ElementSource>> sources = getSources(op, index, /*probe=*/true);
  if (succeeded(sources))
    for (const ElementSource &source : *sources)
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

/// Cost from which on a value that is needed again is kept in a buffer.
static constexpr int64_t kWorthABuffer = 16;

/// What an op costs, a simple instruction being 1; what only moves costs nothing, unless it comes
/// from all over a table in a layout of its own.
static int64_t estimateCost(Operation *op) {
  if (auto lookup = dyn_cast<LookupOpInterface>(op))
    return typeOf(lookup.getTable()).getEncoding() ? kWorthABuffer : 0;
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
  Type stored = cast<MemRefType>(memory.getType()).getElementType();
  // What a cast has rounded to the stored type is not rounded again.
  if (auto widened = element.getDefiningOp<arith::ExtFOp>();
      widened && widened.getIn().getType() == stored)
    element = widened.getIn();
  if (element.getType() != stored)
    element = arith::TruncFOp::create(builder, loc, stored, element);
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

/// Of integers of four bits in panels, which byte has an element, and which half of it: a row of
/// words has columns j in the lower halves of its bytes and columns j + width / 2 in the upper
/// ones.
static AffineMap getHalfMap(RankedTensorType type, PanelsAttr panels) {
  AffineMap map = getOffsetMap(type);
  int64_t row = panels.getWidth() * panels.getInterleave();
  AffineExpr offset = map.getResult(0), place = offset % row;
  return AffineMap::get(
      map.getNumDims(), 0,
      {offset.floorDiv(row) * (row / 2) + place % (row / 2), place.floorDiv(row / 2)},
      type.getContext());
}

Value ElementEmitter::loadHalf(Value memory, RankedTensorType type, PanelsAttr panels,
                               ArrayRef<AffineExpr> index) {
  ElementIndex place = space.apply(getHalfMap(type, panels), index);
  Type i32 = builder.getI32Type();
  auto number = [&](int32_t value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getI32IntegerAttr(value));
  };
  Value byte = memref::LoadOp::create(builder, loc, memory, emitPosition(place[0]));
  byte = arith::ExtSIOp::create(builder, loc, i32, byte);
  Value bits = arith::MulIOp::create(builder, loc, emitNumber(place[1], i32), number(4));
  Value half = arith::ShRUIOp::create(builder, loc, byte, bits);
  half = arith::AndIOp::create(builder, loc, half, number(15));
  // The sign, which is bit 3.
  half = arith::XOrIOp::create(builder, loc, half, number(8));
  half = arith::SubIOp::create(builder, loc, half, number(8));
  return arith::TruncIOp::create(builder, loc, builder.getI8Type(), half);
}

Value ElementEmitter::load(Value memory, RankedTensorType type, ArrayRef<AffineExpr> index) {
  auto panels = dyn_cast_or_null<PanelsAttr>(type.getEncoding());
  if (panels && type.getElementType().isInteger(4))
    return loadHalf(memory, type, panels, index);
  AffineExpr offset = space.apply(getOffsetMap(type), index).front();
  Value element =
      memref::LoadOp::create(builder, loc, memory, space.materialize(builder, loc, offset));
  Type computed = getComputeType(element.getType());
  if (computed != element.getType())
    element = arith::ExtFOp::create(builder, loc, computed, element);
  return element;
}

bool ElementEmitter::isOfNarrow(Value tensor) {
  if (auto known = narrow.find(tensor); known != narrow.end())
    return known->second;
  RankedTensorType type = typeOf(tensor);
  Operation *op = tensor.getDefiningOp();
  bool result = op ? llvm::all_of(op->getOperands(), [&](Value v) { return isOfNarrow(v); })
                   : type.getNumElements() == 1 || type.getElementTypeBitWidth() <= 16 ||
                         !isa<FloatType>(type.getElementType());
  return narrow[tensor] = result;
}

Value ElementEmitter::emitScalar(ElementwiseOpInterface op, ArrayRef<Value> operands) {
  Block *block = builder.getInsertionBlock();
  Operation *before = builder.getInsertionPoint() == block->begin()
                          ? nullptr
                          : &*std::prev(builder.getInsertionPoint());
  Value element = op.emitScalar(builder, loc, operands);
  if (!options.approximates || !isOfNarrow(op->getResult(0)))
    return element;
  auto emitted = llvm::make_range(before ? std::next(before->getIterator()) : block->begin(),
                                  builder.getInsertionPoint());
  if (llvm::none_of(emitted, llvm::IsaPred<math::ExpOp, math::Exp2Op>))
    return element;
  for (Operation &part : emitted)
    TypeSwitch<Operation *>(&part).Case<math::ExpOp, math::Exp2Op, arith::DivFOp>(
        [](auto approximated) { approximated.setFastmath(arith::FastMathFlags::afn); });
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
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return emitReduce(reduce, index);
  if (auto elements = dyn_cast<ElementOpInterface>(op))
    return elements.emitElement(*this, index);
  if (!supports(op))
    return op->emitError("expected no use of this op's result inside a rows kernel");
  FailureOr<SmallVector<Value>> elements = emitSources(op, index);
  if (failed(elements))
    return failure();
  auto elementwise = dyn_cast<ElementwiseOpInterface>(op);
  if (!elementwise)
    return elements->front();
  Value element = emitScalar(elementwise, *elements);
  // A cast to 16 bits has rounded.
  if (element.getType() != type)
    element = arith::ExtFOp::create(builder, loc, type, element);
  return element;
}

FailureOr<SmallVector<Value>> ElementEmitter::emitSources(Operation *op,
                                                          ArrayRef<AffineExpr> index) {
  FailureOr<SmallVector<ElementSource>> sources = getSources(op, index, /*probe=*/false);
  if (failed(sources))
    return failure();
  SmallVector<Value> elements;
  for (const ElementSource &source : *sources) {
    FailureOr<Value> element = emit(source.tensor, source.index);
    if (failed(element))
      return failure();
    elements.push_back(*element);
  }
  return elements;
}

Value ElementEmitter::emitPosition(AffineExpr expr) {
  return space.materialize(builder, loc, expr);
}

Value ElementEmitter::emitNumber(AffineExpr expr, Type type) {
  return arith::IndexCastOp::create(builder, loc, type, emitPosition(expr));
}

Value ElementEmitter::emitConstant(Type type, double value) {
  TypedAttr number = isa<FloatType>(type)
                         ? TypedAttr(builder.getFloatAttr(type, value))
                         : builder.getIntegerAttr(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(builder, loc, number);
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

FailureOr<Value> ElementEmitter::emitReduce(ReduceOp op, ArrayRef<AffineExpr> index) {
  Value operand = op.getOperand();
  Type type = getComputeType(op.getType().getElementType());
  int64_t extent = typeOf(operand).getShape().back();
  auto makeIndex = [&](Value, AffineExpr column) {
    ElementIndex whole(index);
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
  auto makeLoop = [&](int64_t lower, int64_t upper, ValueRange carried) {
    Value first = arith::ConstantIndexOp::create(builder, loc, lower);
    Value last = arith::ConstantIndexOp::create(builder, loc, upper);
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    return scf::ForOp::create(builder, loc, first, last, one, carried);
  };
  auto segments = getSegments(operand, makeIndex, extent);
  // In which order a row is combined must not depend on what the reduction is fused with: a row
  // that comes in segments, or by a loop that branches, is put together first.
  AffineExpr whole = space.addDim(nullptr, 0, extent);
  bool isPieced = crossesBoundary(operand, makeIndex(operand, whole), whole);
  Value row = isPieced ? makeBuffer(extent, type) : Value();
  std::map<Key, unsigned> filledHere;
  for (auto [lower, upper] : segments) {
    AffineExpr probe = space.addDim(nullptr, lower, upper);
    if (failed(prepare(operand, makeIndex(operand, probe), probe)))
      return failure();
    auto loop = makeLoop(lower, upper, row ? ValueRange() : ValueRange(total));
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Scope scope(*this);
    llvm::SaveAndRestore inner(filled, &filledHere);
    llvm::SaveAndRestore counter(reductionDim, space.addDim(loop.getInductionVar(), lower, upper));
    llvm::SaveAndRestore width(reductionExtent, extent);
    FailureOr<Value> element = emit(operand, makeIndex(operand, reductionDim));
    if (failed(element))
      return failure();
    if (row) {
      memref::StoreOp::create(builder, loc, *element, row, loop.getInductionVar());
    } else {
      scf::YieldOp::create(builder, loc, combine(loop.getRegionIterArg(0), *element));
      total = loop.getResult(0);
    }
  }
  if (row) {
    auto loop = makeLoop(0, extent, total);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value element = memref::LoadOp::create(builder, loc, row, loop.getInductionVar());
    scf::YieldOp::create(builder, loc, combine(loop.getRegionIterArg(0), element));
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
