#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace sinter;

Value sinter::emitAffine(OpBuilder &builder, Location loc, AffineExpr expr, ValueRange dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto number = dyn_cast<AffineConstantExpr>(expr))
    return arith::ConstantIndexOp::create(builder, loc, number.getValue());
  return affine::AffineApplyOp::create(builder, loc, AffineMap::get(dims.size(), 0, expr), dims);
}

namespace {
class LoopSpreader {
public:
  LoopSpreader(scf::ForOp loop, const ItemThreads &item)
      : loop(loop), builder(loop), loc(loop.getLoc()), range(*getRange(loop)), item(item),
        lanes(getLanes(loop)), step(item.threads * lanes),
        end(range.upper - range.getExtent() % lanes) {}

  void run() {
    int64_t steps = llvm::divideCeil(end - range.lower, step);
    SmallVector<Operation *> combines;
    SmallVector<Value> initial;
    for (Value next : cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperands()) {
      combines.push_back(next.getDefiningOp());
      initial.push_back(makePartial(next.getDefiningOp()));
    }
    // One step, number `k` (null for the only one): the body for the lanes from an element on, if
    // there are that many.
    auto emitStep = [&](Value k, ValueRange carried) -> SmallVector<Value> {
      AffineExpr first = builder.getAffineConstantExpr(range.lower);
      SmallVector<Value> dims;
      if (k) {
        first = dim(0) * step + first;
        dims.push_back(k);
      }
      if (item.thread) {
        first = first + dim(dims.size()) * lanes;
        dims.push_back(item.thread);
      }
      Value element = apply(first, dims);
      auto emitBody = [&] { return emitLanes(combines, element, k, carried); };
      if ((end - range.lower) % step == 0)
        return emitBody();
      return emitBelow(element, end, carried, emitBody);
    };
    SmallVector<Value> partial;
    if (steps == 1) {
      partial = emitStep(nullptr, initial);
    } else {
      auto outer =
          scf::ForOp::create(builder, loc, constant(0), constant(steps), constant(1), initial);
      outer->setAttr(kUnrollAttribute, loop->getAttr(kUnrollAttribute));
      OpBuilder::InsertionGuard after(builder);
      builder.setInsertionPointToStart(outer.getBody());
      SmallVector<Value> next = emitStep(outer.getInductionVar(), outer.getRegionIterArgs());
      if (!next.empty())
        scf::YieldOp::create(builder, loc, next);
      partial.assign(outer.getResults().begin(), outer.getResults().end());
    }
    if (end != range.upper)
      partial = emitRest(combines, partial);
    for (auto [result, combine, init, value] :
         llvm::zip_equal(loop.getResults(), combines, loop.getInitArgs(), partial))
      result.replaceAllUsesWith(reduce(combine, init, value));
    loop.erase();
  }

private:
  /// An op that chooses, the same for all lanes, between loads whose elements are all converted
  /// alike: of several tensors side by side, the one that the lanes are in.
  struct RowChoice {
    scf::IfOp op;
    SmallVector<memref::LoadOp> loads;
    SmallVector<Operation *> conversions; ///< of the first load's element, in order
  };

  /// What `emitBody` emits and carries on, under the condition that an element is below a bound.
  SmallVector<Value> emitBelow(Value element, int64_t bound, ValueRange carried,
                               llvm::function_ref<SmallVector<Value>()> emitBody) {
    Value inside =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, element, constant(bound));
    auto guard = scf::IfOp::create(builder, loc, carried.getTypes(), inside,
                                   /*withElseRegion=*/!carried.empty());
    OpBuilder::InsertionGuard after(builder);
    builder.setInsertionPointToStart(guard.thenBlock());
    SmallVector<Value> next = emitBody();
    if (carried.empty())
      return {};
    scf::YieldOp::create(builder, loc, next);
    builder.setInsertionPointToStart(guard.elseBlock());
    scf::YieldOp::create(builder, loc, carried);
    return SmallVector<Value>(guard.getResults());
  }

