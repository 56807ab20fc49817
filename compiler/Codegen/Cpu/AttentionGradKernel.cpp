//===- AttentionGradKernel.cpp - Gradients of an attention, streaming -------===//
//
// Dao, "FlashAttention-2", 2023, algorithm 2: weights are computed again from the rows' logsumexp,
// so that nothing of the size of all scores exists here either. For one slot and one key-value
// head, with K^T and V^T of the block of keys as panels:
//
//   for each block of keys
//     dK = dV = 0
//     for each block of rows that sees one of the keys
//       for each tile of rows and keys
//         S = Q K^T, P = 2^(S - L)        0 where hidden
//         dP = dO V^T, dS = scale P (dP - D) (1 - tanh^2)
//       dV += P^T dO,  dK += dS^T Q       tiles of keys, summed over the rows that see them
//       dQ += dS K                        tiles of rows, summed over the keys that they see
//
// L is the logsumexp in units of log 2, as the scores are; D is delta. dQ is summed up in the
// result. Q is multiplied with the scores' factor when it is copied, dK divided by it at the end.
// Tiles of scores that the mask leaves nothing of are zeros without being computed. With dropout,
// dP, and P for the sake of dV, are multiplied with what it multiplied the weights with.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/AttentionGradPlan.h"
#include "compiler/Codegen/Cpu/AttentionPlan.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <numbers>

using namespace mlir;
using namespace sinter;

namespace {

class AttentionGradEmitter {
public:
  AttentionGradEmitter(func::FuncOp loopKernel, TargetAttr target, const AttentionGradPlan &plan)
      : builder(loopKernel, target), plan(plan), op(plan.op),
        arguments(loopKernel.getArguments().drop_back(2)),
        results(arguments.drop_front(plan.op->getParentOfType<func::FuncOp>().getNumArguments())),
        lanes(builder.getLanes()), width(llvm::alignTo(plan.headSize, lanes)) {}

  void emit(Value begin, Value end) {
    Type f32 = builder.getF32Type();
    int64_t pairs = plan.rowBlock * plan.keyBlock;
    queries = builder.scratch(plan.rowBlock * width, f32);
    gradients = builder.scratch(plan.rowBlock * width, f32);
    logsumexps = builder.scratch(plan.rowBlock, f32);
    deltas = builder.scratch(plan.rowBlock, f32);
    froms = builder.scratch(plan.rowBlock, builder.getI32Type());
    tos = builder.scratch(plan.rowBlock, builder.getI32Type());
    keys = builder.scratch(plan.keyBlock * width, f32);
    keyPanels = builder.scratch(plan.keyBlock * width, f32);
    valuePanels = builder.scratch(plan.keyBlock * width, f32);
    keyGradients = builder.scratch(plan.keyBlock * width, f32);
    valueGradients = builder.scratch(plan.keyBlock * width, f32);
    weights = builder.scratch(pairs, f32);
    scoreGradients = builder.scratch(pairs, f32);
    if (plan.seedArgument)
      shares = builder.scratch(pairs, f32);

    builder.loop(begin, end, 1, [&](Value item) {
      keyHead = builder.rem(item, plan.keyHeads);
      slot = builder.div(item, plan.keyHeads);
      start = builder.index(0);
      if (plan.startArgument) {
        Value loaded = memref::LoadOp::create(builder, arguments[*plan.startArgument], slot);
        start = arith::IndexCastOp::create(builder, builder.getIndexType(), loaded);
        start = builder.max(start, builder.index(0));
      }
      if (plan.queryResult)
        clearQueryGradients();
      builder.loop(builder.index(0), builder.index(plan.maxSequence), plan.keyBlock,
                   [&](Value key) {
                     firstKey = key;
                     emitKeyBlock();
                   });
    });
  }

private:
  //===--------------------------------------------------------------------===//
  // Rows, keys and where they are
  //===--------------------------------------------------------------------===//

  Value maskOfColumns(int64_t column) {
    if (column + lanes <= plan.headSize)
      return {};
    return builder.maskBelow(builder.index(plan.headSize - column));
  }

