//===- AttentionKernel.cpp - Softmax of scores times values, streaming ------===//
//
// Scores never exist as a matrix (Dao et al., "FlashAttention", 2022; Milakov, Gimelshein, "Online
// normalizer calculation for softmax", 2018). For a block of query rows, whose output O, largest
// score m and sum of weights l are kept in scratch:
//
//   for each block of keys that a row may see
//     for each tile of rows
//       S = Q K^T                   register tiles; rows of Q against vectors of positions
//       mask, m' = max(m, max S), P = 2^(S - m'), c = 2^(m - m')
//       l = l c + sum P,  O = O c + P V
//   O / l
//
// Where the target has a matrix unit, both products of bf16 are its (MatrixTiles.h): scores of a
// tile of up to 32 rows lie in scratch, and outputs are summed where they are.
//
// Scores are in units of log 2 (the factor is part of the scale), so that one exp2 is all that the
// softmax needs. Blocks beyond what a tile sees are skipped; within a block every score is
// compared with its row's bounds. All lengths but the compiled ones come from `start`.
//
//===----------------------------------------------------------------------===//

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

/// Below every score: the running maximum of a row that has seen nothing.
constexpr double kNothing = -3.0e38;

class AttentionEmitter {
public:
  AttentionEmitter(func::FuncOp loopKernel, TargetAttr target, const AttentionPlan &plan)
      : builder(loopKernel, target), plan(plan), op(plan.op),
        arguments(loopKernel.getArguments().drop_back(2)),
        results(arguments.drop_front(plan.op->getParentOfType<func::FuncOp>().getNumArguments())),
        lanes(builder.getLanes()), rowWidth(llvm::alignTo(plan.headSize, lanes)) {}

  void emit(Value begin, Value end) {
    Type f32 = builder.getF32Type();
    queries = builder.scratch(plan.blockRows * rowWidth, plan.pairs ? keyType() : f32);
    outputs = builder.scratch(plan.blockRows * rowWidth, f32);
    largest = builder.scratch(plan.blockRows, f32);
    sums = builder.scratch(plan.blockRows * lanes, f32);
    scores = builder.scratch(plan.tileRows * plan.keyBlock, f32);
    if (pairValues())
      weights = builder.scratch(plan.tileRows * plan.keyBlock, keyType());
    if (plan.keys == AttentionPlan::Keys::Copied)
      copiedKeys = builder.scratch(plan.keyBlock * keyDepth(), plan.pairs ? keyType() : f32);
    if (plan.keyScales) {
      keyScales = builder.scratch(plan.keyBlock, f32);
      valueScales = builder.scratch(plan.keyBlock, f32);
    }
    if (plan.firstArgument)
      firsts = builder.scratch(plan.blockRows, builder.getI32Type());
    if (plan.usesTiles) {
      copiedValues = builder.scratch(plan.keyBlock * rowWidth, keyType());
      matrixTiles.emplace(builder, plan.tileRows, plan.headSize, keyType());
    }

    builder.loop(begin, end, 1, [&](Value item) {
      // The last rows see the most keys: they go first.
      Value block = builder.sub(builder.index(plan.blocks - 1), builder.rem(item, plan.blocks));
      Value headOfSlot = builder.div(item, plan.blocks);
      keyHead = builder.rem(headOfSlot, plan.keyHeads);
      slot = builder.div(headOfSlot, plan.keyHeads);
      firstRow = builder.mul(block, plan.blockRows);
      start = builder.index(0);
      if (plan.startArgument) {
        Value loaded = memref::LoadOp::create(builder, arguments[*plan.startArgument], slot);
        start = arith::IndexCastOp::create(builder, builder.getIndexType(), loaded);
        start = builder.max(start, builder.index(0));
      }
      emitBlock();
    });
    if (matrixTiles)
      matrixTiles->release();
  }

private:
  Type keyType() { return getElementTypeOrSelf(op.getKey().getType()); }
  /// Elements of a key in panels: whole pairs.
  int64_t keyDepth() { return llvm::alignTo(plan.headSize, plan.pairs ? 2 : 1); }
  /// Whether weights times values are products of pairs too.
  bool pairValues() const { return plan.pairs; }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  /// Row r of the block as (t, head); rows beyond the last repeat it.
  std::pair<Value, Value> positionAndHead(Value rowOfBlock) {
    Value row = builder.min(builder.add(firstRow, rowOfBlock), builder.index(plan.rows - 1));
    Value head = builder.add(builder.mul(keyHead, plan.group), builder.rem(row, plan.group));
    return {builder.div(row, plan.group), head};
  }

