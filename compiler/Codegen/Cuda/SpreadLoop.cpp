#include "compiler/Codegen/Cuda/SpreadLoop.h"
#include "compiler/Codegen/Cuda/Kernels.h"
#include "compiler/Codegen/Cuda/ThreadLoops.h"
#include "compiler/Codegen/Loops/LoopStride.h"
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
      loaded[load] =
          vector::LoadOp::create(builder, loc, VectorType::get({lanes}, load.getType()),
                                 load.getMemRef(), cloneIndex(load.getIndices().front(), first));
    SmallVector<Value> initial(carried);
    for (memref::StoreOp store : vectors.stores)
      initial.push_back(ub::PoisonOp::create(
          builder, loc, VectorType::get({lanes}, store.getValueToStore().getType())));
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
      SmallVector<Value> next(arguments);
      cloneBody(mapping, k, lane, vectors.stores, [&](size_t store, Value value) {
        Value &row = next[carried.size() + store];
        row = vector::InsertOp::create(builder, loc, value, row, OpFoldResult(lane));
      });
      for (auto [i, combine] : llvm::enumerate(combines))
        next[i] = vector::InsertOp::create(builder, loc, mapping.lookup(combine->getResult(0)),
                                           arguments[i], OpFoldResult(lane));
      if (!next.empty())
        scf::YieldOp::create(builder, loc, next);
    }
    ValueRange results = inner.getResults();
    for (auto [store, value] : llvm::zip_equal(vectors.stores, results.drop_front(carried.size())))
      vector::StoreOp::create(builder, loc, value, store.getMemRef(),
                              cloneIndex(store.getIndices().front(), first));
    return SmallVector<Value>(results.take_front(carried.size()));
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
  };

  /// The accesses of neighbours by neighbouring lanes that are aligned to a vector.
  VectorAccesses collectVectors() {
    VectorAccesses found;
    Value counter = loop.getInductionVar();
    for (Operation &op : loop.getBody()->without_terminator()) {
      std::optional<Access> access = Access::of(&op);
      if (!access)
        continue;
      Operation *buffer = access->memory.getDefiningOp();
      bool wide = !(buffer && buffer->hasAttr(kRegistersAttribute)) &&
                  getStride(access->index, counter) == 1 &&
                  getDivisor(access->index, counter, lanes) % lanes == 0 &&
                  !(buffer && item.perBlock > 1 &&
                    cast<memref::AllocaOp>(buffer).getType().getNumElements() % lanes != 0);
      if (wide && access->writes)
        found.stores.push_back(cast<memref::StoreOp>(op));
      else if (wide)
        found.loads.push_back(cast<memref::LoadOp>(op));
    }
    return found;
  }

  /// The value of an index with the loop's counter mapped.
  Value cloneIndex(Value index, IRMapping &mapping) {
    if (Value known = mapping.lookupOrNull(index))
      return known;
    Operation *op = index.getDefiningOp();
    if (!op || op->getBlock() != loop.getBody())
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