  /// Row r of the block as (t, head); rows beyond the last repeat it.
  std::pair<Value, Value> positionAndHead(Value rowOfBlock) {
    Value row = builder.min(builder.add(firstRow, rowOfBlock), builder.index(plan.rows - 1));
    Value head = builder.add(builder.mul(keyHead, plan.group), builder.rem(row, plan.group));
    return {builder.div(row, plan.group), head};
  }

  Value offsetOf(const StridedInput &input, Value position, Value head) {
    Value at = builder.add(builder.mul(slot, input.strides[0]), input.offset);
    return builder.add(builder.add(at, builder.mul(position, input.strides[1])),
                       builder.mul(head, input.strides[2]));
  }

  /// Number of (slot, position, head) in row-major order.
  Value numberOf(Value position, int64_t length, Value head, int64_t heads) {
    Value at = builder.add(builder.mul(slot, length), position);
    return builder.add(builder.mul(at, heads), head);
  }

  Value loadIndex(Value memory, Value at) {
    Value loaded = memref::LoadOp::create(builder, memory, at);
    return arith::IndexCastOp::create(builder, builder.getIndexType(), loaded);
  }

  void storeIndex(Value index, Value memory, Value at) {
    Value narrow = arith::IndexCastOp::create(builder, builder.getI32Type(), index);
    memref::StoreOp::create(builder, narrow, memory, at);
  }

  /// What a product of query and key is multiplied with.
  double getFactor() {
    double scale = op.getScale().convertToDouble();
    return op.getSoftcap() ? scale / op.getSoftcap()->convertToDouble()
                           : scale * std::numbers::log2e;
  }

  //===--------------------------------------------------------------------===//
  // Copies
  //===--------------------------------------------------------------------===//

  void clearQueryGradients() {
    Value group = builder.mul(keyHead, plan.group);
    builder.loop(builder.index(0), builder.index(plan.length), 1, [&](Value t) {
      builder.loop(builder.index(0), builder.index(plan.group), 1, [&](Value head) {
        Value at = builder.mul(numberOf(t, plan.length, builder.add(group, head), plan.heads),
                               plan.headSize);
        for (int64_t d = 0; d < width; d += lanes)
          builder.store(builder.splat(0.0), results[*plan.queryResult], builder.add(at, d),
                        maskOfColumns(d));
      });
    });
  }

  void prepareRow(Value r) {
    auto [t, head] = positionAndHead(r);
    Value query = offsetOf(plan.query, t, head), gradient = offsetOf(plan.gradient, t, head);
    Value row = builder.mul(r, width);
    for (int64_t d = 0; d < width; d += lanes) {
      Value mask = maskOfColumns(d), at = builder.add(row, d);
      builder.store(
          builder.mulF(builder.load(arguments[plan.query.argument], builder.add(query, d), mask),
                       builder.splat(getFactor())),
          queries, at);
      builder.store(builder.load(arguments[plan.gradient.argument], builder.add(gradient, d), mask),
                    gradients, at);
    }
    Value number = numberOf(t, plan.length, head, plan.heads);
    Value log2e = arith::ConstantOp::create(builder, builder.getF32FloatAttr(std::numbers::log2e));
    Value logsumexp = builder.loadScalar(arguments[plan.logsumexpArgument], number);
    builder.storeScalar(arith::MulFOp::create(builder, logsumexp, log2e), logsumexps, r);
    builder.storeScalar(builder.loadScalar(arguments[plan.deltaArgument], number), deltas, r);

    Value position = builder.add(start, t), from = builder.index(0),
          to = builder.index(plan.maxSequence);
    if (op.getCausal())
      to = builder.min(to, builder.add(position, 1));
    if (op.getWindow())
      from = builder.max(from, builder.add(position, 1 - static_cast<int64_t>(*op.getWindow())));
    if (plan.firstArgument)
      from = builder.max(from, loadIndex(arguments[*plan.firstArgument],
                                         builder.add(builder.mul(slot, plan.length), t)));
    storeIndex(from, froms, r);
    storeIndex(to, tos, r);
  }