  Value maskOfColumns(int64_t column) {
    if (column + lanes <= plan.headSize)
      return {};
    return builder.maskBelow(builder.index(plan.headSize - column));
  }

  /// What a product of query and key is multiplied with.
  double getFactor() {
    double scale = op.getScale().convertToDouble();
    return op.getSoftcap() ? scale / op.getSoftcap()->convertToDouble()
                           : scale * std::numbers::log2e;
  }

  void prepareRow(Value r) {
    auto [t, head] = positionAndHead(r);
    ArrayRef<int64_t> strides = plan.query.strides;
    Value at = builder.add(builder.add(builder.mul(slot, strides[0]), builder.mul(t, strides[1])),
                           builder.add(builder.mul(head, strides[2]), plan.query.offset));
    Value row = builder.mul(r, rowWidth);
    for (int64_t d = 0; d < rowWidth; d += lanes) {
      Value query =
          builder.load(arguments[plan.query.argument], builder.add(at, d), maskOfColumns(d));
      // Pairs are rounded to bf16, so their factor waits until they are multiplied.
      if (!plan.pairs)
        query = builder.mulF(query, builder.splat(getFactor()));
      builder.store(query, queries, builder.add(row, d));
      builder.store(builder.splat(0.0), outputs, builder.add(row, d));
    }
    builder.store(builder.splat(0.0), sums, builder.mul(r, lanes));
    builder.storeScalar(arith::ConstantOp::create(builder, builder.getF32FloatAttr(kNothing)),
                        largest, r);
    if (plan.firstArgument) {
      Value first = memref::LoadOp::create(builder, arguments[*plan.firstArgument],
                                           builder.add(builder.mul(slot, plan.length), t));
      memref::StoreOp::create(builder, first, firsts, r);
    }
  }

  void finishRow(Value r) {
    auto [t, head] = positionAndHead(r);
    Value sum = builder.horizontalSum(builder.load(sums, builder.mul(r, lanes)));
    Value zero = arith::ConstantOp::create(builder, builder.getF32FloatAttr(0.0));
    // What dropout leaves of a row's weights stands for all of them.
    double share = 1 / (1 - op.getDropout().convertToDouble());
    Value kept = arith::ConstantOp::create(builder, builder.getF32FloatAttr(share));
    Value some = arith::CmpFOp::create(builder, arith::CmpFPredicate::UNE, sum, zero);
    Value inverse =
        arith::SelectOp::create(builder, some, arith::DivFOp::create(builder, kept, sum), zero);
    Value factor = builder.splat(inverse);
    Value position = builder.add(builder.mul(slot, plan.length), t);
    Value at = builder.mul(builder.add(builder.mul(position, plan.heads), head), plan.headSize);
    for (int64_t d = 0; d < rowWidth; d += lanes) {
      Value output =
          builder.mulF(builder.load(outputs, builder.add(builder.mul(r, rowWidth), d)), factor);
      for (Type type : plan.roundings)
        output = builder.roundTo(output, type);
      builder.store(output, results[plan.resultIndex], builder.add(at, d), maskOfColumns(d));
    }
    if (plan.logsumexpIndex) {
      // Of no weights the logarithm is minus infinity.
      Value ln2 = arith::ConstantOp::create(builder, builder.getF32FloatAttr(std::numbers::ln2));
      Value logarithm = arith::AddFOp::create(builder, builder.loadScalar(largest, r),
                                              math::Log2Op::create(builder, sum));
      builder.storeScalar(arith::MulFOp::create(builder, logarithm, ln2),
                          results[*plan.logsumexpIndex],
                          builder.add(builder.mul(position, plan.heads), head));
    }
  }

  //===--------------------------------------------------------------------===//
  // Blocks and tiles
  //===--------------------------------------------------------------------===//

  /// Positions that rows [r, r + count) of the block see together: [first, second).
  std::pair<Value, Value> visibleKeys(Value r, int64_t count) {
    Value from = builder.index(0), to = builder.index(plan.maxSequence);
    if (op.getCausal()) {
      auto [t, head] = positionAndHead(builder.add(r, count - 1));
      to = builder.min(to, builder.add(builder.add(start, t), 1));
    }
    if (op.getWindow()) {
      auto [t, head] = positionAndHead(r);
      int64_t window = static_cast<int64_t>(*op.getWindow());
      from = builder.max(from, builder.add(builder.add(start, t), 1 - window));
    }
    if (plan.firstArgument)
      from = builder.max(from, smallestFirst(r, count));
    return {from, to};
  }

