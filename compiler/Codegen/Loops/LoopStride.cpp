#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

std::optional<int64_t> sinter::getStride(Value value, Value counter) {
  if (value == counter)
    return 1;
  Operation *op = value.getDefiningOp();
  if (!op || !counter.getParentBlock()->findAncestorOpInBlock(*op))
    return 0;
  auto operandStride = [&](unsigned i) { return getStride(op->getOperand(i), counter); };
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    // The change of a + b * i is b; of a floordiv it is known only where the inside stays.
    std::function<std::optional<int64_t>(AffineExpr)> change =
        [&](AffineExpr expr) -> std::optional<int64_t> {
      if (auto dim = dyn_cast<AffineDimExpr>(expr))
        return operandStride(dim.getPosition());
      auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
      if (!binary)
        return 0;
      std::optional<int64_t> left = change(binary.getLHS()), right = change(binary.getRHS());
      if (!left || !right)
        return std::nullopt;
      if (expr.getKind() == AffineExprKind::Add)
        return *left + *right;
      if (*left == 0 && *right == 0)
        return 0;
      auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
      if (expr.getKind() == AffineExprKind::Mul && factor)
        return *left * factor.getValue();
      return std::nullopt;
    };
    return change(apply.getAffineMap().getResult(0));
  }
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    std::optional<int64_t> left = operandStride(0), right = operandStride(1);
    if (!left || !right)
      return std::nullopt;
    return isa<arith::AddIOp>(op) ? *left + *right : *left - *right;
  }
  bool fixed = llvm::all_of(op->getOperands(),
                            [&](Value operand) { return getStride(operand, counter) == 0; });
  return fixed && isMemoryEffectFree(op) ? std::optional<int64_t>(0) : std::nullopt;
}

/// The same number, in which of what is divided by a multiple of the lanes a multiple of them
/// stands by itself: with lanes of 16, (16 i + 5) floordiv 64 is (16 i) floordiv 64.
static AffineExpr splitLanes(AffineExpr expr, int64_t lanes, const AffineMap &map) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr left = splitLanes(binary.getLHS(), lanes, map),
             right = splitLanes(binary.getRHS(), lanes, map);
  auto divisor = dyn_cast<AffineConstantExpr>(right);
  bool isRemainder = expr.getKind() == AffineExprKind::Mod;
  if ((!isRemainder && expr.getKind() != AffineExprKind::FloorDiv) || !divisor ||
      divisor.getValue() % lanes != 0)
    return getAffineBinaryOpExpr(expr.getKind(), left, right);
  AffineExpr whole = simplifyAffineExpr(left, map.getNumDims(), map.getNumSymbols());
  int64_t part = 0;
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(whole); sum && sum.getKind() == AffineExprKind::Add)
    if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
      part = ((constant.getValue() % lanes) + lanes) % lanes;
      whole = sum.getLHS() + (constant.getValue() - part);
    }
  if (!whole.isMultipleOf(lanes))
    return getAffineBinaryOpExpr(expr.getKind(), left, right);
  return isRemainder ? whole % divisor + part : whole.floorDiv(divisor);
}

std::optional<SmallVector<int64_t>> sinter::getLaneOffsets(Value value, Value counter,
                                                           int64_t first, int64_t lanes) {
  SmallVector<int64_t> offsets;
  if (std::optional<int64_t> stride = getStride(value, counter)) {
    for (int64_t lane = 0; lane < lanes; ++lane)
      offsets.push_back(lane * *stride);
    return offsets;
  }
  auto apply = value.getDefiningOp<affine::AffineApplyOp>();
  auto isKnown = [&](Value operand) {
    return operand == counter || getStride(operand, counter) == 0;
  };
  if (!apply || !llvm::all_of(apply.getDimOperands(), isKnown) ||
      llvm::is_contained(apply.getSymbolOperands(), counter) ||
      !llvm::all_of(apply.getSymbolOperands(), isKnown))
    return std::nullopt;
  AffineMap map = apply.getAffineMap();
  // The counter as first + lane and a multiple of the lanes.
  auto at = [&](int64_t lane) {
    SmallVector<AffineExpr> dims;
    for (auto [i, operand] : llvm::enumerate(apply.getDimOperands())) {
      AffineExpr dim = getAffineDimExpr(i, value.getContext());
      dims.push_back(operand == counter ? dim * lanes + (first + lane) : dim);
    }
    return splitLanes(map.getResult(0).replaceDims(dims), lanes, map);
  };
  for (int64_t lane = 0; lane < lanes; ++lane) {
    auto offset = dyn_cast<AffineConstantExpr>(
        simplifyAffineExpr(at(lane) - at(0), map.getNumDims(), map.getNumSymbols()));
    if (!offset)
      return std::nullopt;
    offsets.push_back(offset.getValue());
  }
  return offsets;
}

bool sinter::isComputedFromCounter(Value index, Value counter) {
  Operation *op = index.getDefiningOp();
  if (!op || op->getBlock() != counter.getParentBlock())
    return true;
  return isMemoryEffectFree(op) && llvm::all_of(op->getOperands(), [&](Value operand) {
           return operand.getType().isIndex() && isComputedFromCounter(operand, counter);
         });
}

Value sinter::computeAtCount(OpBuilder &builder, Value index, Value counter, Value count) {
  if (index == counter)
    return count;
  Operation *op = index.getDefiningOp();
  if (!op || op->getBlock() != counter.getParentBlock())
    return index;
  IRMapping operands;
  for (Value operand : op->getOperands())
    operands.map(operand, computeAtCount(builder, operand, counter, count));
  return builder.clone(*op, operands)->getResult(0);
}