  /// Keys of the block as they are and as panels [keyBlock / lanes][width][lanes], values as
  /// panels. Keys beyond the last repeat it; they are hidden from every row.
  void prepareKeys() {
    builder.loop(builder.index(0), builder.index(plan.keyBlock), lanes, [&](Value first) {
      for (const StridedInput *input : {&plan.key, &plan.value})
        for (int64_t d = 0; d < width; d += lanes) {
          SmallVector<Value> rows;
          for (int64_t i = 0; i < lanes; ++i) {
            Value key = builder.min(builder.add(builder.add(firstKey, first), i),
                                    builder.index(plan.maxSequence - 1));
            Value at = builder.add(offsetOf(*input, key, keyHead), d);
            rows.push_back(builder.load(arguments[input->argument], at, maskOfColumns(d)));
            if (input == &plan.key)
              builder.store(rows.back(), keys,
                            builder.add(builder.mul(builder.add(first, i), width), d));
          }
          for (auto [i, column] : llvm::enumerate(builder.transpose(rows)))
            builder.store(column, input == &plan.key ? keyPanels : valuePanels,
                          builder.add(builder.mul(first, width), (d + i) * lanes));
        }
    });
    for (Value sums : {keyGradients, valueGradients})
      builder.loop(builder.index(0), builder.index(plan.keyBlock * width), lanes,
                   [&](Value at) { builder.store(builder.splat(0.0), sums, at); });
  }

  /// The block's sums to the results.
  void finishKeys() {
    Value count = builder.min(builder.sub(builder.index(plan.maxSequence), firstKey),
                              builder.index(plan.keyBlock));
    builder.loop(builder.index(0), count, 1, [&](Value j) {
      Value number = numberOf(builder.add(firstKey, j), plan.maxSequence, keyHead, plan.keyHeads);
      Value target = builder.mul(number, plan.headSize);
      for (int64_t d = 0; d < width; d += lanes) {
        Value at = builder.add(builder.mul(j, width), d), to = builder.add(target, d);
        if (plan.keyResult)
          builder.store(
              builder.mulF(builder.load(keyGradients, at), builder.splat(1 / getFactor())),
              results[*plan.keyResult], to, maskOfColumns(d));
        if (plan.valueResult)
          builder.store(builder.load(valueGradients, at), results[*plan.valueResult], to,
                        maskOfColumns(d));
      }
    });
  }

  //===--------------------------------------------------------------------===//
  // Blocks
  //===--------------------------------------------------------------------===//

  /// Rows of the head, counted from `origin` and clipped to [0, most], that can see one of
  /// `count` keys from the block's key `k` on, as far as positions tell: [first, second).
  std::pair<Value, Value> rowsThatSee(Value k, int64_t count, Value origin, Value most) {
    Value from = builder.index(0), to = most;
    Value key = builder.sub(builder.add(firstKey, k), start);
    auto clip = [&](Value t) {
      Value row = builder.sub(builder.mul(t, plan.group), origin);
      return builder.min(builder.max(row, builder.index(0)), most);
    };
    if (op.getCausal())
      from = clip(key);
    if (op.getWindow()) {
      int64_t window = static_cast<int64_t>(*op.getWindow());
      to = builder.max(from, clip(builder.add(key, count - 1 + window)));
    }
    return {from, to};
  }

  void emitKeyBlock() {
    prepareKeys();
    auto [from, to] =
        rowsThatSee(builder.index(0), plan.keyBlock, builder.index(0), builder.index(plan.rows));
    builder.loop(from, to, plan.rowBlock, [&, end = to](Value row) {
      firstRow = row;
      rowCount = builder.min(builder.sub(end, row), builder.index(plan.rowBlock));
      builder.loop(builder.index(0), builder.index(plan.rowBlock), 1,
                   [&](Value r) { prepareRow(r); });
      if (!plan.firstArgument)
        return emitRowBlock();
      Value smallest =
          builder
              .loop(builder.index(1), rowCount, 1, loadIndex(froms, builder.index(0)),
                    [&](Value r, ValueRange smallest) {
                      return SmallVector<Value>{builder.min(smallest[0], loadIndex(froms, r))};
                    })
              .front();
      builder.ifThen(isLess(smallest, builder.add(firstKey, plan.keyBlock)),
                     [&] { emitRowBlock(); });
    });
    finishKeys();
  }