  /// The elements behind the last whole vector, one for each of the first threads, after the lanes
  /// of what is carried on have been combined.
  SmallVector<Value> emitRest(ArrayRef<Operation *> combines, ArrayRef<Value> partial) {
    SmallVector<Value> carried;
    for (auto [combine, value] : llvm::zip_equal(combines, partial))
      carried.push_back(reduceLanes(combine, value));
    Value element = apply(dim(0) + end, item.thread);
    return emitBelow(element, range.upper, carried,
                     [&] { return emitElement(element, nullptr, carried); });
  }

  /// The body for one element, in step `k` (or null); returns what is carried on.
  SmallVector<Value> emitElement(Value element, Value k, ValueRange carried) {
    IRMapping mapping;
    mapping.map(loop.getInductionVar(), element);
    mapping.map(loop.getRegionIterArgs(), carried);
    cloneBody(mapping, k, nullptr, {}, nullptr);
    SmallVector<Value> next;
    for (Value value : cast<scf::YieldOp>(loop.getBody()->getTerminator()).getOperands())
      next.push_back(mapping.lookupOrDefault(value));
    return next;
  }

  /// The body for `lanes` elements from `element` on, in step `k` (or null); returns what is
  /// carried on.
  SmallVector<Value> emitLanes(ArrayRef<Operation *> combines, Value element, Value k,
                               ValueRange carried) {
    if (lanes == 1)
      return emitElement(element, k, carried);
    // Neighbours come and go in vectors.
    IRMapping mapping;
    VectorAccesses vectors = collectVectors();
    IRMapping first;
    first.map(loop.getInductionVar(), element);
    llvm::MapVector<Operation *, Value> loaded;
    for (memref::LoadOp load : vectors.loads)
      loaded[load] = loadRow(load, first);
    for (RowChoice &choice : vectors.choices)
      loaded[choice.op] = emitChoice(choice.op, choice.loads.front().getType(), first);
    // Where elements only move, so does their vector. What the others store the lanes make.
    SmallVector<Value> initial(carried), rows;
    for (memref::StoreOp store : vectors.stores) {
      rows.push_back(findMoved(store, loaded, vectors.choices));
      if (!rows.back())
        initial.push_back(ub::PoisonOp::create(
            builder, loc, VectorType::get({lanes}, store.getValueToStore().getType())));
    }
    auto inner =
        scf::ForOp::create(builder, loc, constant(0), constant(lanes), constant(1), initial);
    inner->setAttr(kUnrollAttribute, builder.getI64IntegerAttr(lanes));
    {
      OpBuilder::InsertionGuard after(builder);
      builder.setInsertionPointToStart(inner.getBody());
      Value lane = inner.getInductionVar();
      ValueRange arguments = inner.getRegionIterArgs();
      mapping.map(loop.getInductionVar(), apply(dim(0) + dim(1), {element, lane}));
      for (auto [argument, partial] :
           llvm::zip(loop.getRegionIterArgs(), arguments.take_front(carried.size())))
        mapping.map(
            argument,
            vector::ExtractOp::create(builder, loc, partial, OpFoldResult(lane)).getResult());
      for (auto [load, value] : loaded)
        mapping.map(load->getResult(0),
                    vector::ExtractOp::create(builder, loc, value, OpFoldResult(lane)).getResult());
      for (const RowChoice &choice : vectors.choices)
        convert(choice, mapping);
      SmallVector<Value> next(arguments);
      size_t made = carried.size();
      cloneBody(mapping, k, lane, vectors.stores, [&](size_t store, Value value) {
        if (rows[store])
          return;
        Value &row = next[made++];
        row = vector::InsertOp::create(builder, loc, value, row, OpFoldResult(lane));
      });
      for (auto [i, combine] : llvm::enumerate(combines))
        next[i] = vector::InsertOp::create(builder, loc, mapping.lookup(combine->getResult(0)),
                                           arguments[i], OpFoldResult(lane));
      if (!next.empty())
        scf::YieldOp::create(builder, loc, next);
    }
    ValueRange results = inner.getResults(), made = results.drop_front(carried.size());
    for (auto [store, row] : llvm::zip_equal(vectors.stores, rows)) {
      if (!row) {
        row = made.front();
        made = made.drop_front();
      }
      vector::StoreOp::create(builder, loc, row, store.getMemRef(),
                              cloneIndex(store.getIndices().front(), first));
    }
    return SmallVector<Value>(results.take_front(carried.size()));
  }

