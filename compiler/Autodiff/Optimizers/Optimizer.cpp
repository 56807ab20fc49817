#include "compiler/Autodiff/Optimizers/Optimizer.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;
using namespace sinter;

Value UpdateBuilder::getSeed() {
  return inputOf("seed", RankedTensorType::get({2}, builder.getI32Type()));
}

Value UpdateBuilder::getTag(const Parameter &parameter) {
  uint64_t hash = llvm::xxh3_64bits(parameter.name);
  auto words = {static_cast<int32_t>(hash), static_cast<int32_t>(hash >> 32)};
  auto type = RankedTensorType::get({2}, builder.getI32Type());
  return ConstantOp::create(builder, loc, type, DenseIntElementsAttr::get(type, words));
}

Value UpdateBuilder::cast(Value x, Type element) {
  RankedTensorType type = typeOf(x);
  if (type.getElementType() == element)
    return x;
  return CastOp::create(builder, loc, type.clone(element), x);
}

Value UpdateBuilder::constant(Value like, double number) {
  return ConstantOp::create(builder, loc, typeOf(like), number);
}

Value UpdateBuilder::spread(Value value, Value like, ArrayRef<int64_t> dims) {
  auto type = RankedTensorType::get(typeOf(like).getShape(), typeOf(value).getElementType());
  return BroadcastOp::create(builder, loc, type, value, dims);
}

Value UpdateBuilder::guard(Value next, Value before) {
  return WhereFiniteOp::create(builder, loc, next.getType(), spread(scale, next), next, before);
}

Value UpdateBuilder::reduce(Value rows, ReductionKind kind) {
  RankedTensorType type = typeOf(rows);
  return ReduceOp::create(builder, loc,
                          RankedTensorType::get(type.getShape().drop_back(), type.getElementType()),
                          rows, kind);
}

Value UpdateBuilder::sum(Value x) {
  RankedTensorType type = typeOf(x);
  if (type.getRank() == 0)
    return x;
  if (type.getRank() > 1)
    x = reduce(x, ReductionKind::Sum);
  type = RankedTensorType::get({typeOf(x).getNumElements()}, type.getElementType());
  if (x.getType() != type)
    x = ReshapeOp::create(builder, loc, type, x);
  return reduce(x, ReductionKind::Sum);
}

Value UpdateBuilder::sumSquares(Value x) { return sum(mul(x, x)); }

Value UpdateBuilder::matmul(Value lhs, Value rhs, bool transposeLhs, bool transposeRhs) {
  int64_t m = typeOf(lhs).getDimSize(transposeLhs ? 1 : 0);
  int64_t n = typeOf(rhs).getDimSize(transposeRhs ? 0 : 1);
  auto type = RankedTensorType::get({m, n}, typeOf(lhs).getElementType());
  return MatmulOp::create(builder, loc, type, lhs, rhs, transposeRhs, transposeLhs);
}

std::unique_ptr<Optimizer> sinter::createOptimizer(const Hyperparameters &numbers) {
  return llvm::StringSwitch<std::unique_ptr<Optimizer> (*)(const Hyperparameters &)>(
             numbers.optimizer)
      .Case("adafactor", createAdafactor)
      .Case("adamw", [](const Hyperparameters &numbers) { return createAdamW(numbers); })
      .Case("muon", createMuon)
      .Case("sgd", createSgd)(numbers);
}
