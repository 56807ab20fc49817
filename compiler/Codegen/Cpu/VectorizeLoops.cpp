#include "compiler/Codegen/Cpu/InnermostLoops.h"
#include "compiler/Codegen/Cpu/LaneLoads.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/LoopCombines.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_VECTORIZELOOPSPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// A loop that can be run in vectors: its bounds are constants, what its vectors access is at fixed
/// distances or one element, and what it carries are sums and maxima.
class LoopVectorizer {
public:
  LoopVectorizer(scf::ForOp loop, const TargetAttr &target) : loop(loop), target(target) {}

  /// The reason why the loop stays as it is, or nothing.
  std::string check() {
    std::optional<int64_t> from = getConstantIntValue(loop.getLowerBound()),
                           to = getConstantIntValue(loop.getUpperBound());
    if (!from || !to || getConstantIntValue(loop.getStep()) != 1)
      return "its bounds are not known";
    lower = *from;
    upper = *to;
    for (Operation &op : loop.getBody()->without_terminator())
      if (std::string reason = checkOp(op); !reason.empty())
        return reason;
    auto found = findCombines(loop);
    if (!found)
      return "it carries a value that is neither a sum nor a maximum";
    combines = std::move(*found);
    lanes = target.getVectorBits() / std::max<int64_t>(widest, 32);
    if (upper - lower < 2)
      return "it is too short";
    if (!llvm::all_of(counted, [&](Value number) { return getOffsets(number); }))
      return "it computes with its counter";
    // What is summed is always summed in vectors, so that the order of a sum does not depend on
    // what it is fused with; elsewhere lanes that compute their own addresses do not pay.
    for (auto load : loop.getBody()->getOps<memref::LoadOp>())
      if (!getOffsets(load.getIndices()[0]) &&
          (combines.empty() ||
           !isComputedFromCounter(load.getIndices()[0], loop.getInductionVar())))
        return kNotLinear;
    // LLVM masks 16-bit lanes through f32 where there are no instructions for it, and calls a
    // library for the way back; a sum only loads.
    if (narrowest < 32 && target.getVectorBits() < 512 && combines.empty() && getExtent() % lanes)
      return "its last elements have 16 bits, which the target cannot mask";
    return {};
  }

  int64_t getLanes() const { return lanes; }
  int64_t getAccumulators() const { return accumulators; }
  int64_t getExtent() const { return upper - lower; }

  /// Replaces the loop. Elements are combined in an order that depends on the extent only.
  void run() {
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    // Independent partial sums hide an addition's latency.
    accumulators = 1;
    if (!combines.empty())
      while (accumulators < 4 && lanes * accumulators * 2 <= getExtent())
        accumulators *= 2;
    SmallVector<SmallVector<Value>> partial;
    for (int64_t i = 0; i < accumulators && !combines.empty(); ++i) {
      SmallVector<Value> &values = partial.emplace_back();
      for (Operation *combine : combines)
        values.push_back(broadcast(builder, getNeutral(builder, combine), lanes));
    }
    int64_t at = lower;
    auto runBlock = [&](int64_t step, int64_t count) {
      int64_t steps = (upper - at) / (step * count);
      if (steps == 0)
        return;
      SmallVector<Value> initial;
      for (int64_t i = 0; i < count && !combines.empty(); ++i)
        llvm::append_range(initial, partial[i]);
      auto index = [&](int64_t value) -> Value {
        return arith::ConstantIndexOp::create(builder, loc, value);
      };
      auto wide = scf::ForOp::create(builder, loc, index(at), index(at + steps * step * count),
                                     index(step * count), initial);
      OpBuilder body = combines.empty() ? OpBuilder(wide.getBody()->getTerminator())
                                        : OpBuilder::atBlockEnd(wide.getBody());
      SmallVector<Value> next;
      for (int64_t i = 0; i < count; ++i) {
        Value counter = offsetBy(body, wide.getInductionVar(), i * step);
        ValueRange carried = wide.getRegionIterArgs().slice(i * combines.size(), combines.size());
        llvm::append_range(next, emitBody(body, counter, carried, step, nullptr));
      }
      if (!combines.empty()) {
        scf::YieldOp::create(body, loc, next);
        for (int64_t i = 0; i < count; ++i)
          partial[i].assign(wide.result_begin() + i * combines.size(),
                            wide.result_begin() + (i + 1) * combines.size());
      }
      at += steps * step * count;
    };
    runBlock(lanes, accumulators);
    if (accumulators > 1)
      runBlock(lanes, 1);
    if (at < upper) {
      // The last elements: the lanes beyond them are switched off.
      SmallVector<bool> on(lanes, false);
      std::fill_n(on.begin(), upper - at, true);
      auto type = VectorType::get({lanes}, builder.getI1Type());
      Value mask =
          arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, ArrayRef<bool>(on)));
      Value counter = arith::ConstantIndexOp::create(builder, loc, at);
      ValueRange carried = combines.empty() ? ValueRange() : ValueRange(partial[0]);
      SmallVector<Value> next = emitBody(builder, counter, carried, lanes, mask);
      if (!combines.empty())
        partial[0] = next;
    }
    for (auto [i, combine] : llvm::enumerate(combines)) {
      SmallVector<Value> values;
      for (auto &accumulator : partial)
        values.push_back(accumulator[i]);
      Value total = foldLanes(builder, combine, values);
      Value initial = loop.getInitArgs()[i];
      loop.getResult(i).replaceAllUsesWith(apply(builder, combine, initial, total));
    }
    loop.erase();
  }

