#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

std::optional<int64_t> sinter::getStride(Value value, Value counter) {
  if (value == counter)
    return 1;
  Operation *op = value.getDefiningOp();
  auto *loop = counter.getParentBlock();
  if (!op || op->getBlock() != loop)
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

Value sinter::emitNumbers(OpBuilder &builder, Location loc, Value first, int64_t stride,
                          int64_t lanes) {
  auto type = VectorType::get({lanes}, first.getType());
  SmallVector<Attribute> steps;
  for (int64_t lane = 0; lane < lanes; ++lane)
    steps.push_back(builder.getIntegerAttr(first.getType(), lane * stride));
  Value distances = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, steps));
  Value all = vector::BroadcastOp::create(builder, loc, type, first);
  return arith::AddIOp::create(builder, loc, all, distances);
}