  /// The vector, of those that are loaded, that a store moves as it is; null where there is none.
  static Value findMoved(memref::StoreOp store, const llvm::MapVector<Operation *, Value> &loaded,
                         ArrayRef<RowChoice> choices) {
    Value element = store.getValueToStore();
    Operation *source = element.getDefiningOp();
    auto narrow = dyn_cast_or_null<arith::TruncFOp>(source);
    if (narrow)
      source = narrow.getIn().getDefiningOp();
    // A chosen element that was widened is stored as it was, as in cloneBody(); what was narrowed
    // and then widened was rounded.
    const auto *choice =
        llvm::find_if(choices, [&](const RowChoice &each) { return each.op == source; });
    if (choice != choices.end() && !(narrow ? llvm::hasSingleElement(choice->conversions) &&
                                                  isa<arith::ExtFOp>(choice->conversions.front())
                                            : choice->conversions.empty()))
      return {};
    Value row = loaded.lookup(source);
    return row && getElementTypeOrSelf(row) == element.getType() ? row : Value();
  }

  /// Clones the body of a loop for one lane. `stores` are not made but told to `keep`; loads that
  /// are mapped already are there.
  void cloneBody(IRMapping &mapping, Value k, Value lane, ArrayRef<memref::StoreOp> stores,
                 llvm::function_ref<void(size_t, Value)> keep) {
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (op.getNumResults() == 1 && mapping.contains(op.getResult(0)))
        continue;
      auto kept = llvm::find(stores, dyn_cast<memref::StoreOp>(op));
      if (isa<memref::StoreOp>(op) && kept != stores.end()) {
        keep(kept - stores.begin(),
             mapping.lookupOrDefault(memref::StoreOp(*kept).getValueToStore()));
        continue;
      }
      // A chosen element that was widened is stored as it was.
      if (auto narrow = dyn_cast<arith::TruncFOp>(op))
        if (auto wide = mapping.lookupOrDefault(narrow.getIn()).getDefiningOp<arith::ExtFOp>();
            wide && wide.getIn().getType() == narrow.getType()) {
          mapping.map(narrow.getResult(), wide.getIn());
          continue;
        }
      Operation *copy = builder.clone(op, mapping);
      copy->walk([&](Operation *inner) { useOwn(inner, k, lane); });
    }
  }

  /// Element i of a buffer in registers is the thread's own element (k, lane).
  void useOwn(Operation *op, Value k, Value lane) {
    std::optional<Access> access = Access::of(op);
    Operation *buffer = access ? access->memory.getDefiningOp() : nullptr;
    if (!buffer || !buffer->hasAttr(kRegistersAttribute))
      return;
    OpBuilder::InsertionGuard after(builder);
    builder.setInsertionPoint(op);
    Value index = !k ? lane : !lane ? k : apply(dim(0) * lanes + dim(1), {k, lane});
    if (!index)
      index = constant(0);
    if (auto load = dyn_cast<memref::LoadOp>(op))
      load.getIndicesMutable().assign(index);
    else
      cast<memref::StoreOp>(op).getIndicesMutable().assign(index);
  }

  struct VectorAccesses {
    SmallVector<memref::LoadOp> loads;
    SmallVector<memref::StoreOp> stores;
    SmallVector<RowChoice> choices;
  };

  /// The accesses of neighbours by neighbouring lanes that are aligned to a vector.
  VectorAccesses collectVectors() {
    VectorAccesses found;
    for (Operation &op : loop.getBody()->without_terminator()) {
      RowChoice choice{dyn_cast<scf::IfOp>(op), {}, {}};
      if (choice.op && collectChoice(choice.op, choice))
        found.choices.push_back(std::move(choice));
      std::optional<Access> access = Access::of(&op);
      bool wide = access && isWide(*access);
      if (wide && access->writes)
        found.stores.push_back(cast<memref::StoreOp>(op));
      else if (wide)
        found.loads.push_back(cast<memref::LoadOp>(op));
    }
    return found;
  }

  bool isWide(const Access &access) {
    Operation *buffer = access.memory.getDefiningOp();
    return !(buffer && buffer->hasAttr(kRegistersAttribute)) && isRow(access.index) &&
           !(buffer && item.perBlock > 1 &&
             cast<memref::AllocaOp>(buffer).getType().getNumElements() % lanes != 0);
  }

  /// Whether an index is a multiple of the lanes at the first one and grows by one a lane.
  bool isRow(Value index) {
    Value counter = loop.getInductionVar();
    return getLaneStride(index, counter, lanes) == 1 &&
           getDivisor(index, counter, lanes) % lanes == 0;
  }

  /// Whether an op, or one inside of the choice, chooses between loads as RowChoice says, which
  /// is given them.
  bool collectChoice(scf::IfOp op, RowChoice &choice) {
    auto condition = op.getCondition().getDefiningOp<arith::CmpIOp>();
    APInt bound;
    if (op.getNumResults() != 1 || !condition ||
        condition.getPredicate() != arith::CmpIPredicate::slt ||
        !matchPattern(condition.getRhs(), m_ConstantInt(&bound)))
      return false;
    Value place = condition.getLhs();
    if (getLaneStride(place, loop.getInductionVar(), lanes) != 0 &&
        (!isRow(place) || bound.getSExtValue() % lanes != 0))
      return false;
    return llvm::all_of(ArrayRef{op.thenYield(), op.elseYield()}, [&](scf::YieldOp yield) {
      Operation *source = yield.getOperand(0).getDefiningOp();
      if (!source || source->getBlock() != yield->getBlock())
        return false;
      if (auto inner = dyn_cast<scf::IfOp>(source))
        return collectChoice(inner, choice);
      SmallVector<Operation *> conversions;
      for (; source && isa<arith::ExtFOp, arith::TruncFOp>(source);
           source = source->getOperand(0).getDefiningOp())
        conversions.insert(conversions.begin(), source);
      auto load = dyn_cast_or_null<memref::LoadOp>(source);
      if (!load || !isWide(*Access::of(load)))
        return false;
      if (choice.loads.empty())
        choice.conversions = conversions;
      choice.loads.push_back(load);
      return load.getType() == choice.loads.front().getType() &&
             llvm::equal(conversions, choice.conversions, [](Operation *own, Operation *other) {
               return own->getName() == other->getName() &&
                      own->getResultTypes() == other->getResultTypes();
             });
    });
  }

  /// The vector that a load loads at the element that the counter is mapped to.
  Value loadRow(memref::LoadOp load, IRMapping &mapping) {
    return vector::LoadOp::create(builder, loc, VectorType::get({lanes}, load.getType()),
                                  load.getMemRef(), cloneIndex(load.getIndices().front(), mapping));
  }

  /// The vector of elements that is chosen there, before they are converted.
  Value emitChoice(scf::IfOp op, Type element, IRMapping &mapping) {
    auto choice = scf::IfOp::create(builder, loc, VectorType::get({lanes}, element),
                                    cloneIndex(op.getCondition(), mapping),
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard after(builder);
    for (auto [block, yield] :
         {std::pair(choice.thenBlock(), op.thenYield()), {choice.elseBlock(), op.elseYield()}}) {
      builder.setInsertionPointToEnd(block);
      IRMapping own = mapping;
      Operation *source = yield.getOperand(0).getDefiningOp();
      while (isa<arith::ExtFOp, arith::TruncFOp>(source))
        source = source->getOperand(0).getDefiningOp();
      auto inner = dyn_cast<scf::IfOp>(source);
      Value row =
          inner ? emitChoice(inner, element, own) : loadRow(cast<memref::LoadOp>(source), own);
      scf::YieldOp::create(builder, loc, row);
    }
    return choice.getResult(0);
  }

  /// Makes of a lane's element as it was loaded, which the choice is mapped to, what it is
  /// converted to.
  void convert(const RowChoice &choice, IRMapping &mapping) {
    Value result = choice.op->getResult(0), element = mapping.lookup(result);
    for (Operation *conversion : choice.conversions) {
      IRMapping operand;
      operand.map(conversion->getOperand(0), element);
      element = builder.clone(*conversion, operand)->getResult(0);
    }
    mapping.map(result, element);
  }

  /// The value of an index with the loop's counter mapped.
  Value cloneIndex(Value index, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(index))
      return known;
    Operation *op = index.getDefiningOp();
    if (!op || !loop->isProperAncestor(op))
      return index;
    for (Value operand : op->getOperands())
      cloneIndex(operand, mapping);
    return builder.clone(*op, mapping)->getResult(0);
  }

  //===--------------------------------------------------------------------===//
  // Sums and maxima
  //===--------------------------------------------------------------------===//

  /// What a thread's partial sum or maximum begins with.
  Value makePartial(Operation *combine) {
    auto type = cast<FloatType>(combine->getResult(0).getType());
    APFloat neutral = isa<arith::AddFOp>(combine)
                          ? APFloat::getZero(type.getFloatSemantics())
                          : APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
    Value scalar = arith::ConstantOp::create(builder, loc, FloatAttr::get(type, neutral));
    if (lanes == 1)
      return scalar;
    return vector::BroadcastOp::create(builder, loc, VectorType::get({lanes}, type), scalar);
  }

  /// The partial results of a thread's lanes, combined.
  Value reduceLanes(Operation *combine, Value value) {
    if (!isa<VectorType>(value.getType()))
      return value;
    return vector::ReductionOp::create(
        builder, loc,
        isa<arith::AddFOp>(combine) ? vector::CombiningKind::ADD : vector::CombiningKind::MAXIMUMF,
        value);
  }

  /// The partial results of all threads and lanes and what the loop began with, combined.
  Value reduce(Operation *combine, Value init, Value value) {
    bool isSum = isa<arith::AddFOp>(combine);
    value = reduceLanes(combine, value);
    auto operation = isSum ? gpu::AllReduceOperation::ADD : gpu::AllReduceOperation::MAXIMUMF;
    if (item.threads > 32)
      value = gpu::AllReduceOp::create(
          builder, loc, value, gpu::AllReduceOperationAttr::get(builder.getContext(), operation),
          /*uniform=*/true);
    else if (item.threads > 1)
      value = gpu::SubgroupReduceOp::create(builder, loc, value, operation, /*uniform=*/true,
                                            static_cast<uint32_t>(item.threads));
    if (isSum ? matchPattern(init, m_AnyZeroFloat()) : matchPattern(init, m_NegInfFloat()))
      return value;
    if (isSum)
      return arith::AddFOp::create(builder, loc, init, value);
    return arith::MaximumFOp::create(builder, loc, init, value);
  }

  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value apply(AffineExpr expr, ValueRange dims) { return emitAffine(builder, loc, expr, dims); }
  AffineExpr dim(unsigned position) { return builder.getAffineDimExpr(position); }

  scf::ForOp loop;
  OpBuilder builder;
  Location loc;
  LoopRange range;
  const ItemThreads &item;
  /// Elements of one step, this thread's and all threads', and the end of those in whole vectors.
  int64_t lanes, step, end;
};
} // namespace

void sinter::spreadLoop(scf::ForOp loop, const ItemThreads &item) {
  LoopSpreader(loop, item).run();
}