private:
  static constexpr const char *kNotLinear =
      "it accesses memory at an index that is not linear in the counter";

  /// How far the numbers of a vector are from the first one.
  std::optional<SmallVector<int64_t>> getOffsets(Value number) {
    return getLaneOffsets(number, loop.getInductionVar(), lower, lanes);
  }

  std::string checkOp(Operation &op) {
    auto noteAccess = [&](Type element) {
      widest = std::max<int64_t>(widest, element.getIntOrFloatBitWidth());
      narrowest = std::min<int64_t>(narrowest, element.getIntOrFloatBitWidth());
    };
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      if (load.getIndices().size() != 1)
        return "it accesses memory that is not flat";
      if (getStride(load.getIndices()[0], loop.getInductionVar()) != 0)
        varying.insert(load.getResult());
      noteAccess(load.getType());
      return {};
    }
    if (auto store = dyn_cast<memref::StoreOp>(op)) {
      if (store.getIndices().size() != 1)
        return "it accesses memory that is not flat";
      std::optional<int64_t> stride = getStride(store.getIndices()[0], loop.getInductionVar());
      if (stride == 0)
        return "it stores into one element again and again";
      noteAccess(store.getValueToStore().getType());
      return stride ? "" : kNotLinear;
    }
    // Addresses are computed anew for every vector.
    if (op.getNumResults() == 1 && op.getResult(0).getType().isIndex() && isMemoryEffectFree(&op))
      return {};
    if (op.hasTrait<OpTrait::ConstantLike>())
      return {};
    if (op.getNumRegions() != 0)
      return "it branches inside";
    if (!OpTrait::hasElementwiseMappableTraits(&op) ||
        !llvm::all_of(op.getResultTypes(), [](Type type) { return type.isIntOrFloat(); }))
      return "it has no vector form of " + op.getName().getStringRef().str();
    bool varies = false;
    for (Value operand : op.getOperands()) {
      if (operand.getType().isIndex()) {
        if (getStride(operand, loop.getInductionVar()) == 0)
          continue;
        counted.push_back(operand);
        varies = true;
      }
      varies |= varying.count(operand) || llvm::is_contained(loop.getRegionIterArgs(), operand);
    }
    for (Value result : op.getResults()) {
      if (varies)
        varying.insert(result);
      widest = std::max<int64_t>(widest, result.getType().getIntOrFloatBitWidth());
    }
    return {};
  }

  static Value broadcast(OpBuilder &builder, Value scalar, int64_t lanes) {
    return vector::BroadcastOp::create(builder, scalar.getLoc(),
                                       VectorType::get({lanes}, scalar.getType()), scalar);
  }

  static Value apply(OpBuilder &builder, Operation *combine, Value a, Value b) {
    if (isa<arith::AddFOp>(combine))
      return arith::AddFOp::create(builder, combine->getLoc(), a, b);
    return arith::MaximumFOp::create(builder, combine->getLoc(), a, b);
  }

  /// The value that changes nothing.
  static Value getNeutral(OpBuilder &builder, Operation *combine) {
    auto type = cast<FloatType>(combine->getResult(0).getType());
    APFloat value = isa<arith::AddFOp>(combine)
                        ? APFloat::getZero(type.getFloatSemantics(), /*Negative=*/true)
                        : APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
    return arith::ConstantOp::create(builder, combine->getLoc(), FloatAttr::get(type, value));
  }

  /// Accumulators pairwise, then halves of the vector pairwise: a fixed tree.
  Value foldLanes(OpBuilder &builder, Operation *combine, SmallVector<Value> values) {
    for (; values.size() > 1; values.resize(values.size() / 2))
      for (size_t i = 0; i < values.size() / 2; ++i)
        values[i] = apply(builder, combine, values[i], values[i + values.size() / 2]);
    Value value = values.front();
    for (int64_t width = lanes; width > 1; width /= 2) {
      SmallVector<int64_t> low, high;
      for (int64_t i = 0; i < width / 2; ++i) {
        low.push_back(i);
        high.push_back(i + width / 2);
      }
      Location loc = combine->getLoc();
      Value left = vector::ShuffleOp::create(builder, loc, value, value, low);
      Value right = vector::ShuffleOp::create(builder, loc, value, value, high);
      value = apply(builder, combine, left, right);
    }
    return vector::ExtractOp::create(builder, combine->getLoc(), value, ArrayRef<int64_t>{0});
  }

  /// One vector's worth of the body with the counter's first value; returns what is carried on.
  SmallVector<Value> emitBody(OpBuilder &builder, Value counter, ValueRange carried, int64_t width,
                              Value mask) {
    IRMapping scalars, vectors;
    scalars.map(loop.getInductionVar(), counter);
    for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      vectors.map(argument, value);
    auto getVector = [&](Value value) -> Value {
      if (Value known = vectors.lookupOrNull(value))
        return known;
      Value scalar = scalars.lookupOrDefault(value);
      Value wide = llvm::is_contained(counted, value)
                       ? addDistances(builder, value.getLoc(), scalar, *getOffsets(value))
                       : broadcast(builder, scalar, width);
      vectors.map(value, wide);
      return wide;
    };
    SmallVector<Value> next(carried.size());
    for (Operation &op : loop.getBody()->without_terminator()) {
      Location loc = op.getLoc();
      if (auto load = dyn_cast<memref::LoadOp>(op); load && varying.count(load.getResult())) {
        vectors.map(load.getResult(), emitLoad(builder, load, scalars, width, mask));
      } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
        emitStore(builder, store, getVector(store.getValueToStore()), scalars, width, mask);
      } else if (isa<arith::IndexCastOp>(op) && varying.count(op.getResult(0))) {
        Value first = builder.clone(op, scalars)->getResult(0);
        vectors.map(op.getResult(0),
                    addDistances(builder, loc, first, *getOffsets(op.getOperand(0))));
      } else if (op.getNumResults() > 0 && varying.count(op.getResult(0))) {
        SmallVector<Value> operands;
        for (Value operand : op.getOperands())
          operands.push_back(getVector(operand));
        SmallVector<Type> types;
        for (Type type : op.getResultTypes())
          types.push_back(VectorType::get({width}, type));
        Operation *wide =
            builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
        Value result = wide->getResult(0);
        auto combine = llvm::find(combines, &op);
        if (combine != combines.end()) {
          size_t i = combine - combines.begin();
          if (mask)
            result = arith::SelectOp::create(builder, loc, mask, result, carried[i]);
          next[i] = result;
        }
        vectors.map(op.getResults(), wide->getResults());
        vectors.map(op.getResult(0), result);
      } else {
        builder.clone(op, scalars);
      }
    }
    return next;
  }

  Value emitLoad(OpBuilder &builder, memref::LoadOp load, IRMapping &scalars, int64_t width,
                 Value mask) {
    Location loc = load.getLoc();
    auto type = VectorType::get({width}, load.getType());
    Value index = scalars.lookupOrDefault(load.getIndices()[0]);
    bool dense = getStride(load.getIndices()[0], loop.getInductionVar()) == 1;
    if (dense && !mask)
      return vector::LoadOp::create(builder, loc, type, load.getMemRef(), index);
    Value zeros = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
    if (dense && (target.getVectorBits() >= 512 || type.getElementTypeBitWidth() >= 32))
      return vector::MaskedLoadOp::create(builder, loc, type, load.getMemRef(), index, mask, zeros);
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(load.getType()));
    SmallVector<Value> elements(width, zero);
    std::optional<SmallVector<int64_t>> distances = getOffsets(load.getIndices()[0]);
    if (distances && !mask)
      if (Value lanesOfVectors = loadLanes(builder, loc, load.getMemRef(), index, *distances))
        return lanesOfVectors;
    Value counter = scalars.lookup(loop.getInductionVar());
    for (int64_t lane = 0; lane < width; ++lane) {
      if (isOff(mask, lane))
        continue;
      Value place = distances
                        ? offsetBy(builder, index, (*distances)[lane])
                        : computeAtCount(builder, load.getIndices()[0], loop.getInductionVar(),
                                         offsetBy(builder, counter, lane));
      elements[lane] = memref::LoadOp::create(builder, loc, load.getMemRef(), place);
    }
    return vector::FromElementsOp::create(builder, loc, type, elements);
  }

  void emitStore(OpBuilder &builder, memref::StoreOp store, Value value, IRMapping &scalars,
                 int64_t width, Value mask) {
    Location loc = store.getLoc();
    Value index = scalars.lookupOrDefault(store.getIndices()[0]);
    int64_t stride = *getStride(store.getIndices()[0], loop.getInductionVar());
    if (stride == 1 && !mask) {
      vector::StoreOp::create(builder, loc, value, store.getMemRef(), index);
    } else if (stride == 1 && !isOff(mask, 1)) {
      // Never for one lane: LLVM 22 writes four bytes for it where i32 is truncated to i8.
      vector::MaskedStoreOp::create(builder, loc, store.getMemRef(), index, mask, value);
    } else {
      for (int64_t lane = 0; lane < width; ++lane)
        if (!isOff(mask, lane)) {
          Value element = vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{lane});
          memref::StoreOp::create(builder, loc, element, store.getMemRef(),
                                  offsetBy(builder, index, lane * stride));
        }
    }
  }

  static bool isOff(Value mask, int64_t lane) {
    DenseElementsAttr lanes;
    return mask && matchPattern(mask, m_Constant(&lanes)) && !lanes.getValues<bool>()[lane];
  }

  scf::ForOp loop;
  TargetAttr target;
  int64_t lower = 0, upper = 0, lanes = 0, accumulators = 1;
  /// Bits of the widest value and of the narrowest element in memory.
  int64_t widest = 16, narrowest = 64;
  SmallVector<Operation *> combines;
  llvm::DenseSet<Value> varying;
  SmallVector<Value> counted; ///< indices that are computed with, and follow the counter
};

