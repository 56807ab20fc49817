//===- LinearAttentionGradKernel.cpp - Linear attention, backwards ----------===//
//
// With the formulas of sinter.linear_attention_grad no sum has both a state and a gradient of one,
// so that each is passed over tokens by itself and only its newest value is there, some columns of
// it in scratch memory. Three passes over the tokens of a block of columns:
//
//   1. forwards, the state: u of each token
//   2. backwards, the state's gradient: G^T k of each token, and the part G u of key gradients
//   3. forwards, the state: all else
//
// A state that only adds has u = beta v, and no first pass.
//
// What a pass leaves to the next one, u and then G^T k, has the place of the value's gradient,
// which is there last. As in the kernel of the forward pass a token reads and writes each vector of
// the state once, with a sum over rows that its successor needs. Sums over columns are made of as
// many rows at once as a vector has elements: a square is turned, and its columns are added.
//
// A work item is a key head of a slot, with the value heads that read it and all their columns one
// after the other: its gradients are sums of theirs in one order.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/LinearAttentionEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace sinter;

namespace {
class LinearAttentionBackward : LinearAttentionEmitter {
public:
  LinearAttentionBackward(LinearAttentionGradOp op, func::FuncOp loopKernel, TargetAttr target)
      : LinearAttentionEmitter(op, loopKernel, target), op(op),
        ofQuery(getMemoryOfResult(op.getQueryGradient())),
        ofKey(getMemoryOfResult(op.getKeyGradient())),
        ofValue(getMemoryOfResult(op.getValueGradient())),
        ofDecay(getMemoryOfResult(op.getDecayGradient())),
        ofBeta(getMemoryOfResult(op.getBetaGradient())), query(makeRow()), key(makeRow()),
        otherKey(makeRow()), asksState(!op.getAdditive()) {}

  int64_t emit() {
    forEachItem([&](Value item) {
      slot = builder.div(item, groups);
      Value group = builder.rem(item, groups);
      head = builder.mul(group, heads / groups);
      clearKeyGradients();
      builder.loop(builder.index(0), builder.index(heads / groups), 1, [&](Value i) {
        head = multiplyAdd(group, heads / groups, i);
        emitHead();
      });
    });
    return slots * groups;
  }

private:
  Value makeRow() { return builder.scratch(rows, builder.getF32Type()); }
  void forEachToken(llvm::function_ref<void(Value)> body) {
    builder.loop(builder.index(0), builder.index(tokens), 1, body);
  }
  /// Vectors of a key.
  void forEachPart(llvm::function_ref<void(Value begin, Value mask)> body) {
    builder.loop(builder.index(0), builder.index(rows), lanes,
                 [&](Value begin) { body(begin, maskOfPart(begin)); });
  }
  /// The elements of a key from one on that there are, or null.
  Value maskOfPart(Value begin) {
    return depth == rows ? Value() : builder.maskBelow(builder.sub(builder.index(depth), begin));
  }

  void clearKeyGradients() {
    forEachToken([&](Value t) {
      Value row = getKeyRow(t);
      forEachPart([&](Value i, Value mask) {
        for (Value memory : {ofQuery, ofKey})
          if (memory)
            builder.store(builder.splat(0.0), memory, builder.add(row, i), mask);
      });
    });
  }