  Value isLess(Value a, Value b) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
  }

  void emitRowBlock() {
    builder.loop(builder.index(0), rowCount, plan.scoreRows, [&](Value r) {
      auto [from, to] = visibleKeys(r, plan.scoreRows);
      for (int64_t v = 0; v < plan.keyBlock / lanes; v += plan.keyVectors) {
        Value beforeEnd = isLess(builder.add(firstKey, v * lanes), to);
        Value afterBegin = isLess(from, builder.add(firstKey, (v + plan.keyVectors) * lanes));
        builder.ifThen(
            arith::AndIOp::create(builder, beforeEnd, afterBegin), [&] { emitScores(r, v); },
            [&] { clearScores(r, v); });
      }
    });
    builder.loop(builder.index(0), builder.index(plan.keyBlock), plan.keyRows, [&](Value k) {
      auto [from, to] = rowsThatSee(k, plan.keyRows, firstRow, rowCount);
      for (int64_t v = 0; v < width / lanes; v += plan.headVectors) {
        if (plan.valueResult)
          emitKeyGradients(k, v, from, to, weights, gradients, valueGradients);
        if (plan.keyResult)
          emitKeyGradients(k, v, from, to, scoreGradients, queries, keyGradients);
      }
    });
    if (plan.queryResult)
      builder.loop(builder.index(0), rowCount, plan.queryRows, [&](Value r) {
        auto [from, to] = visibleKeys(r, plan.queryRows);
        auto clip = [&](Value key) {
          return builder.min(builder.max(builder.sub(key, firstKey), builder.index(0)),
                             builder.index(plan.keyBlock));
        };
        Value first = clip(from), last = builder.max(first, clip(to));
        for (int64_t v = 0; v < width / lanes; v += plan.headVectors)
          emitQueryGradients(r, v, first, last);
      });
  }

