#include "compiler/Codegen/Cpu/LaneCombines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

Value sinter::broadcastLanes(OpBuilder &builder, Value scalar, int64_t lanes) {
  return vector::BroadcastOp::create(builder, scalar.getLoc(),
                                     VectorType::get({lanes}, scalar.getType()), scalar);
}

bool sinter::isLaneOff(Value mask, int64_t lane) {
  DenseElementsAttr lanes;
  return mask && matchPattern(mask, m_Constant(&lanes)) && !lanes.getValues<bool>()[lane];
}

Value sinter::applyCombine(OpBuilder &builder, Operation *combine, Value a, Value b) {
  if (isa<arith::AddFOp>(combine))
    return arith::AddFOp::create(builder, combine->getLoc(), a, b);
  return arith::MaximumFOp::create(builder, combine->getLoc(), a, b);
}

Value sinter::getNeutral(OpBuilder &builder, Operation *combine) {
  auto type = cast<FloatType>(combine->getResult(0).getType());
  APFloat value = isa<arith::AddFOp>(combine)
                      ? APFloat::getZero(type.getFloatSemantics(), /*Negative=*/true)
                      : APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true);
  return arith::ConstantOp::create(builder, combine->getLoc(), FloatAttr::get(type, value));
}

Value sinter::foldLanes(OpBuilder &builder, Operation *combine, SmallVector<Value> vectors,
                        int64_t lanes) {
  for (; vectors.size() > 1; vectors.resize(vectors.size() / 2))
    for (size_t i = 0; i < vectors.size() / 2; ++i)
      vectors[i] = applyCombine(builder, combine, vectors[i], vectors[i + vectors.size() / 2]);
  Value value = vectors.front();
  for (int64_t width = lanes; width > 1; width /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t i = 0; i < width / 2; ++i) {
      low.push_back(i);
      high.push_back(i + width / 2);
    }
    Location loc = combine->getLoc();
    Value left = vector::ShuffleOp::create(builder, loc, value, value, low);
    Value right = vector::ShuffleOp::create(builder, loc, value, value, high);
    value = applyCombine(builder, combine, left, right);
  }
  return vector::ExtractOp::create(builder, combine->getLoc(), value, ArrayRef<int64_t>{0});
}
