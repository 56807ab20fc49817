//===- LinearAttentionKernel.cpp - The gated delta rule, token by token -----===//
//
// A work item has some columns of one head's state, a few vectors wide, in scratch memory that
// stays in the nearest cache: columns do not meet, so that the bits follow from no number of
// threads. A token reads and writes each vector of the state once. With p = S^T k of the state
// before it,
//
//   u = beta (v - exp(decay) p)
//   for each row i:   s = exp(decay) S[i] + k[i] u;   S[i] = s
//                     result += q[i] s;   p of the next token += next k[i] s
//
// which are 8 operations of arithmetic an element and two of memory: the arithmetic decides, 7 of 8
// are what the rule is. A chunk and its tokens one by one give the same bits.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/LinearAttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace sinter;

namespace {
class LinearAttentionForward : LinearAttentionEmitter {
public:
  LinearAttentionForward(LinearAttentionOp op, func::FuncOp loopKernel, TargetAttr target)
      : LinearAttentionEmitter(op, loopKernel, target), op(op) {}

  int64_t emit() {
    int64_t blocks = llvm::divideCeil(width, columns);
    forEachItem([&](Value item) {
      Value ofAll = builder.div(item, blocks);
      slot = builder.div(ofAll, heads);
      head = builder.rem(ofAll, heads);
      setColumns(builder.mul(builder.rem(item, blocks), columns));
      emitItem();
    });
    return slots * heads * blocks;
  }

private:
  /// Where the item's columns of row i of the head's state begin in memory.
  Value getStateRow(Value i) {
    Value row = multiplyAdd(multiplyAdd(slot, heads, head), depth, i);
    return multiplyAdd(row, width, first);
  }
  /// A number of the slot that is in memory.
  Value loadOfSlot(Value operand) {
    return arith::IndexCastOp::create(builder, builder.getIndexType(),
                                      memref::LoadOp::create(builder, getMemory(operand), slot));
  }

  void emitItem() {
    Value count = builder.index(tokens);
    if (!op.getState()) {
      clearState();
    } else {
      count = builder.min(count, builder.max(loadOfSlot(op.getCount()), builder.index(0)));
      Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                            loadOfSlot(op.getStart()), builder.index(0));
      builder.ifThen(
          isFirst, [&] { clearState(); },
          [&] {
            forEachRow([&](Value i) {
              for (int64_t m = 0; m < vectors; ++m)
                builder.store(
                    builder.load(getMemory(op.getState()), at(getStateRow(i), m), masks[m]), state,
                    ofState(i, m));
            });
          });
    }
    emitTokens(count);
    Value result = getMemoryOfResult(op.getResult());
    builder.loop(count, builder.index(tokens), 1, [&](Value t) {
      for (int64_t m = 0; m < vectors; ++m)
        builder.store(builder.splat(0.0), result, at(getValueRow(t), m), masks[m]);
    });
    if (Value next = op.getNext() ? getMemoryOfResult(op.getNext()) : Value())
      forEachRow([&](Value i) {
        for (int64_t m = 0; m < vectors; ++m)
          builder.store(builder.load(state, ofState(i, m)), next, at(getStateRow(i), m), masks[m]);
      });
  }

  void emitTokens(Value count) {
    Value query = getMemory(op.getQuery()), key = getMemory(op.getKey()),
          value = getMemory(op.getValue()), result = getMemoryOfResult(op.getResult());
    Value firstKeys = getKeyRow(builder.index(0)), last = builder.index(tokens - 1);
    SmallVector<Value> said = builder.loop(
        builder.index(0), builder.index(depth), 1, zeros(vectors), [&](Value i, ValueRange sums) {
          Value k = builder.loadSplat(key, builder.add(firstKeys, i));
          SmallVector<Value> next;
          for (int64_t m = 0; m < vectors; ++m)
            next.push_back(builder.fma(k, builder.load(state, ofState(i, m)), sums[m]));
          return next;
        });
    builder.loop(builder.index(0), count, 1, said, [&](Value t, ValueRange said) {
      Value gate = getGate(t), row = getValueRow(t), keys = getKeyRow(t);
      Value nextKeys = getKeyRow(builder.min(builder.add(t, 1), last));
      Value factor = getFactor(gate);
      Value beta = builder.loadSplat(getMemory(op.getBeta()), gate);
      SmallVector<Value> steps;
      for (int64_t m = 0; m < vectors; ++m) {
        Value v = builder.load(value, at(row, m), masks[m]);
        steps.push_back(builder.mulF(beta, builder.subF(v, builder.mulF(factor, said[m]))));
      }
      SmallVector<Value> sums =
          builder.loop(builder.index(0), builder.index(depth), 1, zeros(2 * vectors),
                       [&](Value i, ValueRange sums) {
                         Value k = builder.loadSplat(key, builder.add(keys, i)),
                               q = builder.loadSplat(query, builder.add(keys, i)),
                               nextK = builder.loadSplat(key, builder.add(nextKeys, i));
                         SmallVector<Value> next(sums);
                         for (int64_t m = 0; m < vectors; ++m) {
                           Value s = builder.mulF(factor, builder.load(state, ofState(i, m)));
                           s = builder.fma(k, steps[m], s);
                           builder.store(s, state, ofState(i, m));
                           next[m] = builder.fma(q, s, sums[m]);
                           next[vectors + m] = builder.fma(nextK, s, sums[vectors + m]);
                         }
                         return next;
                       });
      Value scale = builder.splat(op.getScale().convertToDouble());
      for (int64_t m = 0; m < vectors; ++m)
        builder.store(builder.mulF(scale, sums[m]), result, at(row, m), masks[m]);
      return SmallVector<Value>(ArrayRef<Value>(sums).drop_front(vectors));
    });
  }

  LinearAttentionOp op;
};
} // namespace

FailureOr<int64_t> sinter::lowerLinearAttentionKernel(func::FuncOp tensorKernel,
                                                      func::FuncOp loopKernel,
                                                      const TargetAttr &target) {
  if (failed(verifyLinearAttention(tensorKernel)))
    return failure();
  auto op = cast<LinearAttentionOp>(tensorKernel.front().front());
  return LinearAttentionForward(op, loopKernel, target).emit();
}