  void emitHead() {
    Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0));
    forEachToken([&](Value t) {
      for (Value memory : {ofDecay, ofBeta})
        if (memory)
          builder.storeScalar(zero, memory, getGate(t));
    });
    builder.loop(builder.index(0), builder.index(width), columns, [&](Value begin) {
      setColumns(begin);
      if (asksState)
        emitSteps();
      emitBackwards();
      emitForwards();
    });
    if (ofDecay)
      builder.loop(builder.index(0), builder.index(tokens), 1, zero, [&](Value n, ValueRange sum) {
        Value gate = getGate(fromLast(n));
        Value next = arith::AddFOp::create(builder, sum[0], builder.loadScalar(ofDecay, gate));
        builder.storeScalar(next, ofDecay, gate);
        return SmallVector<Value>{next};
      });
  }

  Value fromLast(Value n) { return builder.sub(builder.index(tokens - 1), n); }
  Value after(Value t) { return builder.min(builder.add(t, 1), builder.index(tokens - 1)); }

  /// A token's row of queries or keys, in f32 and with zeros behind it.
  void copyRow(Value operand, Value t, Value row) {
    Value begin = getKeyRow(t);
    forEachPart([&](Value i, Value mask) {
      builder.store(builder.load(getMemory(operand), builder.add(begin, i), mask), row, i);
    });
  }
  Value loadBeta(Value t) { return builder.loadSplat(getMemory(op.getBeta()), getGate(t)); }
  /// A token's numbers of the block's columns.
  SmallVector<Value> loadColumns(Value memory, Value t) {
    SmallVector<Value> numbers;
    for (int64_t m = 0; m < vectors; ++m)
      numbers.push_back(builder.load(memory, at(getValueRow(t), m), masks[m]));
    return numbers;
  }
  void storeColumns(ValueRange numbers, Value memory, Value t) {
    for (int64_t m = 0; m < vectors; ++m)
      builder.store(numbers[m], memory, at(getValueRow(t), m), masks[m]);
  }
  SmallVector<Value> scaled(Value factor, ValueRange numbers) {
    SmallVector<Value> products;
    for (Value number : numbers)
      products.push_back(builder.mulF(factor, number));
    return products;
  }
  /// The gradient of a token's result, times the scale.
  SmallVector<Value> loadGradient(Value t) {
    return scaled(builder.splat(op.getScale().convertToDouble()),
                  loadColumns(getMemory(op.getGradient()), t));
  }
  /// v - a p of a token, given p where the state is asked.
  SmallVector<Value> getMisses(Value t, Value factor, ValueRange said) {
    SmallVector<Value> misses = loadColumns(getMemory(op.getValue()), t);
    for (int64_t m = 0; m < vectors && asksState; ++m)
      misses[m] = builder.subF(misses[m], builder.mulF(factor, said[m]));
    return misses;
  }
  Value sumOfProducts(ValueRange a, ValueRange b) {
    Value sum = builder.mulF(a[0], b[0]);
    for (size_t m = 1; m < a.size(); ++m)
      sum = builder.fma(a[m], b[m], sum);
    return sum;
  }
  SmallVector<Value> loadRow(Value i) {
    SmallVector<Value> row;
    for (int64_t m = 0; m < vectors; ++m)
      row.push_back(builder.load(state, ofState(i, m)));
    return row;
  }
  void storeRow(ValueRange row, Value i) {
    for (int64_t m = 0; m < vectors; ++m)
      builder.store(row[m], state, ofState(i, m));
  }
  void addTo(MutableArrayRef<Value> sums, Value factor, ValueRange row) {
    for (auto [sum, each] : llvm::zip_equal(sums, row))
      sum = builder.fma(factor, each, sum);
  }

  /// Adds the sum over columns of each of `lanes` rows to numbers of the key head in memory.
  void addColumnSums(SmallVector<Value> sums, Value factor, Value memory, Value offset,
                     Value mask) {
    if (!memory)
      return;
    sums = builder.transpose(sums);
    for (size_t half = sums.size() / 2; half > 0; half /= 2)
      for (size_t i = 0; i < half; ++i)
        sums[i] = builder.addF(sums[i], sums[i + half]);
    Value before = builder.load(memory, offset, mask);
    builder.store(factor ? builder.fma(factor, sums[0], before) : builder.addF(sums[0], before),
                  memory, offset, mask);
  }
  /// Adds the sum over the block's columns to a number of each token.
  void addToGate(Value numbers, Value memory, Value t) {
    if (!memory)
      return;
    Value gate = getGate(t), before = builder.loadScalar(memory, gate);
    builder.storeScalar(arith::AddFOp::create(builder, before, builder.horizontalSum(numbers)),
                        memory, gate);
  }

  /// Pass 1.
  void emitSteps() {
    clearState();
    builder.loop(
        builder.index(0), builder.index(tokens), 1, zeros(vectors), [&](Value t, ValueRange said) {
          Value factor = getFactor(getGate(t));
          SmallVector<Value> steps = scaled(loadBeta(t), getMisses(t, factor, said));
          storeColumns(steps, ofValue, t);
          copyRow(op.getKey(), t, key);
          copyRow(op.getKey(), after(t), otherKey);
          return builder.loop(builder.index(0), builder.index(depth), 1, zeros(vectors),
                              [&](Value i, ValueRange sums) {
                                SmallVector<Value> next(sums), row = scaled(factor, loadRow(i));
                                addTo(row, builder.loadSplat(key, i), steps);
                                storeRow(row, i);
                                addTo(next, builder.loadSplat(otherKey, i), row);
                                return next;
                              });
        });
  }

  /// Pass 2.
  void emitBackwards() {
    Value last = builder.index(tokens - 1);
    copyRow(op.getQuery(), last, query);
    copyRow(op.getKey(), last, key);
    SmallVector<Value> gradient = loadGradient(last);
    SmallVector<Value> ofStep = builder.loop(
        builder.index(0), builder.index(rows), 1, zeros(vectors), [&](Value i, ValueRange sums) {
          SmallVector<Value> next(sums), row = scaled(builder.loadSplat(query, i), gradient);
          storeRow(row, i);
          addTo(next, builder.loadSplat(key, i), row);
          return next;
        });
    builder.loop(builder.index(0), builder.index(tokens), 1, ofStep,
                 [&](Value n, ValueRange ofStep) {
                   Value t = fromLast(n);
                   return emitBackwards(t, ofStep);
                 });
  }

  /// A token of it, whose G has its query's part. Returns G^T k of the token before.
  SmallVector<Value> emitBackwards(Value t, ValueRange ofStep) {
    Value before = builder.max(builder.sub(t, builder.index(1)), builder.index(0));
    Value factor = getFactor(getGate(t)), gradients = getKeyRow(t);
    SmallVector<Value> steps = asksState
                                   ? loadColumns(ofValue, t)
                                   : scaled(loadBeta(t), loadColumns(getMemory(op.getValue()), t));
    SmallVector<Value> values = scaled(loadBeta(t), ofStep), gradient = loadGradient(before);
    storeColumns(ofStep, ofValue, t);
    copyRow(op.getKey(), t, key);
    copyRow(op.getKey(), before, otherKey);
    copyRow(op.getQuery(), before, query);
    return builder.loop(
        builder.index(0), builder.index(rows), lanes, zeros(vectors),
        [&](Value begin, ValueRange sums) {
          SmallVector<Value> next(sums), ofKeys;
          for (int64_t lane = 0; lane < lanes; ++lane) {
            Value i = builder.add(begin, lane), k = builder.loadSplat(key, i);
            SmallVector<Value> row = loadRow(i);
            ofKeys.push_back(sumOfProducts(row, steps));
            for (int64_t m = 0; m < vectors && asksState; ++m)
              row[m] = builder.subF(row[m], builder.mulF(k, values[m]));
            row = scaled(factor, row);
            addTo(row, builder.loadSplat(query, i), gradient);
            storeRow(row, i);
            addTo(next, builder.loadSplat(otherKey, i), row);
          }
          addColumnSums(ofKeys, {}, ofKey, builder.add(gradients, begin), maskOfPart(begin));
          return next;
        });
  }

  /// Pass 3.
  void emitForwards() {
    clearState();
    builder.loop(builder.index(0), builder.index(tokens), 1, zeros(asksState ? vectors : 0),
                 [&](Value t, ValueRange said) { return emitForwards(t, said); });
  }

  /// A token of it, given p where the state is asked. Returns p of the next one.
  SmallVector<Value> emitForwards(Value t, ValueRange said) {
    Value factor = getFactor(getGate(t)), beta = loadBeta(t), gradients = getKeyRow(t);
    SmallVector<Value> misses = getMisses(t, factor, said), steps = scaled(beta, misses),
                       ofStep = loadColumns(ofValue, t), values = scaled(beta, ofStep),
                       gradient = loadGradient(t);
    storeColumns(values, ofValue, t);
    addToGate(sumOfProducts(misses, ofStep), ofBeta, t);
    copyRow(op.getQuery(), t, query);
    copyRow(op.getKey(), t, key);
    if (asksState)
      copyRow(op.getKey(), after(t), otherKey);
    int64_t saidCount = asksState ? vectors : 0;
    Value negated = builder.subF(builder.splat(0.0), factor);
    SmallVector<Value> sums =
        builder.loop(builder.index(0), builder.index(rows), lanes, zeros(saidCount + vectors),
                     [&](Value begin, ValueRange sums) {
                       SmallVector<Value> next(sums), ofKeys, ofQueries;
                       MutableArrayRef<Value> said = MutableArrayRef(next).take_front(saidCount),
                                              result = MutableArrayRef(next).drop_front(saidCount);
                       for (int64_t lane = 0; lane < lanes; ++lane) {
                         Value i = builder.add(begin, lane);
                         SmallVector<Value> row = loadRow(i);
                         if (asksState)
                           ofKeys.push_back(sumOfProducts(row, values));
                         row = scaled(factor, row);
                         addTo(row, builder.loadSplat(key, i), steps);
                         storeRow(row, i);
                         ofQueries.push_back(sumOfProducts(row, gradient));
                         if (asksState)
                           addTo(said, builder.loadSplat(otherKey, i), row);
                         addTo(result, builder.loadSplat(query, i), row);
                       }
                       Value offset = builder.add(gradients, begin), mask = maskOfPart(begin);
                       if (asksState)
                         addColumnSums(ofKeys, negated, ofKey, offset, mask);
                       addColumnSums(ofQueries, {}, ofQuery, offset, mask);
                       return next;
                     });
    Value value = sumOfProducts(loadColumns(getMemory(op.getValue()), t), values);
    Value result = sumOfProducts(ArrayRef<Value>(sums).drop_front(saidCount), gradient);
    addToGate(builder.subF(result, value), ofDecay, t);
    return SmallVector<Value>(ArrayRef<Value>(sums).take_front(saidCount));
  }

  LinearAttentionGradOp op;
  Value ofQuery, ofKey, ofValue, ofDecay, ofBeta; ///< gradients in memory, or nulls
  Value query, key, otherKey;                     ///< rows in scratch memory
  const bool asksState;                           ///< as LinearAttentionForward's
};
} // namespace

FailureOr<int64_t> sinter::lowerLinearAttentionGradKernel(func::FuncOp tensorKernel,
                                                          func::FuncOp loopKernel,
                                                          const TargetAttr &target) {
  if (failed(verifyLinearAttention(tensorKernel)))
    return failure();
  auto op = cast<LinearAttentionGradOp>(tensorKernel.front().front());
  for (Type type : op.getResultTypes())
    if (!getElementTypeOrSelf(type).isF32())
      return op.emitError("expected gradients of f32");
  if (!llvm::is_contained(tensorKernel.front().getTerminator()->getOperands(),
                          op.getValueGradient()))
    return op.emitError("expected the gradient of the value to be a result");
  return LinearAttentionBackward(op, loopKernel, target).emit();
}