struct VectorizeLoopsPass : sinter::impl::VectorizeLoopsPassBase<VectorizeLoopsPass> {
  using VectorizeLoopsPassBase::VectorizeLoopsPassBase;

  void runOnOperation() override {
    InnermostLoops innermost(getOperation());
    if (!innermost.target)
      return markAllAnalysesPreserved();
    auto options = remark::RemarkOpts::name("VectorizeLoops").category("sinter-codegen");
    for (scf::ForOp loop : llvm::make_filter_range(innermost.loops, isScalar)) {
      LoopVectorizer vectorizer(loop, innermost.target);
      Location loc = loop.getLoc();
      StringRef kernel = loop->getParentOfType<func::FuncOp>().getName();
      std::string reason = vectorizer.check();
      if (!reason.empty()) {
        remark::missed(loc, options.function(kernel)) << "a loop stays scalar: " + reason;
        continue;
      }
      vectorizer.run();
      remark::passed(loc, options.function(kernel))
          << llvm::formatv("{0} elements in vectors of {1}, {2} at a time", vectorizer.getExtent(),
                           vectorizer.getLanes(), vectorizer.getAccumulators())
                 .str();
    }
  }

private:
  /// Kernels that were generated in vectors are left alone.
  static bool isScalar(scf::ForOp loop) {
    return !loop.getBody()
                ->walk([](Operation *op) {
                  bool vector = llvm::any_of(op->getResultTypes(), llvm::IsaPred<VectorType>);
                  return vector ? WalkResult::interrupt() : WalkResult::advance();
                })
                .wasInterrupted();
  }
};
} // namespace