  /// Positions that some of rows [r, r + count) of the block see: [first, second).
  std::pair<Value, Value> visibleKeys(Value r, int64_t count) {
    Value from = loadIndex(froms, r), to = loadIndex(tos, builder.add(r, count - 1));
    if (plan.firstArgument)
      for (int64_t row = 1; row < count; ++row)
        from = builder.min(from, loadIndex(froms, builder.add(r, row)));
    return {from, to};
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  Value scoreAt(Value r, int64_t row, int64_t vector) {
    return builder.add(builder.mul(builder.add(r, row), plan.keyBlock), vector * lanes);
  }

  void clearScores(Value r, int64_t firstVector) {
    for (int64_t row = 0; row < plan.scoreRows; ++row)
      for (int64_t v = 0; v < plan.keyVectors; ++v)
        for (Value memory : {weights, scoreGradients})
          builder.store(builder.splat(0.0), memory, scoreAt(r, row, firstVector + v));
  }

  /// Rows of `lhs` times the vectors of `panels`.
  SmallVector<Value> multiply(Value lhs, Value panels, Value r, int64_t firstVector) {
    RegisterTile tile;
    tile.rows = plan.scoreRows;
    tile.vectors = plan.keyVectors;
    tile.lhs = [&](int64_t row, Value d) {
      return builder.loadSplat(lhs, builder.add(builder.mul(builder.add(r, row), width), d));
    };
    tile.rhs = [&](Value d) {
      SmallVector<Value> vectors;
      for (int64_t v = 0; v < plan.keyVectors; ++v)
        vectors.push_back(builder.load(
            panels, builder.add(builder.mul(d, lanes), (firstVector + v) * width * lanes)));
      return vectors;
    };
    return tile.accumulate(builder, builder.index(0), builder.index(plan.headSize),
                           tile.zeros(builder));
  }

  /// What dropout multiplies the weights of a tile with, to scratch.
  void emitShares(Value r, int64_t firstVector) {
    double probability = op.getDropout().convertToDouble();
    builder.loop(r, builder.add(r, plan.scoreRows), 1, [&](Value row) {
      auto [t, head] = positionAndHead(row);
      Value number =
          emitWeightNumber(builder, plan, arguments[*plan.seedArgument], slot, head, t, firstKey);
      builder.loop(builder.index(firstVector * lanes),
                   builder.index((firstVector + plan.keyVectors) * lanes), lanes, [&](Value j) {
                     Value kept =
                         builder.maskOfKept(builder.add(number, j), arguments[*plan.seedArgument],
                                            op.getStream(), probability);
                     builder.store(builder.select(kept, builder.splat(1 / (1 - probability)),
                                                  builder.splat(0.0)),
                                   shares, builder.add(builder.mul(row, plan.keyBlock), j));
                   });
    });
  }

  /// Weights, and gradients of the products of query and key, of a tile to scratch.
  void emitScores(Value r, int64_t firstVector) {
    SmallVector<Value> products = multiply(queries, keyPanels, r, firstVector);
    bool lowerBound = op.getWindow() || plan.firstArgument;
    bool upperBound = op.getCausal() || plan.maxSequence % plan.keyBlock != 0;
    SmallVector<Value> positions;
    for (int64_t v = 0; v < plan.keyVectors; ++v)
      positions.push_back(builder.laneIndices(builder.add(firstKey, (firstVector + v) * lanes)));
    for (int64_t row = 0; row < plan.scoreRows; ++row) {
      Value rowOfBlock = builder.add(r, row);
      auto [t, head] = positionAndHead(rowOfBlock);
      Value logsumexp = builder.loadSplat(logsumexps, rowOfBlock);
      Value lower = builder.splatI32(loadIndex(froms, rowOfBlock));
      Value upper = builder.splatI32(loadIndex(tos, rowOfBlock)), slope, position;
      if (plan.slopesArgument) {
        position = builder.splatI32(builder.add(start, t));
        slope = builder.mulF(builder.loadSplat(arguments[*plan.slopesArgument], head),
                             builder.splat(std::numbers::log2e));
      }
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value score = products[row * plan.keyVectors + v];
        Value at = scoreAt(r, row, firstVector + v);
        if (op.getSoftcap()) {
          // The factor of the gradient waits where the gradient will be.
          Value ratio = math::TanhOp::create(builder, score);
          builder.store(builder.subF(builder.splat(1.0), builder.mulF(ratio, ratio)),
                        scoreGradients, at);
          double cap = op.getSoftcap()->convertToDouble();
          score = builder.mulF(ratio, builder.splat(cap * std::numbers::log2e));
        }
        if (slope) {
          Value distance = arith::SubIOp::create(builder, positions[v], position);
          score = builder.fma(slope, arith::SIToFPOp::create(builder, score.getType(), distance),
                              score);
        }
        Value weight = builder.exp2(builder.subF(score, logsumexp));
        auto hide = [&](arith::CmpIPredicate predicate, Value bound) {
          Value visible = arith::CmpIOp::create(builder, predicate, positions[v], bound);
          weight = builder.select(visible, weight, builder.splat(0.0));
        };
        if (upperBound)
          hide(arith::CmpIPredicate::slt, upper);
        if (lowerBound)
          hide(arith::CmpIPredicate::sge, lower);
        builder.store(weight, weights, at);
      }
    }

    products = multiply(gradients, valuePanels, r, firstVector);
    if (plan.seedArgument)
      emitShares(r, firstVector);
    for (int64_t row = 0; row < plan.scoreRows; ++row) {
      Value delta = builder.loadSplat(deltas, builder.add(r, row));
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value at = scoreAt(r, row, firstVector + v);
        Value weight = builder.load(weights, at), product = products[row * plan.keyVectors + v];
        Value factor = builder.mulF(weight, builder.splat(op.getScale().convertToDouble()));
        if (plan.seedArgument) {
          Value share = builder.load(shares, at);
          product = builder.mulF(product, share);
          builder.store(builder.mulF(weight, share), weights, at);
        }
        if (op.getSoftcap())
          factor = builder.mulF(factor, builder.load(scoreGradients, at));
        builder.store(builder.mulF(factor, builder.subF(product, delta)), scoreGradients, at);
      }
    }
  }

  /// sums[k..] += coefficients^T rows for rows [from, to), some vectors of columns.
  void emitKeyGradients(Value k, int64_t firstVector, Value from, Value to, Value coefficients,
                        Value rows, Value sums) {
    RegisterTile tile;
    tile.rows = plan.keyRows;
    tile.lhs = [&](int64_t row, Value r) {
      return builder.loadSplat(coefficients,
                               builder.add(builder.mul(r, plan.keyBlock), builder.add(k, row)));
    };
    accumulate(tile, firstVector, rows, from, to, [&](int64_t row, int64_t column) {
      return std::pair(sums, builder.add(builder.mul(builder.add(k, row), width), column));
    });
  }

  /// Of rows [r, r + queryRows), for keys [from, to) of the block.
  void emitQueryGradients(Value r, int64_t firstVector, Value from, Value to) {
    RegisterTile tile;
    tile.rows = plan.queryRows;
    tile.lhs = [&](int64_t row, Value k) {
      return builder.loadSplat(scoreGradients, builder.add(scoreAt(r, row, 0), k));
    };
    // Rows beyond the last have its sums: what they store is the same.
    SmallVector<Value> offsets;
    for (int64_t row = 0; row < plan.queryRows; ++row) {
      auto [t, head] = positionAndHead(builder.add(r, row));
      offsets.push_back(builder.mul(numberOf(t, plan.length, head, plan.heads), plan.headSize));
    }
    accumulate(tile, firstVector, keys, from, to, [&](int64_t row, int64_t column) {
      return std::pair(results[*plan.queryResult], builder.add(offsets[row], column));
    });
  }

  /// Adds the tile's products with rows [from, to) of `rhs` to the sums at `place`(row, column).
  void accumulate(RegisterTile &tile, int64_t firstVector, Value rhs, Value from, Value to,
                  llvm::function_ref<std::pair<Value, Value>(int64_t, int64_t)> place) {
    tile.vectors = std::min(plan.headVectors, width / lanes - firstVector);
    tile.rhs = [&](Value k) {
      SmallVector<Value> vectors;
      for (int64_t v = 0; v < tile.vectors; ++v)
        vectors.push_back(
            builder.load(rhs, builder.add(builder.mul(k, width), (firstVector + v) * lanes)));
      return vectors;
    };
    SmallVector<Value> sums;
    auto visit = [&](auto action) {
      for (int64_t row = 0; row < tile.rows; ++row)
        for (int64_t v = 0; v < tile.vectors; ++v) {
          int64_t column = (firstVector + v) * lanes;
          auto [memory, at] = place(row, column);
          action(memory, at, memory == queryGradients() ? maskOfColumns(column) : Value());
        }
    };
    visit([&](Value memory, Value at, Value mask) {
      sums.push_back(builder.load(memory, at, mask));
    });
    sums = tile.accumulate(builder, from, to, sums);
    auto next = sums.begin();
    visit([&](Value memory, Value at, Value mask) { builder.store(*next++, memory, at, mask); });
  }

  Value queryGradients() { return plan.queryResult ? results[*plan.queryResult] : Value(); }

  VectorBuilder builder;
  const AttentionGradPlan &plan;
  AttentionGradOp op;
  ValueRange arguments, results;
  int64_t lanes, width;
  // Scratch: of the block of rows, of the block of keys, of both.
  Value queries, gradients, logsumexps, deltas, froms, tos;
  Value keys, keyPanels, valuePanels, keyGradients, valueGradients;
  Value weights, scoreGradients, shares;
  // Of the current item and blocks.
  Value slot, keyHead, start, firstKey, firstRow, rowCount;
};

} // namespace

FailureOr<int64_t> sinter::lowerAttentionGradKernel(func::FuncOp tensorKernel,
                                                    func::FuncOp loopKernel,
                                                    const TargetAttr &target) {
  FailureOr<AttentionGradPlan> plan = AttentionGradPlan::make(tensorKernel, target);
  if (failed(plan))
    return failure();
  ValueRange arguments = loopKernel.getArguments();
  AttentionGradEmitter(loopKernel, target, *plan)
      .emit(arguments.drop_back().back(), arguments.back());
  return plan->getGrid();
}
