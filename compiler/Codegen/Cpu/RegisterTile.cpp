#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter;

int64_t RegisterTile::getMaxRows(TargetAttr target, int64_t vectors) {
  return std::max<int64_t>(1, (target.getRegisters() - 2 - vectors) / vectors);
}

SmallVector<Value> RegisterTile::zeros(VectorBuilder &builder) const {
  Type element = bytes ? Type(builder.getI32Type()) : builder.getF32Type();
  Value zero = arith::ConstantOp::create(builder, builder.getZeroAttr(builder.vectorOf(element)));
  return SmallVector<Value>(rows * vectors, zero);
}

SmallVector<Value> RegisterTile::step(VectorBuilder &builder, Value k,
                                      ValueRange accumulators) const {
  SmallVector<Value> vectorsOfRhs = rhs(k);
  assert(static_cast<int64_t>(vectorsOfRhs.size()) == together * vectors);
  SmallVector<Value> next(accumulators);
  for (int64_t i = 0; i < together; ++i)
    for (int64_t r = 0; r < rows; ++r) {
      Value element = lhs(r, builder.add(k, i * depth));
      for (int64_t v = 0; v < vectors; ++v) {
        Value &sum = next[r * vectors + v];
        Value ofRhs = vectorsOfRhs[i * vectors + v];
        sum = bytes        ? builder.byteDot(sum, element, ofRhs)
              : depth == 2 ? builder.pairDot(sum, element, ofRhs)
                           : builder.fma(element, ofRhs, sum);
      }
    }
  return next;
}

SmallVector<Value> RegisterTile::accumulate(VectorBuilder &builder, Value begin, Value end,
                                            ValueRange accumulators) const {
  constexpr int64_t latencyTimesPipes = 8;
  int64_t count = rows * vectors;
  int64_t chains = matrixRows < kManyRows ? llvm::divideCeil(latencyTimesPipes, count) : 1;
  // Few accumulators make short steps: several a turn hide the loop's own work.
  int64_t unroll = count >= 16 ? 2 : 2 * llvm::divideCeil(latencyTimesPipes, count);
  int64_t ofStep = depth * together, turn = unroll * ofStep;

  SmallVector<Value> carried(accumulators);
  for (int64_t chain = 1; chain < chains; ++chain)
    carried.append(zeros(builder));
  Value whole = builder.add(begin, builder.mul(builder.div(builder.sub(end, begin), turn), turn));
  carried = builder.loop(begin, whole, turn, carried, [&](Value k, ValueRange values) {
    SmallVector<Value> next(values);
    for (int64_t u = 0; u < unroll; ++u) {
      int64_t first = (u % chains) * count;
      SmallVector<Value> chain =
          step(builder, builder.add(k, u * ofStep), ValueRange(next).slice(first, count));
      llvm::copy(chain, next.begin() + first);
    }
    return next;
  });
  for (int64_t chain = 1; chain < chains; ++chain)
    for (int64_t i = 0; i < count; ++i)
      carried[i] = bytes ? builder.addI(carried[i], carried[chain * count + i])
                         : builder.addF(carried[i], carried[chain * count + i]);
  carried.truncate(count);

  std::optional<int64_t> extent = getConstantIntValue(builder.sub(end, begin));
  if (extent && *extent % turn == 0)
    return carried;
  return builder.loop(whole, end, ofStep, carried,
                      [&](Value k, ValueRange values) { return step(builder, k, values); });
}
