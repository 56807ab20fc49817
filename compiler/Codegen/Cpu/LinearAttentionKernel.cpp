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
#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <numbers>

using namespace mlir;
using namespace sinter;

/// Vectors of columns of an item.
static constexpr int64_t kMostVectors = 4;

namespace {
class LinearAttentionEmitter {
public:
  LinearAttentionEmitter(LinearAttentionOp op, func::FuncOp loopKernel, TargetAttr target)
      : builder(loopKernel, target), op(op), arguments(loopKernel.getArguments()),
        kernel(op->getParentOfType<func::FuncOp>()), lanes(builder.getLanes()),
        slots(op.getValue().getType().getDimSize(0)), tokens(op.getValue().getType().getDimSize(1)),
        heads(op.getValue().getType().getDimSize(2)), width(op.getValue().getType().getDimSize(3)),
        groups(op.getKey().getType().getDimSize(2)), depth(op.getKey().getType().getDimSize(3)),
        vectors(std::min<int64_t>(kMostVectors, llvm::divideCeil(width, lanes))),
        columns(vectors * lanes), state(builder.scratch(depth * columns, builder.getF32Type())) {}

  int64_t emit() {
    int64_t blocks = llvm::divideCeil(width, columns);
    builder.loop(arguments.drop_back().back(), arguments.back(), 1, [&](Value item) {
      Value ofAll = builder.div(item, blocks);
      slot = builder.div(ofAll, heads);
      head = builder.rem(ofAll, heads);
      first = builder.mul(builder.rem(item, blocks), columns);
      masks.assign(vectors, Value());
      if (width % columns != 0)
        for (int64_t i = 0; i < vectors; ++i)
          masks[i] = builder.maskBelow(builder.sub(builder.index(width - i * lanes), first));
      emitItem();
    });
    return slots * heads * blocks;
  }

private:
  Value getMemory(Value operand) { return arguments[cast<BlockArgument>(operand).getArgNumber()]; }
  /// The memory of a result, or null where nobody needs it.
  Value getMemoryOfResult(Value result) {
    OperandRange returned = kernel.front().getTerminator()->getOperands();
    auto found = llvm::find(returned, result);
    return found == returned.end()
               ? Value()
               : arguments[kernel.getNumArguments() + (found - returned.begin())];
  }

  Value multiplyAdd(Value a, int64_t b, Value c) { return builder.add(builder.mul(a, b), c); }
  Value getToken(Value t) { return multiplyAdd(slot, tokens, t); }
  /// Where a token's query and key of the head begin.
  Value getKeyRow(Value t) {
    Value group = builder.div(head, heads / groups);
    return builder.mul(multiplyAdd(getToken(t), groups, group), depth);
  }
  Value getGate(Value t) { return multiplyAdd(getToken(t), heads, head); }
  /// Where the item's columns of a token's value begin.
  Value getValueRow(Value t) { return multiplyAdd(getGate(t), width, first); }
  /// The same of row i of the head's state in memory.
  Value getStateRow(Value i) {
    Value row = multiplyAdd(multiplyAdd(slot, heads, head), depth, i);
    return multiplyAdd(row, width, first);
  }
  Value at(Value offset, int64_t vector) { return builder.add(offset, vector * lanes); }
  Value ofState(Value i, int64_t vector) { return at(builder.mul(i, columns), vector); }

  SmallVector<Value> zeros(int64_t count) {
    return SmallVector<Value>(static_cast<size_t>(count), builder.splat(0.0));
  }
  void forEachRow(llvm::function_ref<void(Value)> body) {
    builder.loop(builder.index(0), builder.index(depth), 1, body);
  }

  /// A number of the slot that is in memory.
  Value loadOfSlot(Value operand) {
    return arith::IndexCastOp::create(builder, builder.getIndexType(),
                                      memref::LoadOp::create(builder, getMemory(operand), slot));
  }

  void emitItem() {
    auto clear = [&] {
      forEachRow([&](Value i) {
        for (int64_t m = 0; m < vectors; ++m)
          builder.store(builder.splat(0.0), state, ofState(i, m));
      });
    };
    Value count = builder.index(tokens);
    if (!op.getState()) {
      clear();
    } else {
      count = builder.min(count, builder.max(loadOfSlot(op.getCount()), builder.index(0)));
      Value isFirst = arith::CmpIOp::create(builder, arith::CmpIPredicate::eq,
                                            loadOfSlot(op.getStart()), builder.index(0));
      builder.ifThen(isFirst, clear, [&] {
        forEachRow([&](Value i) {
          for (int64_t m = 0; m < vectors; ++m)
            builder.store(builder.load(getMemory(op.getState()), at(getStateRow(i), m), masks[m]),
                          state, ofState(i, m));
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
      Value decay = builder.exp2(builder.mulF(builder.loadSplat(getMemory(op.getDecay()), gate),
                                              builder.splat(std::numbers::log2e)));
      Value beta = builder.loadSplat(getMemory(op.getBeta()), gate);
      SmallVector<Value> steps;
      for (int64_t m = 0; m < vectors; ++m) {
        Value v = builder.load(value, at(row, m), masks[m]);
        steps.push_back(builder.mulF(beta, builder.subF(v, builder.mulF(decay, said[m]))));
      }
      SmallVector<Value> sums =
          builder.loop(builder.index(0), builder.index(depth), 1, zeros(2 * vectors),
                       [&](Value i, ValueRange sums) {
                         Value k = builder.loadSplat(key, builder.add(keys, i)),
                               q = builder.loadSplat(query, builder.add(keys, i)),
                               nextK = builder.loadSplat(key, builder.add(nextKeys, i));
                         SmallVector<Value> next(sums);
                         for (int64_t m = 0; m < vectors; ++m) {
                           Value s = builder.mulF(decay, builder.load(state, ofState(i, m)));
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

  VectorBuilder builder;
  LinearAttentionOp op;
  ValueRange arguments;
  func::FuncOp kernel;
  int64_t lanes, slots, tokens, heads, width, groups, depth, vectors, columns;
  Value state; ///< of an item, [depth][columns]
  Value slot, head, first;
  SmallVector<Value> masks; ///< of columns that there are, or nulls
};
} // namespace

FailureOr<int64_t> sinter::lowerLinearAttentionKernel(func::FuncOp tensorKernel,
                                                      func::FuncOp loopKernel,
                                                      const TargetAttr &target) {
  if (!llvm::hasSingleElement(tensorKernel.front().without_terminator()))
    return tensorKernel.emitError("expected a linear attention to be alone in its kernel");
  auto op = cast<LinearAttentionOp>(tensorKernel.front().front());
  if (llvm::any_of(op->getOperandTypes(), [](Type type) {
        return getElementTypeOrSelf(type).getIntOrFloatBitWidth() > 32;
      }))
    return op.emitError("expected numbers of at most 32 bits");
  return LinearAttentionEmitter(op, loopKernel, target).emit();
}
