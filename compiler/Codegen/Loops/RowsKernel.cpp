#include "compiler/Codegen/Loops/ElementEmitter.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace sinter;

static int64_t product(ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

namespace {
/// A result of the kernel: what is computed, over which loops, and where it is stored.
struct Output {
  Value tensor;
  RankedTensorType type;
  Value memory;
  /// Extents of the loops; as many elements as `tensor` has.
  SmallVector<int64_t> shape;
  /// Where the result is a cache: the update. `tensor` is then its rows.
  CacheAppendOp append;
  /// Where the result is sums of columns: the sum. `tensor` is then what is summed, the loops are
  /// [blocks of rows, rows of a block, columns], and a row of the result accumulates in memory.
  ColumnSumOp sum;
  /// Where the sums of the block of rows that is being worked on are, if not in the result.
  Value sums;
  /// Parts that a sum's columns are cut into; a part of a block is a value of the first dimension.
  int64_t parts = 1;

  /// Whether one nest of loops can compute both.
  bool canShareLoops(const Output &other) const {
    if (shape != other.shape || !append != !other.append || parts != other.parts)
      return false;
    CacheAppendOp mine = append, theirs = other.append;
    return !mine || (mine.getStart() == theirs.getStart() && mine.getCount() == theirs.getCount() &&
                     mine.getType().getDimSize(1) == theirs.getType().getDimSize(1));
  }
};

/// Generates one rows kernel. Outputs whose loops agree share them: a norm's gradient stores a row
/// and adds to the sums of its columns in one pass over what it reads. Work items are the longest
/// row-major prefix that the shapes of all results have in common, without their last dimension:
/// [b, t, h, d] and [b, t, g, d] are worked on in b * t items, each with a nest of loops over (h,
/// d) and one over (g, d). A sum over columns is worked on in blocks of rows.
class RowsGenerator {
public:
  RowsGenerator(func::FuncOp tensors, func::FuncOp loops, const RowsOptions &options)
      : tensors(tensors), loops(loops), builder(loops.getBody().front().getTerminator()),
        loc(tensors.getLoc()), options(options), space(tensors.getContext()),
        emitter(builder, loc, space, &loops.front(), options) {}

  FailureOr<int64_t> run() {
    unsigned arguments = tensors.getNumArguments();
    for (unsigned i = 0; i < arguments; ++i)
      emitter.bindMemory(tensors.getArgument(i), loops.getArgument(i));
    emitter.chooseBuffers(tensors.front());
    SmallVector<Output> outputs;
    for (OpOperand &result : tensors.front().getTerminator()->getOpOperands())
      outputs.push_back(
          makeOutput(result.get(), loops.getArgument(arguments + result.getOperandNumber())));
    bool sumsAlone = alignToSums(outputs);
    int64_t groups = sumsAlone ? chooseGroups(outputs) : 1;
    if (options.keepsSums)
      for (Output &output : outputs)
        if (output.sum)
          output.sums = emitter.makeBuffer(groups * output.shape[2], output.type.getElementType());
    cutRows(outputs);
    SmallVector<int64_t> extents = chooseItems(outputs);

    unsigned end = loops.getNumArguments() - 1;
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop =
        scf::ForOp::create(builder, loc, loops.getArgument(end - 1), loops.getArgument(end), one);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    ElementEmitter::Scope scope(emitter);
    ElementIndex item = splitItem(loop.getInductionVar(), extents);
    for (const SmallVector<Output> &sharing : groupByLoops(outputs)) {
      group = sharing;
      AffineExpr linear = space.linearize(item, extents);
      ArrayRef<int64_t> shape = group.front().shape;
      if (groups > 1) {
        if (failed(emitGroupedSums(space.delinearize(linear, shape.take_front(1)).front(), groups)))
          return failure();
        continue;
      }
      size_t depth = 0;
      while (product(shape.take_front(depth)) != product(extents))
        ++depth;
      if (failed(emitNest(space.delinearize(linear, shape.take_front(depth)), /*guarded=*/false)))
        return failure();
    }
    return product(extents);
  }

private:
  Output makeOutput(Value tensor, Value memory) {
    Output output;
    output.tensor = tensor;
    output.type = typeOf(tensor);
    output.memory = memory;
    output.append = tensor.getDefiningOp<CacheAppendOp>();
    output.sum = tensor.getDefiningOp<ColumnSumOp>();
    if (output.append)
      output.tensor = output.append.getRows();
    if (output.sum) {
      output.tensor = output.sum.getOperand();
      ArrayRef<int64_t> shape = typeOf(output.tensor).getShape();
      output.shape = {product(shape.drop_back(2)), shape[shape.size() - 2], shape.back()};
      return output;
    }
    output.shape = SmallVector<int64_t>(typeOf(output.tensor).getShape());
    if (output.shape.empty())
      output.shape.push_back(1);
    if (output.append)
      return output;
    // Where a reduction's row changes inside the last dimension, that is two loops.
    ElementIndex index;
    for (int64_t extent : output.shape)
      index.push_back(space.addDim(nullptr, 0, extent));
    ElementIndex point(ArrayRef(index).take_front(output.type.getRank()));
    if (int64_t step = emitter.findRowChange(output.tensor, point, index.back());
        step > 1 && output.shape.back() % step == 0) {
      output.shape.back() /= step;
      output.shape.push_back(step);
    }
    return output;
  }

  /// Cuts the loops of other outputs where those of a sum's are, as far as they have whole rows
  /// for every block. Sums alone are cut into work items along their columns. Returns whether there
  /// are sums alone.
  bool alignToSums(MutableArrayRef<Output> outputs) {
    auto found = llvm::find_if(outputs, [](const Output &output) { return output.sum; });
    if (found == outputs.end())
      return false;
    SmallVector<int64_t> loops = found->shape;
    if (llvm::all_of(outputs, [&](const Output &output) {
          return output.sum && output.shape == loops && !hasReduction(output.tensor);
        })) {
      int64_t parts = 1;
      for (int64_t next = 2;
           loops[0] * parts < options.sumItems && loops[2] / next >= options.sumColumns; ++next)
        if (loops[2] % (next * 16) == 0)
          parts = next;
      for (Output &output : outputs) {
        output.parts = parts;
        output.shape = {loops[0] * parts, loops[1], loops[2] / parts};
      }
      return true;
    }
    for (Output &output : outputs) {
      bool whole = isPerRow(output.tensor);
      int64_t width = whole ? 1 : output.shape.back();
      int64_t rows = product(output.shape) / width;
      if (output.sum || output.append || rows % loops[0] != 0 ||
          ArrayRef(output.shape) != typeOf(output.tensor).getShape())
        continue;
      output.shape = {loops[0], rows / loops[0]};
      if (!whole)
        output.shape.push_back(width);
    }
    return false;
  }

  /// Cuts rows into pieces where there are few of them and nothing is reduced: more work items.
  void cutRows(MutableArrayRef<Output> outputs) {
    for (const Output &output : outputs)
      if (output.sum || output.append || output.shape.back() <= options.pieceColumns ||
          product(output.shape) / output.shape.back() >= options.pieces ||
          output.shape != outputs.front().shape || isPerRow(output.tensor) ||
          hasReduction(output.tensor))
        return;
    int64_t extent = outputs.front().shape.back(), piece = options.pieceColumns;
    while (extent % piece != 0)
      --piece;
    if (piece < options.pieceColumns / 8)
      return;
    for (Output &output : outputs) {
      output.shape.back() /= piece;
      output.shape.push_back(piece);
    }
  }

  /// Outputs of one nest of loops each, values a row first: where a row is written over an operand,
  /// all else that is made of the operand's row is there by then.
  static SmallVector<SmallVector<Output>> groupByLoops(ArrayRef<Output> outputs) {
    SmallVector<SmallVector<Output>> groups;
    for (bool perRow : {true, false})
      for (const Output &output : outputs) {
        if (isPerRow(output.tensor) != perRow)
          continue;
        auto sharing =
            llvm::find_if(groups, [&](auto &group) { return output.canShareLoops(group.front()); });
        if (sharing == groups.end())
          groups.push_back({output});
        else
          sharing->push_back(output);
      }
    return groups;
  }

  /// Whether an element of the tensor needs a whole row of another.
  static bool hasReduction(Value tensor) {
    SetVector<Value> open;
    open.insert(tensor);
    for (size_t i = 0; i < open.size(); ++i)
      if (Operation *op = open[i].getDefiningOp()) {
        if (isa<ReduceOp>(op))
          return true;
        open.insert(op->operand_begin(), op->operand_end());
      }
    return false;
  }

  /// Whether the tensor has one element a row of what is reduced or chosen from.
  static bool isPerRow(Value tensor) {
    SetVector<Value> open;
    open.insert(tensor);
    for (size_t i = 0; i < open.size(); ++i)
      if (Operation *op = open[i].getDefiningOp()) {
        if (isa<ReduceOp, PickOp>(op) &&
            typeOf(open[i]).getNumElements() == typeOf(tensor).getNumElements())
          return true;
        open.insert(op->operand_begin(), op->operand_end());
      }
    return false;
  }

  /// The extents of the dimensions that work items are numbered by.
  SmallVector<int64_t> chooseItems(ArrayRef<Output> outputs) {
    int64_t items = 0;
    SmallVector<SmallVector<int64_t>> prefixes;
    for (const Output &output : outputs) {
      SmallVector<int64_t> &products = prefixes.emplace_back();
      // Rows of a block add to one row.
      size_t last = output.sum ? 1 : output.shape.size() - !isPerRow(output.tensor);
      for (size_t rank = 0; rank <= last; ++rank)
        products.push_back(product(ArrayRef(output.shape).take_front(rank)));
    }
    for (int64_t candidate : prefixes.front())
      if (llvm::all_of(prefixes,
                       [&](auto &products) { return llvm::is_contained(products, candidate); }))
        items = std::max(items, candidate);
    // Cut the numbering wherever some result does, if the cuts are of one chain.
    SmallVector<int64_t> cuts;
    for (auto &products : prefixes)
      llvm::append_range(
          cuts, llvm::make_filter_range(products, [&](int64_t cut) { return cut <= items; }));
    llvm::sort(cuts);
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    SmallVector<int64_t> extents;
    for (size_t i = 1; i < cuts.size(); ++i) {
      if (cuts[i] % cuts[i - 1] != 0)
        return {items};
      extents.push_back(cuts[i] / cuts[i - 1]);
    }
    if (extents.empty())
      extents.push_back(1);
    return extents;
  }

  /// The dimensions of work item number `item`.
  ElementIndex splitItem(Value item, ArrayRef<int64_t> extents) {
    ElementIndex index(extents.size());
    for (size_t i = extents.size(); i-- > 0;) {
      if (extents[i] == 1) {
        index[i] = space.constant(0);
        continue;
      }
      Value value = item;
      if (product(extents.take_front(i)) > 1) {
        Value extent = arith::ConstantIndexOp::create(builder, loc, extents[i]);
        value = arith::RemUIOp::create(builder, loc, item, extent);
        item = arith::DivUIOp::create(builder, loc, item, extent);
      }
      index[i] = space.addDim(value, 0, extents[i]);
    }
    return index;
  }

  /// The index of an output's tensor at a point of the loops.
  ElementIndex toTensorIndex(const Output &output, ArrayRef<AffineExpr> point) {
    ArrayRef<int64_t> shape = typeOf(output.tensor).getShape();
    if (shape == ArrayRef(output.shape))
      return ElementIndex(point);
    if (output.sum) {
      auto [block, column] = splitPart(output, point);
      int64_t blocks = output.shape[0] / output.parts, columns = output.shape[2] * output.parts;
      AffineExpr linear =
          space.linearize({block, point[1], column}, {blocks, output.shape[1], columns});
      return space.delinearize(linear, shape);
    }
    return space.delinearize(space.linearize(point, output.shape), shape);
  }

  /// The block of rows and the column of a point of a sum's loops.
  std::pair<AffineExpr, AffineExpr> splitPart(const Output &output, ArrayRef<AffineExpr> point) {
    AffineExpr part = point[0] % output.parts;
    return {space.simplify(point[0].floorDiv(output.parts)),
            space.simplify(part * output.shape[2] + point[2])};
  }

  /// Where a sum accumulates: the index in the result for a point of its loops.
  ElementIndex toSumIndex(const Output &output, ArrayRef<AffineExpr> point) {
    auto [block, column] = splitPart(output, point);
    ElementIndex index = space.delinearize(block, output.type.getShape().drop_back());
    index.push_back(column);
    return index;
  }

  /// Groups that the rows of sums alone are added in: a power of two that leaves rows to each; one
  /// where buffers for several would be too large.
  int64_t chooseGroups(ArrayRef<Output> sums) const {
    int64_t groups = 1, bytes = 0;
    while (groups * 2 <= options.sumGroups && groups * 8 <= sums.front().shape[1])
      groups *= 2;
    for (const Output &sum : sums)
      bytes += groups * sum.shape[2] * sum.type.getElementTypeBitWidth() / 8;
    return options.keepsSums && bytes <= options.bufferBytes ? groups : 1;
  }

  /// Sums alone: every group of rows is added for itself, then the groups in their order.
  LogicalResult emitGroupedSums(AffineExpr item, int64_t groups) {
    int64_t rows = group.front().shape[1], width = group.front().shape[2];
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    SmallVector<Value> zeros;
    for (const Output &output : group)
      zeros.push_back(arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(output.type.getElementType(), 0.0)));
    // A loop over parallel steps: in each, the terms of the loop inside are added and stored.
    auto emitSteps = [&](int64_t extent, auto makeLoop, auto emitTerm,
                         auto store) -> LogicalResult {
      auto loop = scf::ForOp::create(builder, loc, index(0), index(extent), index(1));
      loop->setAttr(kParallelAttribute, builder.getUnitAttr());
      OpBuilder::InsertionGuard after(builder);
      builder.setInsertionPoint(loop.getBody()->getTerminator());
      ElementEmitter::Scope scope(emitter);
      AffineExpr step = space.addDim(loop.getInductionVar(), 0, extent);
      scf::ForOp inner = makeLoop(step);
      {
        OpBuilder::InsertionGuard afterInner(builder);
        builder.setInsertionPointToStart(inner.getBody());
        ElementEmitter::Scope innerScope(emitter);
        SmallVector<Value> next;
        for (auto [output, sum] : llvm::zip_equal(group, inner.getRegionIterArgs())) {
          FailureOr<Value> term = emitTerm(output, step, inner.getInductionVar());
          if (failed(term))
            return failure();
          next.push_back(arith::AddFOp::create(builder, loc, sum, *term));
        }
        scf::YieldOp::create(builder, loc, next);
      }
      for (auto [output, sum] : llvm::zip_equal(group, inner.getResults()))
        store(output, step, sum);
      return success();
    };
    auto overRows = [&](AffineExpr step) {
      Value first = space.materialize(builder, loc, space.simplify(step.floorDiv(width)));
      return scf::ForOp::create(builder, loc, first, index(rows), index(groups), zeros);
    };
    auto emitElement = [&](const Output &output, AffineExpr step, Value row) {
      AffineExpr column = space.simplify(step % width);
      return emitter.emit(output.tensor,
                          toTensorIndex(output, {item, space.addDim(row, 0, rows), column}));
    };
    auto keep = [&](const Output &output, AffineExpr step, Value sum) {
      memref::StoreOp::create(builder, loc, sum, output.sums,
                              space.materialize(builder, loc, step));
    };
    auto overGroups = [&](AffineExpr) {
      return scf::ForOp::create(builder, loc, index(0), index(groups), index(1), zeros);
    };
    auto emitPart = [&](const Output &output, AffineExpr column, Value part) -> FailureOr<Value> {
      AffineExpr place = space.simplify(space.addDim(part, 0, groups) * width + column);
      return memref::LoadOp::create(builder, loc, output.sums,
                                    space.materialize(builder, loc, place))
          .getResult();
    };
    auto finish = [&](const Output &output, AffineExpr column, Value sum) {
      emitter.store(sum, output.memory, output.type,
                    toSumIndex(output, {item, space.constant(0), column}));
    };
    if (failed(emitSteps(groups * width, overRows, emitElement, keep)))
      return failure();
    return emitSteps(width, overGroups, emitPart, finish);
  }

  /// Runs `emit` in a loop over the columns of a sum, with the counter and its dimension.
  void forColumns(const Output &output, llvm::function_ref<void(Value, AffineExpr)> emit) {
    auto index = [&](int64_t value) -> Value {
      return arith::ConstantIndexOp::create(builder, loc, value);
    };
    auto loop = scf::ForOp::create(builder, loc, index(0), index(output.shape[2]), index(1));
    OpBuilder::InsertionGuard after(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    Value counter = loop.getInductionVar();
    emit(counter, space.addDim(counter, 0, output.shape[2]));
  }

  /// The rows that sums of a block accumulate in begin as zeros.
  void emitZeros(ArrayRef<AffineExpr> point) {
    for (const Output &output : group) {
      if (!output.sum)
        continue;
      forColumns(output, [&](Value counter, AffineExpr column) {
        Value zero = arith::ConstantOp::create(
            builder, loc, builder.getFloatAttr(output.type.getElementType(), 0.0));
        if (output.sums)
          memref::StoreOp::create(builder, loc, zero, output.sums, counter);
        else
          emitter.store(zero, output.memory, output.type,
                        toSumIndex(output, {point[0], space.constant(0), column}));
      });
    }
  }

  /// Sums that were kept in a buffer go where they belong.
  void emitSums(ArrayRef<AffineExpr> point) {
    for (const Output &output : group) {
      if (!output.sums)
        continue;
      forColumns(output, [&](Value counter, AffineExpr column) {
        Value sum = memref::LoadOp::create(builder, loc, output.sums, counter);
        emitter.store(sum, output.memory, output.type,
                      toSumIndex(output, {point[0], space.constant(0), column}));
      });
    }
  }

  /// Emits what the elements of all of the group's outputs need and what is the same for all
  /// values of the dimensions after `point`.
  LogicalResult prepareFor(ArrayRef<AffineExpr> point, std::pair<int64_t, int64_t> next) {
    ElementIndex whole(point);
    for (size_t i = point.size(); i < group.front().shape.size(); ++i) {
      auto [lower, upper] =
          i == point.size() ? next : std::pair(int64_t{0}, group.front().shape[i]);
      whole.push_back(space.addDim(nullptr, lower, upper));
    }
    auto dims = ArrayRef(whole).drop_front(point.size());
    for (const Output &output : group)
      if (failed(emitter.prepare(output.tensor, toTensorIndex(output, whole), dims)))
        return failure();
    return success();
  }

  /// Loops over the dimensions after `point`, then the stores.
  LogicalResult emitNest(const ElementIndex &point, bool guarded) {
    OpBuilder::InsertionGuard restore(builder);
    if (group.front().append && !guarded && point.size() >= 2)
      return emitGuarded(point);
    if (point.size() != 1)
      return emitLoops(point, guarded);
    emitZeros(point);
    if (failed(emitLoops(point, guarded)))
      return failure();
    emitSums(point);
    return success();
  }

  LogicalResult emitLoops(ElementIndex point, bool guarded) {
    const Output &first = group.front();
    size_t depth = point.size();
    if (depth == first.shape.size())
      return emitStores(point);
    if (first.shape[depth] == 1) {
      point.push_back(space.constant(0));
      return emitNest(point, guarded);
    }
    SmallVector<std::pair<int64_t, int64_t>> segments{{0, first.shape[depth]}};
    if (depth + 1 == first.shape.size()) {
      SmallVector<Value> roots;
      for (const Output &output : group)
        roots.push_back(output.tensor);
      auto makeIndex = [&](Value tensor, AffineExpr column) {
        ElementIndex whole(point);
        whole.push_back(column);
        auto output = llvm::find_if(group, [&](const Output &o) { return o.tensor == tensor; });
        return toTensorIndex(*output, whole);
      };
      segments = emitter.getSegments(roots, makeIndex, first.shape[depth]);
    }
    for (auto [lower, upper] : segments) {
      if (failed(prepareFor(point, {lower, upper})))
        return failure();
      Value from = arith::ConstantIndexOp::create(builder, loc, lower);
      Value to = arith::ConstantIndexOp::create(builder, loc, upper);
      Value one = arith::ConstantIndexOp::create(builder, loc, 1);
      auto loop = scf::ForOp::create(builder, loc, from, to, one);
      OpBuilder::InsertionGuard after(builder);
      builder.setInsertionPoint(loop.getBody()->getTerminator());
      ElementEmitter::Scope scope(emitter);
      ElementIndex inner(point);
      inner.push_back(space.addDim(loop.getInductionVar(), lower, upper));
      if (failed(emitNest(inner, guarded)))
        return failure();
    }
    return success();
  }

  /// A cache's rows are written where the chunk is valid and the cache has room.
  LogicalResult emitGuarded(ElementIndex point) {
    CacheAppendOp append = group.front().append;
    FailureOr<Value> start = emitter.emitIndex(append.getStart(), point[0]);
    FailureOr<Value> count = emitter.emitIndex(append.getCount(), point[0]);
    if (failed(start) || failed(count))
      return failure();
    int64_t maxSequence = append.getType().getDimSize(1);
    Value t = space.materialize(builder, loc, point[1]);
    Value position = arith::AddIOp::create(builder, loc, *start, t);
    auto isBelow = [&](arith::CmpIPredicate predicate, Value value, Value limit) -> Value {
      return arith::CmpIOp::create(builder, loc, predicate, value, limit);
    };
    Value isValid = isBelow(arith::CmpIPredicate::slt, t, *count);
    // Unsigned, so that no number can name memory before the cache.
    Value fits = isBelow(arith::CmpIPredicate::ult, position,
                         arith::ConstantIndexOp::create(builder, loc, maxSequence));
    auto guard =
        scf::IfOp::create(builder, loc, arith::AndIOp::create(builder, loc, isValid, fits));
    builder.setInsertionPoint(guard.thenYield());
    ElementEmitter::Scope scope(emitter);
    cachePosition = space.addDim(position, 0, maxSequence);
    return emitNest(point, /*guarded=*/true);
  }

  LogicalResult emitStores(ArrayRef<AffineExpr> point) {
    // All loads come before the first store.
    SmallVector<Value> elements;
    for (const Output &output : group) {
      FailureOr<Value> element = emitter.emit(output.tensor, toTensorIndex(output, point));
      if (failed(element))
        return failure();
      elements.push_back(*element);
    }
    for (auto [output, element] : llvm::zip_equal(group, elements)) {
      if (output.sum) {
        ElementIndex index = toSumIndex(output, point);
        if (output.sums) {
          Value column = space.materialize(builder, loc, point[2]);
          Value sum = memref::LoadOp::create(builder, loc, output.sums, column);
          memref::StoreOp::create(builder, loc, arith::AddFOp::create(builder, loc, sum, element),
                                  output.sums, column);
          continue;
        }
        Value sum = emitter.load(output.memory, output.type, index);
        emitter.store(arith::AddFOp::create(builder, loc, sum, element), output.memory, output.type,
                      index);
        continue;
      }
      ElementIndex index = toTensorIndex(output, point);
      if (output.append)
        index[1] = cachePosition;
      emitter.store(element, output.memory, output.type, index);
    }
    return success();
  }

  func::FuncOp tensors, loops;
  OpBuilder builder;
  Location loc;
  const RowsOptions &options;
  IndexSpace space;
  ElementEmitter emitter;
  ArrayRef<Output> group;
  AffineExpr cachePosition;
};
} // namespace

/// Replaces every op that has a formula by it.
static void decomposeAll(func::FuncOp function) {
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (auto composed = dyn_cast<ComposedOpInterface>(op)) {
      OpBuilder builder(&op);
      op.replaceAllUsesWith(composed.decompose(builder));
      op.erase();
    }
}

FailureOr<int64_t> sinter::lowerRowsKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                           const RowsOptions &options) {
  for (Operation &op : tensorKernel.front().without_terminator())
    if (!ElementEmitter::supports(&op) &&
        !isa<CacheAppendOp, ColumnSumOp, ComposedOpInterface>(&op))
      return op.emitError("expected an op that a rows kernel can compute");
  if (tensorKernel.getNumResults() == 0)
    return tensorKernel.emitError("expected a kernel with results");
  OwningOpRef<func::FuncOp> tensors = tensorKernel.clone();
  decomposeAll(*tensors);
  // A loss and its gradient are reduced from the same rows.
  IRRewriter rewriter(tensors->getContext());
  DominanceInfo dominance(*tensors);
  eliminateCommonSubExpressions(rewriter, dominance, *tensors);
  return RowsGenerator(*tensors, loopKernel, options).run();
}
