#include "test/work/ExecutedWork.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include <algorithm>

using namespace mlir;
using namespace sinter::test;

namespace {
int64_t countLanes(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

double countBytes(Type type) {
  Type element = getElementTypeOrSelf(type);
  double bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  return static_cast<double>(countLanes(type)) * bits / 8;
}

class WorkCounter {
public:
  WorkCounter(func::FuncOp kernel, int64_t items) {
    unsigned end = kernel.getNumArguments() - 1;
    setRange(kernel.getArgument(end - 1), 0, 0);
    setRange(kernel.getArgument(end), items, items);
  }

  ExecutedWork count(Block &block) {
    ExecutedWork work;
    for (Operation &op : block.without_terminator())
      work += count(op);
    return work;
  }

private:
  ExecutedWork count(Operation &op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return countLoop(loop);
    if (auto branches = dyn_cast<scf::IfOp>(op))
      return countBranches(branches);
    if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      ExecutedWork work = count(*loop.getBeforeBody());
      return work += count(*loop.getAfterBody());
    }
    inferRanges(op);
    return {countFlops(op), countTraffic(op)};
  }

  ExecutedWork countLoop(scf::ForOp loop) {
    ConstantIntRanges lower = getRange(loop.getLowerBound()),
                      upper = getRange(loop.getUpperBound());
    int64_t first = lower.smin().getSExtValue(), end = upper.smax().getSExtValue();
    int64_t step = std::max<int64_t>(1, getRange(loop.getStep()).smin().getSExtValue());
    if (end <= first)
      return {};
    if (upper.smax().isMaxSignedValue() || lower.smin().isMinSignedValue())
      return count(*loop.getBody());
    int64_t steps = llvm::divideCeil(end - first, step);
    int64_t last = first + (steps - 1) * step;
    if (!changesWith(loop)) {
      setRange(loop.getInductionVar(), first, last);
      return count(*loop.getBody()) * static_cast<double>(steps);
    }
    ExecutedWork sum;
    SmallVector<int64_t> sampled{first};
    if (steps > 2)
      sampled.push_back(first + steps / 2 * step);
    if (steps > 1)
      sampled.push_back(last);
    for (int64_t counter : sampled) {
      setRange(loop.getInductionVar(), counter, counter);
      sum += count(*loop.getBody());
    }
    return sum * (static_cast<double>(steps) / static_cast<double>(sampled.size()));
  }

  ExecutedWork countBranches(scf::IfOp branches) {
    ConstantIntRanges condition = getRange(branches.getCondition());
    std::optional<APInt> known = condition.getConstantValue();
    ExecutedWork larger;
    if (!known || !known->isZero())
      larger = count(*branches.thenBlock());
    if (branches.elseBlock() && (!known || known->isZero())) {
      ExecutedWork other = count(*branches.elseBlock());
      larger = {std::max(larger.flops, other.flops), std::max(larger.bytes, other.bytes)};
    }
    return larger;
  }

  /// Whether what is executed in a loop depends on its counter: bounds or branches inside do.
  static bool changesWith(scf::ForOp loop) {
    llvm::SmallPtrSet<Value, 16> dependent;
    dependent.insert(loop.getInductionVar());
    auto isDependent = [&](Value value) { return dependent.contains(value); };
    return loop.getBody()
        ->walk<WalkOrder::PreOrder>([&](Operation *op) {
          if (auto inner = dyn_cast<scf::ForOp>(op)) {
            if (llvm::any_of(inner.getOperands().take_front(3), isDependent))
              return WalkResult::interrupt();
          } else if (auto branches = dyn_cast<scf::IfOp>(op)) {
            if (isDependent(branches.getCondition()))
              return WalkResult::interrupt();
          } else if (isa<InferIntRangeInterface>(op) &&
                     llvm::any_of(op->getOperands(), isDependent)) {
            dependent.insert(op->result_begin(), op->result_end());
          }
          return WalkResult::advance();
        })
        .wasInterrupted();
  }

  static double countFlops(Operation &op) {
    if (op.getNumResults() == 0)
      return 0;
    auto lanes = static_cast<double>(countLanes(op.getResult(0).getType()));
    if (isa<math::FmaOp, vector::FMAOp>(op))
      return 2 * lanes;
    // The one instruction that is called by name: a product of pairs.
    if (isa<LLVM::CallIntrinsicOp>(op))
      return 4 * lanes;
    if (auto reduction = dyn_cast<vector::ReductionOp>(op))
      return static_cast<double>(countLanes(reduction.getVector().getType()));
    bool moves = isa<arith::ConstantOp, arith::SelectOp, arith::BitcastOp>(op);
    return !moves && isa<arith::ArithFastMathInterface>(op) ? lanes : 0;
  }

  static double countTraffic(Operation &op) {
    if (isa<memref::LoadOp, vector::LoadOp, vector::MaskedLoadOp>(op))
      return countBytes(op.getResult(0).getType());
    if (auto store = dyn_cast<memref::StoreOp>(op))
      return countBytes(store.getValueToStore().getType());
    if (auto store = dyn_cast<vector::StoreOp>(op))
      return countBytes(store.getValueToStore().getType());
    if (auto store = dyn_cast<vector::MaskedStoreOp>(op))
      return countBytes(store.getValueToStore().getType());
    return 0;
  }

  static bool isNumber(Type type) { return type.isIntOrIndex(); }

  void setRange(Value value, int64_t first, int64_t last) {
    unsigned bits = ConstantIntRanges::getStorageBitwidth(value.getType());
    ranges.insert_or_assign(value,
                            ConstantIntRanges::fromSigned(APInt(bits, first, /*isSigned=*/true),
                                                          APInt(bits, last, /*isSigned=*/true)));
  }

  /// What a number may be; anything, where it comes from memory or around a loop.
  ConstantIntRanges getRange(Value value) {
    auto found = ranges.find(value);
    return found != ranges.end() ? found->second
                                 : ConstantIntRanges::maxRange(
                                       ConstantIntRanges::getStorageBitwidth(value.getType()));
  }

  void inferRanges(Operation &op) {
    auto inferring = dyn_cast<InferIntRangeInterface>(op);
    if (!inferring || !llvm::all_of(op.getOperandTypes(), isNumber) ||
        !llvm::all_of(op.getResultTypes(), isNumber))
      return;
    SmallVector<ConstantIntRanges> operands;
    for (Value operand : op.getOperands())
      operands.push_back(getRange(operand));
    inferring.inferResultRanges(operands, [&](Value result, const ConstantIntRanges &range) {
      ranges.insert_or_assign(result, range);
    });
  }

  llvm::DenseMap<Value, ConstantIntRanges> ranges;
};
} // namespace

ExecutedWork sinter::test::countWork(func::FuncOp loopKernel, int64_t items) {
  return WorkCounter(loopKernel, items).count(loopKernel.front());
}
