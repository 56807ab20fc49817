//===- LinearAttentionKernel.cpp - Linear attention, token by token ---------===//
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
// are what the rule is. On a core of Zen 4 512 tokens of 32 heads of 128 x 128 take 20.4 ms, of
// which their 4 instructions of arithmetic a vector are 18.2. A state that only adds (u = beta v)
// needs no p: 5 operations an element.
//
// A chunk of one token leaves the state where it is and passes over it twice, for p and for the
// rest: memory decides, which it crosses once in each direction. A chunk and its tokens one by one
// give the same bits.
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
      : LinearAttentionEmitter(op, loopKernel, target), op(op), asksState(!op.getAdditive()) {}

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

  Value compare(arith::CmpIPredicate predicate, Value number) {
    return arith::CmpIOp::create(builder, predicate, number, builder.index(0));
  }
  /// Whether the slot's sequence begins with the chunk.
  Value isFirst() { return compare(arith::CmpIPredicate::eq, loadOfSlot(op.getStart())); }

  /// u of a token, given p of the state before it where it is asked.
  SmallVector<Value> getSteps(Value t, Value factor, ValueRange said) {
    Value beta = builder.loadSplat(getMemory(op.getBeta()), getGate(t));
    SmallVector<Value> steps;
    for (int64_t m = 0; m < vectors; ++m) {
      Value v = builder.load(getMemory(op.getValue()), at(getValueRow(t), m), masks[m]);
      if (asksState)
        v = builder.subF(v, builder.mulF(factor, said[m]));
      steps.push_back(builder.mulF(beta, v));
    }
    return steps;
  }
  void storeResult(Value t, ValueRange sums) {
    Value scale = builder.splat(op.getScale().convertToDouble());
    for (int64_t m = 0; m < vectors; ++m)
      builder.store(builder.mulF(scale, sums[m]), getMemoryOfResult(op.getResult()),
                    at(getValueRow(t), m), masks[m]);
  }

  /// A chunk of one token: the state goes from memory to memory, its second reading from a cache.
  void emitStep() {
    Value token = builder.index(0), keys = getKeyRow(token), begins = isFirst();
    Value next = getMemoryOfResult(op.getNext());
    SmallVector<Value> known;
    for (int64_t m = 0; m < vectors; ++m) {
      Value left = builder.sub(builder.index(width - m * lanes), first);
      known.push_back(
          builder.maskBelow(arith::SelectOp::create(builder, begins, builder.index(0), left)));
    }
    auto loadRow = [&](Value i, int64_t m) {
      return builder.load(getMemory(op.getState()), at(getStateRow(i), m), known[m]);
    };
    auto take = [&] {
      SmallVector<Value> said;
      if (asksState)
        said = sumRows(vectors, [&](Value i, MutableArrayRef<Value> sums) {
          Value k = builder.loadSplat(getMemory(op.getKey()), builder.add(keys, i));
          for (int64_t m = 0; m < vectors; ++m)
            sums[m] = builder.fma(k, loadRow(i, m), sums[m]);
        });
      Value factor = getFactor(getGate(token));
      SmallVector<Value> steps = getSteps(token, factor, said);
      storeResult(token, sumRows(vectors, [&](Value i, MutableArrayRef<Value> sums) {
                    Value k = builder.loadSplat(getMemory(op.getKey()), builder.add(keys, i)),
                          q = builder.loadSplat(getMemory(op.getQuery()), builder.add(keys, i));
                    for (int64_t m = 0; m < vectors; ++m) {
                      Value row = builder.mulF(factor, loadRow(i, m));
                      row = builder.fma(k, steps[m], row);
                      builder.store(row, next, at(getStateRow(i), m), masks[m]);
                      sums[m] = builder.fma(q, row, sums[m]);
                    }
                  }));
    };
    auto pause = [&] {
      forEachRow([&](Value i) {
        for (int64_t m = 0; m < vectors; ++m)
          builder.store(loadRow(i, m), next, at(getStateRow(i), m), masks[m]);
      });
      storeResult(token, zeros(vectors));
    };
    builder.ifThen(compare(arith::CmpIPredicate::sgt, loadOfSlot(op.getCount())), take, pause);
  }

  void emitItem() {
    if (tokens == 1 && op.getNext() && getMemoryOfResult(op.getNext()))
      return emitStep();
    Value count = builder.index(tokens);
    if (!op.getState()) {
      clearState();
    } else {
      count = builder.min(count, builder.max(loadOfSlot(op.getCount()), builder.index(0)));
      builder.ifThen(
          isFirst(), [&] { clearState(); },
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
    builder.loop(count, builder.index(tokens), 1, [&](Value t) { storeResult(t, zeros(vectors)); });
    if (Value next = op.getNext() ? getMemoryOfResult(op.getNext()) : Value())
      forEachRow([&](Value i) {
        for (int64_t m = 0; m < vectors; ++m)
          builder.store(builder.load(state, ofState(i, m)), next, at(getStateRow(i), m), masks[m]);
      });
  }

  /// Sums over the rows of the head's state.
  SmallVector<Value> sumRows(int64_t count,
                             llvm::function_ref<void(Value i, MutableArrayRef<Value> sums)> add) {
    return builder.loop(builder.index(0), builder.index(depth), 1, zeros(count),
                        [&](Value i, ValueRange sums) {
                          SmallVector<Value> next(sums);
                          add(i, next);
                          return next;
                        });
  }

  void emitTokens(Value count) {
    Value query = getMemory(op.getQuery()), key = getMemory(op.getKey());
    Value firstKeys = getKeyRow(builder.index(0)), last = builder.index(tokens - 1);
    SmallVector<Value> said;
    if (asksState)
      said = sumRows(vectors, [&](Value i, MutableArrayRef<Value> sums) {
        Value k = builder.loadSplat(key, builder.add(firstKeys, i));
        for (int64_t m = 0; m < vectors; ++m)
          sums[m] = builder.fma(k, builder.load(state, ofState(i, m)), sums[m]);
      });
    builder.loop(builder.index(0), count, 1, said, [&](Value t, ValueRange said) {
      Value keys = getKeyRow(t), nextKeys = getKeyRow(builder.min(builder.add(t, 1), last));
      Value factor = getFactor(getGate(t));
      SmallVector<Value> steps = getSteps(t, factor, said);
      int64_t sumCount = asksState ? 2 * vectors : vectors;
      SmallVector<Value> sums = sumRows(sumCount, [&](Value i, MutableArrayRef<Value> sums) {
        Value k = builder.loadSplat(key, builder.add(keys, i)),
              q = builder.loadSplat(query, builder.add(keys, i)), nextK;
        if (asksState)
          nextK = builder.loadSplat(key, builder.add(nextKeys, i));
        for (int64_t m = 0; m < vectors; ++m) {
          Value s = builder.mulF(factor, builder.load(state, ofState(i, m)));
          s = builder.fma(k, steps[m], s);
          builder.store(s, state, ofState(i, m));
          sums[m] = builder.fma(q, s, sums[m]);
          if (asksState)
            sums[vectors + m] = builder.fma(nextK, s, sums[vectors + m]);
        }
      });
      storeResult(t, ArrayRef<Value>(sums).take_front(vectors));
      return SmallVector<Value>(ArrayRef<Value>(sums).drop_front(vectors));
    });
  }

  LinearAttentionOp op;
  const bool asksState; ///< what it says of a key, before it takes it in
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
