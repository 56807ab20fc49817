#include "compiler/Codegen/Cpu/InnermostLoops.h"
#include "compiler/Codegen/Cpu/LaneCombines.h"
#include "compiler/Codegen/Cpu/LaneLoads.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Loops/LoopCombines.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/IR/IRMapping.h"
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
    bool isLinear = true;
    loop.getBody()->walk([&](memref::LoadOp load) {
      isLinear &= getOffsets(load.getIndices()[0]) ||
                  (!combines.empty() &&
                   isComputedFromCounter(load.getIndices()[0], loop.getInductionVar()));
    });
    if (!isLinear)
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
        values.push_back(broadcastLanes(builder, getNeutral(builder, combine), lanes));
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
      Value total = foldLanes(builder, combine, values, lanes);
      Value initial = loop.getInitArgs()[i];
      loop.getResult(i).replaceAllUsesWith(applyCombine(builder, combine, initial, total));
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
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return checkBranch(branch);
    if (op.getNumRegions() != 0)
      return "it has a loop inside";
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

  /// A branch that all elements take alike, and that computes numbers, is one of whole vectors.
  std::string checkBranch(scf::IfOp branch) {
    if (branch.getNumResults() == 0)
      return "it stores inside of a branch";
    if (varying.count(branch.getCondition()))
      return "it branches inside, each element by itself";
    for (Block *block : {branch.thenBlock(), branch.elseBlock()})
      for (Operation &op : block->without_terminator())
        if (std::string reason = checkOp(op); !reason.empty() || isa<memref::StoreOp>(op))
          return reason.empty() ? "it stores inside of a branch" : reason;
    varying.insert(branch.result_begin(), branch.result_end());
    return {};
  }

  /// What values of the body are for one vector of elements: for its first one, and in lanes.
  struct Lanes {
    IRMapping scalars, vectors;
    int64_t width;
    Value mask;
  };

  /// One vector's worth of the body with the counter's first value; returns what is carried on.
  SmallVector<Value> emitBody(OpBuilder &builder, Value counter, ValueRange carried, int64_t width,
                              Value mask) {
    Lanes values{{}, {}, width, mask};
    values.scalars.map(loop.getInductionVar(), counter);
    for (auto [argument, value] : llvm::zip(loop.getRegionIterArgs(), carried))
      values.vectors.map(argument, value);
    emitOps(builder, *loop.getBody(), values);
    SmallVector<Value> next;
    for (auto [combine, before] : llvm::zip(combines, carried)) {
      Value result = values.vectors.lookup(combine->getResult(0));
      next.push_back(mask
                         ? arith::SelectOp::create(builder, combine->getLoc(), mask, result, before)
                         : result);
    }
    return next;
  }

  Value getVector(OpBuilder &builder, Value value, Lanes &values) {
    if (Value known = values.vectors.lookupOrNull(value))
      return known;
    Value scalar = values.scalars.lookupOrDefault(value);
    Value wide = llvm::is_contained(counted, value)
                     ? addDistances(builder, value.getLoc(), scalar, *getOffsets(value))
                     : broadcastLanes(builder, scalar, values.width);
    values.vectors.map(value, wide);
    return wide;
  }

  void emitOps(OpBuilder &builder, Block &block, Lanes &values) {
    for (Operation &op : block.without_terminator()) {
      Location loc = op.getLoc();
      if (auto load = dyn_cast<memref::LoadOp>(op); load && varying.count(load.getResult())) {
        values.vectors.map(load.getResult(),
                           emitLoad(builder, load, values.scalars, values.width, values.mask));
      } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
        emitStore(builder, store, getVector(builder, store.getValueToStore(), values),
                  values.scalars, values.width, values.mask);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        emitBranch(builder, branch, values);
      } else if (isa<arith::IndexCastOp>(op) && varying.count(op.getResult(0))) {
        Value first = builder.clone(op, values.scalars)->getResult(0);
        values.vectors.map(op.getResult(0),
                           addDistances(builder, loc, first, *getOffsets(op.getOperand(0))));
      } else if (op.getNumResults() > 0 && varying.count(op.getResult(0))) {
        SmallVector<Value> operands;
        for (Value operand : op.getOperands())
          operands.push_back(getVector(builder, operand, values));
        SmallVector<Type> types;
        for (Type type : op.getResultTypes())
          types.push_back(VectorType::get({values.width}, type));
        Operation *wide =
            builder.create(loc, op.getName().getIdentifier(), operands, types, op.getAttrs());
        values.vectors.map(op.getResults(), wide->getResults());
      } else {
        builder.clone(op, values.scalars);
      }
    }
  }

  void emitBranch(OpBuilder &builder, scf::IfOp branch, Lanes &values) {
    SmallVector<Type> types;
    for (Type type : branch.getResultTypes())
      types.push_back(VectorType::get({values.width}, type));
    auto wide = scf::IfOp::create(builder, branch.getLoc(), types,
                                  values.scalars.lookupOrDefault(branch.getCondition()),
                                  /*withElseRegion=*/true);
    for (auto [from, to] : {std::pair(branch.thenBlock(), wide.thenBlock()),
                            {branch.elseBlock(), wide.elseBlock()}}) {
      OpBuilder inside = OpBuilder::atBlockEnd(to);
      Lanes own = values; // what is made here is not there behind the branch
      emitOps(inside, *from, own);
      SmallVector<Value> results;
      for (Value result : from->getTerminator()->getOperands())
        results.push_back(getVector(inside, result, own));
      scf::YieldOp::create(inside, branch.getLoc(), results);
    }
    values.vectors.map(branch.getResults(), wide.getResults());
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
      if (isLaneOff(mask, lane))
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
    } else if (stride == 1 && !isLaneOff(mask, 1)) {
      // Never for one lane: LLVM 22 writes four bytes for it where i32 is truncated to i8.
      vector::MaskedStoreOp::create(builder, loc, store.getMemRef(), index, mask, value);
    } else {
      for (int64_t lane = 0; lane < width; ++lane)
        if (!isLaneOff(mask, lane)) {
          Value element = vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{lane});
          memref::StoreOp::create(builder, loc, element, store.getMemRef(),
                                  offsetBy(builder, index, lane * stride));
        }
    }
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
