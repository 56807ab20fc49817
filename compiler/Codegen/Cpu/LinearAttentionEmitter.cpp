#include "compiler/Codegen/Cpu/LinearAttentionEmitter.h"
#include "compiler/Analysis/KernelLimits.h"
#include <numbers>

using namespace mlir;
using namespace sinter;

/// Vectors of columns of an item; bytes of its state, of the 192 KiB of stack that a kernel has.
static constexpr int64_t kMostVectors = 4, kStateBytes = 64 * 1024;

static int64_t countVectors(int64_t width, int64_t rows, int64_t lanes) {
  int64_t fit = std::max<int64_t>(1, kStateBytes / (rows * lanes * int64_t(sizeof(float))));
  return std::min({kMostVectors, fit, static_cast<int64_t>(llvm::divideCeil(width, lanes))});
}

LinearAttentionEmitter::LinearAttentionEmitter(Value key, Value value, Value decay,
                                               func::FuncOp loopKernel, TargetAttr target)
    : builder(loopKernel, target), arguments(loopKernel.getArguments()), decay(decay),
      lanes(builder.getLanes()) {
  ArrayRef<int64_t> keys = cast<RankedTensorType>(key.getType()).getShape(),
                    values = cast<RankedTensorType>(value.getType()).getShape();
  slots = values[0];
  tokens = values[1];
  heads = values[2];
  width = values[3];
  groups = keys[2];
  depth = keys[3];
  rows = static_cast<int64_t>(llvm::alignTo(depth, lanes));
  vectors = countVectors(width, rows, lanes);
  columns = vectors * lanes;
  state = builder.scratch(rows * columns, builder.getF32Type());
}

void LinearAttentionEmitter::forEachItem(llvm::function_ref<void(Value)> body) {
  builder.loop(arguments.drop_back().back(), arguments.back(), 1, body);
}

void LinearAttentionEmitter::setColumns(Value begin) {
  first = begin;
  masks.assign(vectors, Value());
  if (width % columns != 0)
    for (int64_t i = 0; i < vectors; ++i)
      masks[i] = builder.maskBelow(builder.sub(builder.index(width - i * lanes), first));
}

Value LinearAttentionEmitter::getMemory(Value operand) {
  return arguments[cast<BlockArgument>(operand).getArgNumber()];
}

Value LinearAttentionEmitter::getMemoryOfResult(Value result) {
  OperandRange returned = kernel.front().getTerminator()->getOperands();
  auto found = llvm::find(returned, result);
  return found == returned.end() ? Value()
                                 : arguments[kernel.getNumArguments() + (found - returned.begin())];
}

Value LinearAttentionEmitter::multiplyAdd(Value a, int64_t b, Value c) {
  return builder.add(builder.mul(a, b), c);
}

Value LinearAttentionEmitter::getKeyRow(Value t) {
  Value group = builder.div(head, heads / groups);
  return builder.mul(multiplyAdd(multiplyAdd(slot, tokens, t), groups, group), depth);
}

Value LinearAttentionEmitter::getGate(Value t) {
  return multiplyAdd(multiplyAdd(slot, tokens, t), heads, head);
}

Value LinearAttentionEmitter::getValueRow(Value t) { return multiplyAdd(getGate(t), width, first); }

Value LinearAttentionEmitter::at(Value offset, int64_t vector) {
  return builder.add(offset, vector * lanes);
}

Value LinearAttentionEmitter::ofState(Value i, int64_t vector) {
  return at(builder.mul(i, columns), vector);
}

Value LinearAttentionEmitter::getFactor(Value gate) {
  return builder.exp2(
      builder.mulF(builder.loadSplat(getMemory(decay), gate), builder.splat(std::numbers::log2e)));
}

SmallVector<Value> LinearAttentionEmitter::zeros(int64_t count) {
  return SmallVector<Value>(static_cast<size_t>(count), builder.splat(0.0));
}

void LinearAttentionEmitter::forEachRow(llvm::function_ref<void(Value)> body) {
  builder.loop(builder.index(0), builder.index(depth), 1, body);
}

void LinearAttentionEmitter::clearState() {
  builder.loop(builder.index(0), builder.index(rows), 1, [&](Value i) {
    for (int64_t m = 0; m < vectors; ++m)
      builder.store(builder.splat(0.0), state, ofState(i, m));
  });
}

LogicalResult sinter::verifyLinearAttention(func::FuncOp tensorKernel) {
  if (!llvm::hasSingleElement(tensorKernel.front().without_terminator()))
    return tensorKernel.emitError("expected a linear attention to be alone in its kernel");
  Operation &op = tensorKernel.front().front();
  for (Type type : op.getOperandTypes())
    if (getElementTypeOrSelf(type).getIntOrFloatBitWidth() > 32)
      return op.emitError("expected numbers of at most 32 bits");
  if (cast<RankedTensorType>(op.getOperand(0).getType()).getShape().back() > kLongestLinearKey)
    return op.emitError("expected keys of ") << kLongestLinearKey << " elements at the most";
  return success();
}