  /// Of rows [r, r + count) of the block.
  Value smallestFirst(Value r, int64_t count) {
    auto load = [&](Value row) -> Value {
      Value first = memref::LoadOp::create(builder, firsts, row);
      return arith::IndexCastOp::create(builder, builder.getIndexType(), first);
    };
    // A tile's rows are few.
    if (count <= plan.tileRows) {
      Value smallest = load(r);
      for (int64_t row = 1; row < count; ++row)
        smallest = builder.min(smallest, load(builder.add(r, row)));
      return smallest;
    }
    return builder
        .loop(builder.add(r, 1), builder.add(r, count), 1, load(r),
              [&](Value row, ValueRange smallest) {
                return SmallVector<Value>{builder.min(smallest[0], load(row))};
              })
        .front();
  }

  void emitBlock() {
    int64_t lastBlockRows = plan.rows - (plan.blocks - 1) * plan.blockRows;
    blockRows = builder.index(plan.blockRows);
    if (lastBlockRows != plan.blockRows)
      blockRows = builder.min(blockRows, builder.sub(builder.index(plan.rows), firstRow));
    builder.loop(builder.index(0), builder.index(plan.blockRows), 1,
                 [&](Value r) { prepareRow(r); });

    auto [from, to] = visibleKeys(builder.index(0), plan.blockRows);
    Value aligned = builder.mul(builder.div(from, plan.keyBlock), plan.keyBlock);
    builder.loop(aligned, to, plan.keyBlock, [&](Value key) {
      if (plan.keys == AttentionPlan::Keys::Copied)
        copyKeys(key, to);
      if (plan.usesTiles)
        copyValues(key, to);
      if (plan.keyScales) {
        copyScales(*plan.keyScales, key, keyScales);
        copyScales(*plan.valueScales, key, valueScales);
      }
      builder.loop(builder.index(0), blockRows, plan.tileRows, [&](Value r) {
        auto [tileFrom, tileTo] = visibleKeys(r, plan.tileRows);
        Value beforeEnd = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, key, tileTo);
        Value afterBegin = arith::CmpIOp::create(builder, arith::CmpIPredicate::slt, tileFrom,
                                                 builder.add(key, plan.keyBlock));
        builder.ifThen(arith::AndIOp::create(builder, beforeEnd, afterBegin), [&, bound = tileTo] {
          if (matrixTiles)
            emitMatrixTile(key, r);
          else
            emitTile(key, r, bound);
        });
      });
    });
    builder.loop(builder.index(0), blockRows, 1, [&](Value r) { finishRow(r); });
  }

  /// Keys [key, key + keyBlock) as panels [keyBlock / lanes][keyDepth][lanes] of f32, or of pairs.
  void copyKeys(Value key, Value end) {
    Value count = builder.min(builder.sub(end, key), builder.index(plan.keyBlock));
    ArrayRef<int64_t> strides = plan.denseKey.strides;
    Value head =
        builder.add(builder.add(builder.mul(slot, strides[0]), builder.mul(keyHead, strides[2])),
                    plan.denseKey.offset);
    Value groups = builder.div(builder.add(count, lanes - 1), lanes);
    builder.loop(builder.index(0), groups, 1, [&](Value group) {
      Value panel = builder.mul(group, keyDepth() * lanes);
      // Vectors beyond the last key repeat it: their scores are masked.
      SmallVector<Value> positions;
      for (int64_t i = 0; i < lanes; ++i) {
        Value j = builder.add(builder.add(key, builder.mul(group, lanes)), i);
        j = builder.min(j, builder.index(plan.maxSequence - 1));
        positions.push_back(builder.add(head, builder.mul(j, strides[1])));
      }
      int64_t d = 0;
      // Pairs that are whole vectors are moved as words.
      for (; plan.pairs && d + 2 * lanes <= plan.headSize; d += 2 * lanes)
        copyPairs(positions, d, builder.add(panel, d * lanes));
      for (; d < rowWidth; d += lanes) {
        SmallVector<Value> rows;
        for (Value position : positions)
          rows.push_back(builder.load(arguments[plan.keyArgument], builder.add(position, d),
                                      maskOfColumns(d)));
        SmallVector<Value> columns = builder.transpose(rows);
        int64_t step = plan.pairs ? 2 : 1;
        for (int64_t i = 0; i < std::min(lanes, keyDepth() - d); i += step) {
          Value at = builder.add(panel, (d + i) * lanes);
          if (plan.pairs)
            builder.storePairs(columns[i], columns[i + 1], copiedKeys, at);
          else
            builder.store(columns[i], copiedKeys, at);
        }
      }
    });
  }

  /// Pairs [d, d + 2 * lanes) of the keys at `positions` to a panel.
  void copyPairs(ArrayRef<Value> positions, int64_t d, Value panel) {
    SmallVector<Value> rows;
    for (Value position : positions)
      rows.push_back(builder.loadPairs(arguments[plan.keyArgument], builder.add(position, d)));
    for (auto [i, column] : llvm::enumerate(builder.transposePairs(rows)))
      vector::StoreOp::create(builder, column, copiedKeys,
                              builder.add(panel, 2 * lanes * static_cast<int64_t>(i)));
  }

  /// Values of positions [key, key + keyBlock) as pairs of two positions [keyBlock / 2][headSize].
  void copyValues(Value key, Value end) {
    ArrayRef<int64_t> strides = plan.value.strides;
    Value memory = arguments[plan.valueArgument];
    Value head =
        builder.add(builder.add(builder.mul(slot, strides[0]), builder.mul(keyHead, strides[2])),
                    plan.value.offset);
    // Those beyond the last repeat it: their weights are zero.
    auto rowAt = [&](Value j) {
      Value position = builder.min(builder.add(key, j), builder.sub(end, builder.index(1)));
      return builder.add(head, builder.mul(position, strides[1]));
    };
    builder.loop(builder.index(0), builder.index(plan.keyBlock), 2, [&](Value j) {
      Value row = rowAt(j), next = rowAt(builder.add(j, 1));
      Value copied = builder.mul(j, plan.headSize);
      for (int64_t d = 0; d < plan.headSize; d += lanes) {
        if (isStream() && d % (2 * lanes) == 0)
          for (Value at : {row, next})
            builder.prefetch(memory, builder.add(at, d), plan.keyBlock * strides[1]);
        Value pairs =
            vector::InterleaveOp::create(builder, builder.loadStored(memory, builder.add(row, d)),
                                         builder.loadStored(memory, builder.add(next, d)));
        vector::StoreOp::create(builder, pairs, copiedValues, builder.add(copied, 2 * d));
      }
    });
  }

  /// Scales of keys [key, key + keyBlock), those beyond the last being zero or the last one's.
  void copyScales(const StridedInput &scales, Value key, Value copied) {
    ArrayRef<int64_t> strides = scales.strides;
    Value memory = arguments[scales.argument];
    Value head =
        builder.add(builder.add(builder.mul(slot, strides[0]), builder.mul(keyHead, strides[2])),
                    scales.offset);
    if (strides[1] != 1) {
      builder.loop(builder.index(0), builder.index(plan.keyBlock), 1, [&](Value i) {
        Value j = builder.min(builder.add(key, i), builder.index(plan.maxSequence - 1));
        Value at = builder.add(head, builder.mul(j, strides[1]));
        builder.storeScalar(builder.loadScalar(memory, at), copied, i);
      });
      return;
    }
    for (int64_t i = 0; i < plan.keyBlock; i += lanes) {
      Value j = builder.add(key, i), mask;
      if (plan.maxSequence % plan.keyBlock != 0)
        mask = builder.maskBelow(builder.sub(builder.index(plan.maxSequence), j));
      builder.store(builder.load(memory, builder.add(head, j), mask), copied, builder.index(i));
    }
  }

  /// Offset of element d of the vector of positions from `j` on, of the block at `key`.
  Value keyVectorAt(Value key, Value j, Value d) {
    int64_t depth = keyDepth();
    if (plan.keys == AttentionPlan::Keys::Copied)
      return builder.add(builder.mul(d, lanes), builder.mul(j, depth));
    int64_t interleave = plan.pairs ? 2 : 1, width = plan.panelWidth;
    int64_t panels = llvm::divideCeil(plan.maxSequence, width);
    Value head =
        builder.mul(builder.add(builder.mul(slot, plan.keyHeads), keyHead), panels * width * depth);
    // Vectors beyond max_sequence's last panel are masked: they may as well read that one.
    Value position = builder.add(key, j);
    Value panel = builder.min(builder.div(position, width), builder.index(panels - 1));
    Value at = builder.add(head, builder.mul(panel, width * depth));
    // d is even where pairs are read.
    return builder.add(builder.add(at, builder.mul(d, width)),
                       builder.mul(builder.rem(position, width), interleave));
  }

  void emitTile(Value key, Value r, Value bound) {
    Value count = builder.min(builder.sub(bound, key), builder.index(plan.keyBlock));
    SmallVector<Value> corrections = emitWeights(r, count, emitScores(key, r, count));
    if (plan.seedArgument)
      dropWeights(key, r);
    for (int64_t v = 0; v < rowWidth / lanes; v += plan.valueVectors)
      emitOutputs(key, r, v, count, corrections);
  }

  /// The same on the matrix unit.
  void emitMatrixTile(Value key, Value r) {
    using Place = MatrixTiles::Place;
    constexpr int64_t edge = MatrixTiles::kEdge, columns = MatrixTiles::kMostColumns;
    bool isCopied = plan.keys == AttentionPlan::Keys::Copied;
    Value keys = isCopied ? copiedKeys : arguments[plan.keyArgument];
    if (!isCopied && isStream())
      builder.loop(builder.index(0), builder.index(plan.keyBlock * keyDepth()), 2 * lanes,
                   [&](Value i) {
                     Value block = keyVectorAt(key, builder.index(0), builder.index(0));
                     builder.prefetch(keys, builder.add(block, i), plan.keyBlock * keyDepth());
                   });
    Value row = builder.mul(r, rowWidth);
    for (int64_t column = 0; column < plan.keyBlock; column += columns) {
      MatrixTiles::Product product;
      product.rows = plan.tileRows;
      product.lhs = [&](Value d) { return Place{queries, builder.add(row, d), rowWidth}; };
      product.rhs = [&](Value d) {
        int64_t stride = 2 * (isCopied ? lanes : plan.panelWidth);
        return std::array{Place{keys, keyVectorAt(key, builder.index(column), d), stride},
                          Place{keys, keyVectorAt(key, builder.index(column + edge), d), stride}};
      };
      product.sums = {scores, builder.index(column), plan.keyBlock};
      matrixTiles->multiply(product, builder.index(0), builder.index(plan.headSize), plan.headSize,
                            /*first=*/true);
    }

    builder.loop(builder.index(0), builder.index(plan.tileRows), 1, [&](Value rowOfTile) {
      Value rowOfBlock = builder.add(r, rowOfTile), at = builder.mul(rowOfTile, plan.keyBlock);
      RowOfScores ofRow = describeRow(rowOfBlock);
      Value top;
      SmallVector<Value> rowScores;
      for (int64_t v = 0; v < plan.keyBlock; v += lanes) {
        Value product = builder.load(scores, builder.add(at, v));
        Value score = emitScore(ofRow, product, builder.laneIndices(builder.add(key, v)));
        top = top ? builder.maxF(top, score) : score;
        rowScores.push_back(score);
      }
      auto [largestScore, correction] = raiseLargest(rowOfBlock, top);
      Value sumAt = builder.mul(rowOfBlock, lanes);
      Value sum = builder.mulF(builder.load(sums, sumAt), correction);
      for (auto [i, score] : llvm::enumerate(rowScores))
        sum = weigh(sum, score, largestScore, at, builder.index(static_cast<int64_t>(i) * lanes));
      builder.store(sum, sums, sumAt);
      Value output = builder.mul(rowOfBlock, rowWidth);
      for (int64_t d = 0; d < rowWidth; d += lanes) {
        Value place = builder.add(output, d);
        builder.store(builder.mulF(builder.load(outputs, place), correction), outputs, place);
      }
    });
    if (plan.seedArgument)
      dropWeights(key, r);

    for (int64_t column = 0; column < plan.headSize; column += columns) {
      MatrixTiles::Product product;
      product.rows = plan.tileRows;
      product.lhs = [&](Value j) { return Place{weights, j, plan.keyBlock}; };
      product.rhs = [&](Value j) {
        Place place{copiedValues, builder.add(builder.mul(j, plan.headSize), 2 * column),
                    2 * plan.headSize};
        return place.withColumns(builder, 2 * edge);
      };
      product.sums = {outputs, builder.add(row, column), rowWidth};
      matrixTiles->multiply(product, builder.index(0), builder.index(plan.keyBlock), plan.keyBlock,
                            /*first=*/false);
    }
  }

  //===--------------------------------------------------------------------===//
  // The three steps of a tile
  //===--------------------------------------------------------------------===//

  /// Goes through the first `count` positions of a block by vectors that a tile has side by side:
  /// what is behind them is neither computed nor read.
  SmallVector<Value>
  forEachVectors(Value count, ValueRange carried,
                 llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    int64_t step = plan.keyVectors * lanes;
    if (step == plan.keyBlock)
      return body(builder.index(0), carried);
    return builder.loop(builder.index(0), count, step, carried, body);
  }

  /// What the scores of a row depend on beside its products, in every lane.
  struct RowOfScores {
    Value position, lower, upper, slope;
  };

  RowOfScores describeRow(Value rowOfBlock) {
    auto [t, head] = positionAndHead(rowOfBlock);
    auto [from, to] = visibleKeys(rowOfBlock, 1);
    RowOfScores row{
        builder.splatI32(builder.add(start, t)), builder.splatI32(from), builder.splatI32(to), {}};
    if (plan.slopesArgument)
      row.slope = builder.mulF(builder.loadSplat(arguments[*plan.slopesArgument], head),
                               builder.splat(std::numbers::log2e));
    return row;
  }

  /// Masked scores of the tile's rows with `count` positions to scratch; returns the largest by
  /// lanes.
  SmallVector<Value> emitScores(Value key, Value r, Value count) {
    SmallVector<RowOfScores> rows;
    for (int64_t row = 0; row < plan.tileRows; ++row)
      rows.push_back(describeRow(builder.add(r, row)));
    Value none = builder.splat(-std::numeric_limits<double>::infinity());
    SmallVector<Value> tops(static_cast<size_t>(plan.tileRows), none);
    return forEachVectors(count, tops, [&](Value j, ValueRange before) {
      return emitScoresOfVectors(key, r, j, rows, before);
    });
  }

  SmallVector<Value> emitScoresOfVectors(Value key, Value r, Value j, ArrayRef<RowOfScores> rows,
                                         ValueRange before) {
    RegisterTile tile;
    tile.rows = plan.tileRows;
    tile.vectors = plan.keyVectors;
    tile.depth = plan.pairs ? 2 : 1;
    tile.matrixRows = plan.rows;
    tile.lhs = [&](int64_t row, Value d) {
      Value at = builder.add(builder.mul(builder.add(r, row), rowWidth), d);
      return plan.pairs ? builder.splatPair(queries, at) : builder.loadSplat(queries, at);
    };
    Value memory =
        plan.keys == AttentionPlan::Keys::Copied ? copiedKeys : arguments[plan.keyArgument];
    tile.rhs = [&](Value d) {
      SmallVector<Value> vectors;
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value at = keyVectorAt(key, builder.add(j, v * lanes), d);
        if (plan.keys == AttentionPlan::Keys::Panels)
          prefetchLine(memory, at, v, plan.keyBlock * plan.headSize);
        vectors.push_back(plan.pairs ? builder.loadPairs(memory, at) : builder.load(memory, at));
      }
      return vectors;
    };
    SmallVector<Value> products = tile.accumulate(
        builder, builder.index(0), builder.index(llvm::alignTo(plan.headSize, tile.depth)),
        tile.zeros(builder));

    SmallVector<Value> positions, scales;
    for (int64_t v = 0; v < plan.keyVectors; ++v) {
      Value first = builder.add(j, v * lanes);
      positions.push_back(builder.laneIndices(builder.add(key, first)));
      if (plan.keyScales)
        scales.push_back(builder.load(keyScales, first));
    }
    SmallVector<Value> tops(before);
    for (int64_t row = 0; row < plan.tileRows; ++row)
      for (int64_t v = 0; v < plan.keyVectors; ++v) {
        Value product = products[row * plan.keyVectors + v];
        if (plan.keyScales)
          product = builder.mulF(product, scales[v]);
        Value score = emitScore(rows[row], product, positions[v]);
        tops[row] = builder.maxF(tops[row], score);
        builder.store(score, scores, builder.add(j, row * plan.keyBlock + v * lanes));
      }
    return tops;
  }

  /// Masked scores of products with a vector of positions.
  Value emitScore(const RowOfScores &row, Value product, Value positions) {
    Value score = transform(product);
    if (row.slope) {
      Value distance = arith::SubIOp::create(builder, positions, row.position);
      score = builder.fma(row.slope, arith::SIToFPOp::create(builder, score.getType(), distance),
                          score);
    }
    Value hidden = builder.splat(-std::numeric_limits<double>::infinity());
    auto hide = [&](arith::CmpIPredicate isVisible, Value bound) {
      Value mask = arith::CmpIOp::create(builder, isVisible, positions, bound);
      score = builder.select(mask, score, hidden);
    };
    hide(arith::CmpIPredicate::slt, row.upper);
    if (op.getWindow() || plan.firstArgument)
      hide(arith::CmpIPredicate::sge, row.lower);
    return score;
  }

  /// From a product to a score in units of log 2, before bias and mask.
  Value transform(Value product) {
    if (plan.pairs)
      product = builder.mulF(product, builder.splat(getFactor()));
    if (!op.getSoftcap())
      return product;
    double cap = op.getSoftcap()->convertToDouble();
    return builder.mulF(math::TanhOp::create(builder, product),
                        builder.splat(cap * std::numbers::log2e));
  }

  /// Scores with `count` positions to weights; returns what each row's former sums are to be
  /// multiplied with. A row's chain of operations is long: rows take each step together.
  SmallVector<Value> emitWeights(Value r, Value count, ArrayRef<Value> tops) {
    SmallVector<Value> largestScores, corrections, rowSums;
    auto sumAt = [&](int64_t row) { return builder.mul(builder.add(r, row), lanes); };
    for (int64_t row = 0; row < plan.tileRows; ++row) {
      auto [largestScore, correction] = raiseLargest(builder.add(r, row), tops[row]);
      largestScores.push_back(largestScore);
      corrections.push_back(correction);
      rowSums.push_back(builder.mulF(builder.load(sums, sumAt(row)), correction));
    }
    rowSums = forEachVectors(count, rowSums, [&](Value j, ValueRange before) {
      SmallVector<Value> after(before);
      for (int64_t v = 0; v < plan.keyVectors; ++v)
        for (int64_t row = 0; row < plan.tileRows; ++row) {
          Value position = builder.add(j, v * lanes), at = builder.index(row * plan.keyBlock);
          Value score = builder.load(scores, builder.add(at, position));
          after[row] = weigh(after[row], score, largestScores[row], at, position);
        }
      return after;
    });
    for (int64_t row = 0; row < plan.tileRows; ++row)
      builder.store(rowSums[row], sums, sumAt(row));
    return corrections;
  }

  /// A row's largest score with these, in every lane, and what its former sums are to be
  /// multiplied with for it.
  std::pair<Value, Value> raiseLargest(Value rowOfBlock, Value tops) {
    Value before = builder.loadSplat(largest, rowOfBlock);
    Value top = builder.maxF(builder.horizontalMax(tops), before);
    builder.storeScalar(vector::ExtractOp::create(builder, top, 0), largest, rowOfBlock);
    return {top, builder.exp2(builder.subF(before, top))};
  }

  /// Weights of scores with the positions from `j` on, to the row that begins at `at`; returns the
  /// sum with them. Of values of 8 bits they are times their scales.
  Value weigh(Value sum, Value score, Value top, Value at, Value j) {
    Value weight = builder.exp2(builder.subF(score, top));
    sum = builder.addF(sum, weight);
    if (plan.valueScales)
      weight = builder.mulF(weight, builder.load(valueScales, j));
    builder.store(weight, pairValues() ? weights : scores, builder.add(at, j));
    return sum;
  }

  /// Sets the weights to zero that dropout does not keep; their sums are of all.
  void dropWeights(Value key, Value r) {
    builder.loop(builder.index(0), builder.index(plan.tileRows), 1, [&](Value row) {
      auto [t, head] = positionAndHead(builder.add(r, row));
      Value number =
          emitWeightNumber(builder, plan, arguments[*plan.seedArgument], slot, head, t, key);
      builder.loop(builder.index(0), builder.index(plan.keyBlock), lanes, [&](Value j) {
        Value memory = pairValues() ? weights : scores;
        Value at = builder.add(builder.mul(row, plan.keyBlock), j);
        Value kept = builder.maskOfKept(builder.add(number, j), arguments[*plan.seedArgument],
                                        op.getStream(), op.getDropout().convertToDouble());
        builder.store(builder.select(kept, builder.load(memory, at), builder.splat(0.0)), memory,
                      at);
      });
    });
  }

  /// outputs = outputs * correction + weights * values for some vectors of columns.
  void emitOutputs(Value key, Value r, int64_t firstVector, Value count,
                   ArrayRef<Value> corrections) {
    RegisterTile tile;
    tile.rows = plan.tileRows;
    tile.vectors = std::min(plan.valueVectors, rowWidth / lanes - firstVector);
    tile.depth = pairValues() ? 2 : 1;
    tile.matrixRows = plan.rows;
    tile.lhs = [&](int64_t row, Value j) {
      Value at = builder.add(j, row * plan.keyBlock);
      return pairValues() ? builder.splatPair(weights, at) : builder.loadSplat(scores, at);
    };
    ArrayRef<int64_t> strides = plan.value.strides;
    Value head =
        builder.add(builder.add(builder.mul(slot, strides[0]), builder.mul(keyHead, strides[2])),
                    plan.value.offset + firstVector * lanes);
    auto rowAt = [&](Value j) {
      return builder.add(head, builder.mul(builder.add(key, j), strides[1]));
    };
    tile.rhs = [&](Value j) {
      SmallVector<Value> vectors;
      for (int64_t v = 0; v < tile.vectors; ++v)
        vectors.push_back(pairValues() ? loadValuePairs(rowAt, key, j, firstVector, v)
                                       : loadValues(rowAt(j), firstVector, v));
      return vectors;
    };
    SmallVector<Value> accumulators;
    auto outputAt = [&](int64_t i) {
      Value row = builder.mul(builder.add(r, i / tile.vectors), rowWidth);
      return builder.add(row, (firstVector + i % tile.vectors) * lanes);
    };
    for (int64_t i = 0; i < tile.rows * tile.vectors; ++i)
      accumulators.push_back(
          builder.mulF(builder.load(outputs, outputAt(i)), corrections[i / tile.vectors]));
    // Weights of whole vectors exist, those beyond `count` are zero.
    Value end = count;
    if (pairValues())
      end = builder.mul(builder.div(builder.add(count, 1), 2), 2);
    accumulators = tile.accumulate(builder, builder.index(0), end, accumulators);
    for (int64_t i = 0; i < tile.rows * tile.vectors; ++i)
      builder.store(accumulators[i], outputs, outputAt(i));
  }

  /// Whether every key and value is read once (decode): then they are asked for a block ahead.
  bool isStream() const { return plan.rows == plan.tileRows; }

  /// Asks for what lies so many elements behind vector `v` of a row, where that begins a line.
  void prefetchLine(Value memory, Value at, int64_t v, int64_t ahead) {
    constexpr int64_t line = 64;
    int64_t bytes = lanes * plan.elementBytes * (plan.pairs ? 2 : 1);
    if (isStream() && v * bytes % line == 0)
      builder.prefetch(memory, at, ahead);
  }

  Value loadValues(Value row, int64_t firstVector, int64_t v) {
    Value at = builder.add(row, v * lanes);
    prefetchLine(arguments[plan.valueArgument], at, v, plan.keyBlock * plan.value.strides[1]);
    return builder.load(arguments[plan.valueArgument], at,
                        maskOfColumns((firstVector + v) * lanes));
  }

  /// Values of two positions side by side, column by column.
  Value loadValuePairs(llvm::function_ref<Value(Value)> rowAt, Value key, Value j,
                       int64_t firstVector, int64_t v) {
    // The partner of the last of an odd number of positions has the weight zero.
    Value partner = builder.add(j, 1);
    if (plan.maxSequence % 2 != 0)
      partner = builder.min(partner, builder.sub(builder.index(plan.maxSequence - 1), key));
    auto narrow = [&](Value position) {
      Value at = builder.add(rowAt(position), v * lanes);
      // Every other vector begins a line.
      if (isStream() && v % 2 == 0)
        builder.prefetch(arguments[plan.valueArgument], at, plan.keyBlock * plan.value.strides[1]);
      return builder.loadStored(arguments[plan.valueArgument], at,
                                maskOfColumns((firstVector + v) * lanes));
    };
    return vector::InterleaveOp::create(builder, narrow(j), narrow(partner));
  }

  VectorBuilder builder;
  const AttentionPlan &plan;
  AttentionOp op;
  ValueRange arguments, results;
  int64_t lanes, rowWidth;
  // Scratch: rows of the block, then of one tile.
  Value queries, outputs, largest, sums, scores, weights, copiedKeys, copiedValues, firsts,
      keyScales, valueScales;
  std::optional<MatrixTiles> matrixTiles;
  // Of the current item.
  Value slot, keyHead, firstRow, blockRows, start;
};

} // namespace

FailureOr<int64_t> sinter::lowerAttentionKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                                const TargetAttr &target) {
  FailureOr<AttentionPlan> plan = AttentionPlan::make(tensorKernel, target);
  if (failed(plan))
    return failure();
  ValueRange arguments = loopKernel.getArguments();
  AttentionEmitter(loopKernel, target, *plan).emit(arguments.drop_back().back(), arguments.back());
  return plan->getGrid();
}
