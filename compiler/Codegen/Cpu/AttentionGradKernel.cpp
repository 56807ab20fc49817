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
// On a matrix unit (MatrixTiles.h) the five products are of bf16: P and dS are rounded, and turned
// for dV and dK. Q, dO and K lie in pairs of two rows where they are the right-hand side.
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
#include "compiler/Codegen/Cpu/MatrixTiles.h"
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
    Type rows = plan.usesTiles ? Type(builder.getBF16Type()) : f32;
    queries = builder.scratch(plan.rowBlock * width, rows);
    gradients = builder.scratch(plan.rowBlock * width, rows);
    logsumexps = builder.scratch(plan.rowBlock, f32);
    deltas = builder.scratch(plan.rowBlock, f32);
    froms = builder.scratch(plan.rowBlock, builder.getI32Type());
    tos = builder.scratch(plan.rowBlock, builder.getI32Type());
    keys = builder.scratch(plan.keyBlock * width, rows);
    keyPanels = builder.scratch(plan.keyBlock * width, rows);
    valuePanels = builder.scratch(plan.keyBlock * width, rows);
    keyGradients = builder.scratch(plan.keyBlock * width, f32);
    valueGradients = builder.scratch(plan.keyBlock * width, f32);
    weights = builder.scratch(pairs, rows);
    scoreGradients = builder.scratch(pairs, rows);
    if (plan.seedArgument)
      shares = builder.scratch(pairs, f32);
    if (plan.usesTiles) {
      queryPairs = builder.scratch(plan.rowBlock * width, rows);
      gradientPairs = builder.scratch(plan.rowBlock * width, rows);
      weightColumns = builder.scratch(pairs, rows);
      gradientColumns = builder.scratch(pairs, rows);
      scores = builder.scratch(pairs, f32);
      products = builder.scratch(pairs, f32);
      queryTile = builder.scratch(MatrixTiles::kMostRows * width, f32);
      matrixTiles.emplace(builder, MatrixTiles::kMostRows, plan.headSize, rows);
    }

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
    if (matrixTiles)
      matrixTiles->release();
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
      Value elements = builder.load(arguments[plan.query.argument], builder.add(query, d), mask);
      // In bf16 the factor waits until they are multiplied.
      if (!plan.usesTiles)
        elements = builder.mulF(elements, builder.splat(getFactor()));
      builder.store(elements, queries, at);
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
    if (plan.usesTiles)
      preparePairs();
    else
      preparePanels();
    for (Value sums : {keyGradients, valueGradients})
      builder.loop(builder.index(0), builder.index(plan.keyBlock * width), lanes,
                   [&](Value at) { builder.store(builder.splat(0.0), sums, at); });
  }

  void preparePanels() {
    auto prepareColumns = [&](const StridedInput &input, Value first, Value d, Value mask) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < lanes; ++i) {
        Value key = builder.min(builder.add(builder.add(firstKey, first), i),
                                builder.index(plan.maxSequence - 1));
        Value at = builder.add(offsetOf(input, key, keyHead), d);
        rows.push_back(builder.load(arguments[input.argument], at, mask));
        if (&input == &plan.key)
          builder.store(rows.back(), keys,
                        builder.add(builder.mul(builder.add(first, i), width), d));
      }
      Value panel = builder.add(builder.mul(first, width), builder.mul(d, lanes));
      for (auto [i, column] : llvm::enumerate(builder.transpose(rows)))
        builder.store(column, &input == &plan.key ? keyPanels : valuePanels,
                      builder.add(panel, static_cast<int64_t>(i) * lanes));
    };
    builder.loop(builder.index(0), builder.index(plan.keyBlock), lanes, [&](Value first) {
      for (const StridedInput *input : {&plan.key, &plan.value}) {
        int64_t whole = plan.headSize / lanes * lanes;
        builder.loop(builder.index(0), builder.index(whole), lanes,
                     [&](Value d) { prepareColumns(*input, first, d, Value()); });
        if (whole < width)
          prepareColumns(*input, first, builder.index(whole), maskOfColumns(whole));
      }
    });
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
        if (plan.keyResult) {
          Value sums = builder.load(keyGradients, at);
          if (!plan.usesTiles)
            sums = builder.mulF(sums, builder.splat(1 / getFactor()));
          builder.store(sums, results[*plan.keyResult], to, maskOfColumns(d));
        }
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
      Value smallest = smallestFrom(builder.index(0), rowCount);
      builder.ifThen(isLess(smallest, builder.add(firstKey, plan.keyBlock)),
                     [&] { emitRowBlock(); });
    });
    finishKeys();
  }

  Value isLess(Value a, Value b) {
    return arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, a, b);
  }

  void emitRowBlock() {
    if (plan.usesTiles)
      return emitRowBlockOfTiles();
    builder.loop(builder.index(0), rowCount, plan.scoreRows, [&](Value r) {
      auto [from, to] = visibleKeys(r, plan.scoreRows);
      int64_t step = plan.keyVectors * lanes;
      builder.loop(builder.index(0), builder.index(plan.keyBlock), step,
                   [&, first = from, end = to](Value j) {
                     Value beforeEnd = isLess(builder.add(firstKey, j), end);
                     Value afterBegin = isLess(first, builder.add(builder.add(firstKey, j), step));
                     builder.ifThen(
                         arith::AndIOp::create(builder, beforeEnd, afterBegin),
                         [&] { emitScores(r, j); }, [&] { clearScores(r, j); });
                   });
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

  /// The smallest of the first positions that rows [from, to) see.
  Value smallestFrom(Value from, Value to) {
    return builder
        .loop(builder.add(from, 1), to, 1, loadIndex(froms, from),
              [&](Value r, ValueRange smallest) {
                return SmallVector<Value>{builder.min(smallest[0], loadIndex(froms, r))};
              })
        .front();
  }

  //===--------------------------------------------------------------------===//
  // Tiles
  //===--------------------------------------------------------------------===//

  /// Where a row's score with the block's key `j` is.
  Value scoreAt(Value r, int64_t row, Value j) {
    return builder.add(builder.mul(builder.add(r, row), plan.keyBlock), j);
  }

  void clearScores(Value r, Value j) {
    for (int64_t row = 0; row < plan.scoreRows; ++row)
      for (int64_t v = 0; v < plan.keyVectors; ++v)
        for (Value memory : {weights, scoreGradients})
          builder.store(builder.splat(0.0), memory, scoreAt(r, row, builder.add(j, v * lanes)));
  }

  /// Rows of `lhs` times the vectors of `panels` that hold keys from `j` on.
  SmallVector<Value> multiply(Value lhs, Value panels, Value r, Value j) {
    RegisterTile tile;
    tile.rows = plan.scoreRows;
    tile.vectors = plan.keyVectors;
    tile.lhs = [&](int64_t row, Value d) {
      return builder.loadSplat(lhs, builder.add(builder.mul(builder.add(r, row), width), d));
    };
    tile.rhs = [&](Value d) {
      SmallVector<Value> vectors;
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value panel = builder.mul(builder.add(j, v * lanes), width);
        vectors.push_back(builder.load(panels, builder.add(builder.mul(d, lanes), panel)));
      }
      return vectors;
    };
    return tile.accumulate(builder, builder.index(0), builder.index(plan.headSize),
                           tile.zeros(builder));
  }

  /// What dropout multiplies the weights of a tile with, to scratch.
  void emitShares(Value r, Value first) {
    double probability = op.getDropout().convertToDouble();
    builder.loop(r, builder.add(r, plan.scoreRows), 1, [&](Value row) {
      auto [t, head] = positionAndHead(row);
      Value number =
          emitWeightNumber(builder, plan, arguments[*plan.seedArgument], slot, head, t, firstKey);
      builder.loop(first, builder.add(first, plan.keyVectors * lanes), lanes, [&](Value j) {
        Value kept = builder.maskOfKept(builder.add(number, j), arguments[*plan.seedArgument],
                                        op.getStream(), probability);
        builder.store(
            builder.select(kept, builder.splat(1 / (1 - probability)), builder.splat(0.0)), shares,
            builder.add(builder.mul(row, plan.keyBlock), j));
      });
    });
  }

  /// What the weights of a row depend on beside its products, in every lane.
  struct RowOfScores {
    Value logsumexp, lower, upper, position, slope;
  };

  RowOfScores describeRow(Value rowOfBlock) {
    auto [t, head] = positionAndHead(rowOfBlock);
    RowOfScores row;
    row.logsumexp = builder.loadSplat(logsumexps, rowOfBlock);
    row.lower = builder.splatI32(loadIndex(froms, rowOfBlock));
    row.upper = builder.splatI32(loadIndex(tos, rowOfBlock));
    if (plan.slopesArgument) {
      row.position = builder.splatI32(builder.add(start, t));
      row.slope = builder.mulF(builder.loadSplat(arguments[*plan.slopesArgument], head),
                               builder.splat(std::numbers::log2e));
    }
    return row;
  }

  /// Caps scores; returns what their gradients are multiplied with for it.
  Value capScore(Value &score) {
    Value ratio = math::TanhOp::create(builder, score);
    double cap = op.getSoftcap()->convertToDouble();
    score = builder.mulF(ratio, builder.splat(cap * std::numbers::log2e));
    return builder.subF(builder.splat(1.0), builder.mulF(ratio, ratio));
  }

  /// Weights of scores of a row with a vector of positions.
  Value emitWeight(const RowOfScores &row, Value score, Value positions) {
    if (row.slope) {
      Value distance = arith::SubIOp::create(builder, positions, row.position);
      score = builder.fma(row.slope, arith::SIToFPOp::create(builder, score.getType(), distance),
                          score);
    }
    Value weight = builder.exp2(builder.subF(score, row.logsumexp));
    auto hide = [&](arith::CmpIPredicate predicate, Value bound) {
      Value visible = arith::CmpIOp::create(builder, predicate, positions, bound);
      weight = builder.select(visible, weight, builder.splat(0.0));
    };
    if (plan.usesTiles || op.getCausal() || plan.maxSequence % plan.keyBlock != 0)
      hide(arith::CmpIPredicate::slt, row.upper);
    if (op.getWindow() || plan.firstArgument)
      hide(arith::CmpIPredicate::sge, row.lower);
    return weight;
  }

  /// Weights, and gradients of the products of query and key, of a tile to scratch.
  void emitScores(Value r, Value j) {
    SmallVector<Value> products = multiply(queries, keyPanels, r, j);
    SmallVector<Value> positions;
    for (int64_t v = 0; v < plan.keyVectors; ++v)
      positions.push_back(builder.laneIndices(builder.add(builder.add(firstKey, j), v * lanes)));
    for (int64_t row = 0; row < plan.scoreRows; ++row) {
      RowOfScores ofRow = describeRow(builder.add(r, row));
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value at = scoreAt(r, row, builder.add(j, v * lanes));
        Value score = products[row * plan.keyVectors + v];
        // The factor of the gradient waits where the gradient will be.
        if (op.getSoftcap())
          builder.store(capScore(score), scoreGradients, at);
        builder.store(emitWeight(ofRow, score, positions[v]), weights, at);
      }
    }

    products = multiply(gradients, valuePanels, r, j);
    if (plan.seedArgument)
      emitShares(r, j);
    for (int64_t row = 0; row < plan.scoreRows; ++row) {
      Value delta = builder.loadSplat(deltas, builder.add(r, row));
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value at = scoreAt(r, row, builder.add(j, v * lanes));
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
      return builder.loadSplat(scoreGradients, scoreAt(r, row, k));
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

  //===--------------------------------------------------------------------===//
  // On a matrix unit
  //===--------------------------------------------------------------------===//

  using Place = MatrixTiles::Place;

  /// Keys and values of the block as panels of pairs along d [keyBlock / lanes][width / 2][lanes],
  /// keys as pairs of two, too.
  void preparePairs() {
    builder.loop(builder.index(0), builder.index(plan.keyBlock), lanes, [&](Value first) {
      for (const StridedInput *input : {&plan.key, &plan.value}) {
        Value panel = builder.mul(first, width);
        for (int64_t d = 0; d < width; d += 2 * lanes) {
          SmallVector<Value> rows;
          for (int64_t i = 0; i < lanes; ++i) {
            Value key = builder.min(builder.add(builder.add(firstKey, first), i),
                                    builder.index(plan.maxSequence - 1));
            rows.push_back(builder.loadPairs(arguments[input->argument],
                                             builder.add(offsetOf(*input, key, keyHead), d)));
          }
          if (input == &plan.key)
            for (int64_t i = 0; i < lanes; i += 2)
              storeTwoRows(rows[i], rows[i + 1], keys,
                           builder.add(builder.mul(builder.add(first, i), width), 2 * d));
          for (auto [i, column] : llvm::enumerate(builder.transposePairs(rows)))
            vector::StoreOp::create(builder, column, input == &plan.key ? keyPanels : valuePanels,
                                    builder.add(panel, (d + 2 * static_cast<int64_t>(i)) * lanes));
        }
      }
    });
  }

  /// Two rows of 2 * lanes elements as pairs of one of each.
  void storeTwoRows(Value row, Value next, Value memory, Value at) {
    for (int64_t half : {int64_t(0), lanes}) {
      SmallVector<int64_t> order;
      for (int64_t i = half; i < half + lanes; ++i)
        order.append({i, 2 * lanes + i});
      vector::StoreOp::create(builder, vector::ShuffleOp::create(builder, row, next, order), memory,
                              builder.add(at, 2 * half));
    }
  }

  void emitRowBlockOfTiles() {
    constexpr int64_t rowsOfTile = MatrixTiles::kMostRows, columns = MatrixTiles::kMostColumns;
    // Rows beyond the last see nothing: products are of whole blocks.
    builder.loop(rowCount, builder.index(plan.rowBlock), 1,
                 [&](Value r) { storeIndex(builder.index(0), tos, r); });
    for (auto [rows, pairs] : {std::pair(queries, queryPairs), std::pair(gradients, gradientPairs)})
      builder.loop(builder.index(0), builder.index(plan.rowBlock), 2, [&](Value r) {
        Value row = builder.mul(r, width);
        for (int64_t d = 0; d < width; d += 2 * lanes)
          storeTwoRows(builder.loadPairs(rows, builder.add(row, d)),
                       builder.loadPairs(rows, builder.add(row, width + d)), pairs,
                       builder.add(row, 2 * d));
      });
    builder.loop(builder.index(0), builder.index(plan.rowBlock), rowsOfTile, [&](Value r) {
      Value end = builder.min(builder.add(r, rowsOfTile), rowCount);
      Value from = plan.firstArgument ? smallestFrom(r, end) : loadIndex(froms, r);
      Value to = loadIndex(tos, builder.max(builder.sub(end, builder.index(1)), builder.index(0)));
      Value hasRows = isLess(r, rowCount);
      for (int64_t column = 0; column < plan.keyBlock; column += columns) {
        Value beforeEnd = isLess(builder.add(firstKey, column), to);
        Value afterBegin = isLess(from, builder.add(firstKey, column + columns));
        Value some = arith::AndIOp::create(builder, hasRows,
                                           arith::AndIOp::create(builder, beforeEnd, afterBegin));
        builder.ifThen(some, [&] { emitScoresOfTile(r, column); }, [&] { clearTile(r, column); });
      }
    });
    turn(weights, weightColumns);
    turn(scoreGradients, gradientColumns);
    builder.loop(builder.index(0), builder.index(plan.keyBlock), rowsOfTile, [&](Value k) {
      if (plan.valueResult)
        addProduct(weightColumns, plan.rowBlock, k, gradientPairs, valueGradients, k,
                   /*first=*/false);
      if (plan.keyResult)
        addProduct(gradientColumns, plan.rowBlock, k, queryPairs, keyGradients, k,
                   /*first=*/false);
    });
    if (plan.queryResult)
      builder.loop(builder.index(0), rowCount, rowsOfTile, [&](Value r) {
        addProduct(scoreGradients, plan.keyBlock, r, keys, queryTile, builder.index(0),
                   /*first=*/true);
        addQueryTile(r);
      });
  }

  /// sums[to..] (+)= lhs[row..] * a block's rows as pairs of two; lhs has `depth` elements a row.
  void addProduct(Value lhs, int64_t depth, Value row, Value pairs, Value sums, Value to,
                  bool first) {
    for (int64_t column = 0; column < width; column += MatrixTiles::kMostColumns) {
      MatrixTiles::Product product;
      product.rows = MatrixTiles::kMostRows;
      product.lhs = [&](Value k) {
        return Place{lhs, builder.add(builder.mul(row, depth), k), depth};
      };
      product.rhs = [&](Value k) {
        Place place{pairs, builder.add(builder.mul(k, width), 2 * column), 2 * width};
        return place.withColumns(builder, 2 * MatrixTiles::kEdge);
      };
      product.sums = {sums, builder.add(builder.mul(to, width), column), width};
      matrixTiles->multiply(product, builder.index(0), builder.index(depth), depth, first);
    }
  }

  /// Rows of lhs times keys or values of the block from `column` on, to `sums`.
  void multiplyPanels(Value lhs, Value panels, Value r, int64_t column, Value sums) {
    MatrixTiles::Product product;
    product.rows = MatrixTiles::kMostRows;
    product.lhs = [&](Value d) { return Place{lhs, builder.add(builder.mul(r, width), d), width}; };
    product.rhs = [&](Value d) {
      Place place{panels, builder.add(builder.mul(d, lanes), column * width), 2 * lanes};
      return place.withColumns(builder, MatrixTiles::kEdge * width);
    };
    product.sums = {sums, builder.add(builder.mul(r, plan.keyBlock), column), plan.keyBlock};
    matrixTiles->multiply(product, builder.index(0), builder.index(width), width, /*first=*/true);
  }

  void emitScoresOfTile(Value r, int64_t column) {
    multiplyPanels(queries, keyPanels, r, column, scores);
    multiplyPanels(gradients, valuePanels, r, column, products);
    SmallVector<Value> positions;
    for (int64_t v = 0; v < MatrixTiles::kMostColumns; v += lanes)
      positions.push_back(builder.laneIndices(builder.add(firstKey, column + v)));
    builder.loop(r, builder.add(r, MatrixTiles::kMostRows), 1, [&](Value row) {
      RowOfScores ofRow = describeRow(row);
      Value delta = builder.loadSplat(deltas, row);
      for (auto [v, position] : llvm::enumerate(positions)) {
        Value at =
            builder.add(builder.mul(row, plan.keyBlock), column + static_cast<int64_t>(v) * lanes);
        Value score = builder.mulF(builder.load(scores, at), builder.splat(getFactor()));
        Value capped = op.getSoftcap() ? capScore(score) : Value();
        Value weight = emitWeight(ofRow, score, position);
        builder.store(weight, weights, at);
        Value factor = builder.mulF(weight, builder.splat(op.getScale().convertToDouble()));
        if (capped)
          factor = builder.mulF(factor, capped);
        builder.store(builder.mulF(factor, builder.subF(builder.load(products, at), delta)),
                      scoreGradients, at);
      }
    });
  }

  void clearTile(Value r, int64_t column) {
    builder.loop(r, builder.add(r, MatrixTiles::kMostRows), 1, [&](Value row) {
      for (int64_t v = 0; v < MatrixTiles::kMostColumns; v += lanes)
        for (Value memory : {weights, scoreGradients})
          builder.store(builder.splat(0.0), memory,
                        builder.add(builder.mul(row, plan.keyBlock), column + v));
    });
  }

  /// A block [rows][keys] as [keys][rows].
  void turn(Value block, Value columns) {
    builder.loop(builder.index(0), builder.index(plan.rowBlock), 2 * lanes, [&](Value r) {
      builder.loop(builder.index(0), builder.index(plan.keyBlock), lanes, [&](Value k) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < 2 * lanes; i += 2) {
          Value at = builder.add(builder.mul(builder.add(r, i), plan.keyBlock), k);
          rows.push_back(vector::InterleaveOp::create(
              builder, builder.loadStored(block, at),
              builder.loadStored(block, builder.add(at, plan.keyBlock))));
        }
        for (auto [i, column] : llvm::enumerate(builder.transposePairs(rows)))
          vector::StoreOp::create(
              builder, column, columns,
              builder.add(builder.mul(builder.add(k, static_cast<int64_t>(i)), plan.rowBlock), r));
      });
    });
  }

  /// Adds the tile's gradients of queries to the result.
  void addQueryTile(Value r) {
    Value count = builder.min(builder.sub(rowCount, r), builder.index(MatrixTiles::kMostRows));
    builder.loop(builder.index(0), count, 1, [&](Value row) {
      auto [t, head] = positionAndHead(builder.add(r, row));
      Value to = builder.mul(numberOf(t, plan.length, head, plan.heads), plan.headSize);
      for (int64_t d = 0; d < width; d += lanes) {
        Value sum = builder.load(queryTile, builder.add(builder.mul(row, width), d));
        Value at = builder.add(to, d);
        builder.store(builder.addF(builder.load(queryGradients(), at), sum), queryGradients(), at);
      }
    });
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
  // The same for a matrix unit.
  std::optional<MatrixTiles> matrixTiles;
  Value queryPairs, gradientPairs, weightColumns, gradientColumns, scores, products, queryTile;
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
