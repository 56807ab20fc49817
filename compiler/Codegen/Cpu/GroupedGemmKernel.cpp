//===- GroupedGemmKernel.cpp - Rows by the matrices of their groups ---------===//
//
// How many rows a group has is data, the bounds of loops. A work item of a grouped_matmul is 64
// columns of one group's matrix:
//
//   for each block of the group's rows
//     for each block of k
//       for each tile of rows that the registers hold: the sums (RegisterTile.h), in a scratch
//     the rows of the scratch to the result
//
// Neighbouring items are of different groups: threads that take turns have some of all groups, of
// which a few may have most rows. An item of a group without rows reads its two offsets and ends,
// so that one row a group (decode) streams the chosen matrices' panels once, and nothing else.
//
// The rows that are left after whole tiles are a smaller tile. A tile of more rows than are left
// begins earlier: it computes some rows again, or the neighbouring group's, and does not store
// them. Every element is one sum from front to back, whatever tile it is in: a row has the same
// bits beside any others.
//
// A right-hand side that is no panels (a state, in training) is copied, a block of k at a time, to
// strips of f32 as wide as a tile.
//
// Where a processor has a unit for products of matrices, bf16 in panels are multiplied there
// (MatrixTiles.h), one row, too, which takes no longer than its panels take from memory: so that
// all rows have the same bits. Their lines are asked for ahead (seesStreams): the few rows of a
// group wait for memory, and products of 34 to 48 rows a group took a fifth less on Emerald Rapids.
// A tile's sums go to the scratch as they are, what is computed again over the same numbers or into
// rows beside those of the block; k is one block.
//
// A work item of a grouped_outer is 64 columns of one group's result, whose tiles are summed up
// over blocks of rows where they stand.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/GroupedRows.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace sinter;

/// Bytes of the stack for a block of columns that is copied, and rows of the scratch.
static constexpr int64_t kStripBytes = 56 * 1024, kScratchRows = 96;
/// Rows of a tile of sums at the most: more would not be faster, but more code.
static constexpr int64_t kMostTileRows = 8;

namespace {
/// What both kernels are written in.
class GroupedEmitter {
public:
  GroupedEmitter(Operation *op, func::FuncOp loopKernel, TargetAttr target)
      : builder(loopKernel, target), op(op), arguments(loopKernel.getArguments()),
        result(arguments[op->getParentOfType<func::FuncOp>().getNumArguments()]),
        lanes(builder.getLanes()) {
    // The widest tile that still has several rows.
    tileVectors = kItemColumns / lanes;
    while (tileVectors > 1 && RegisterTile::getMaxRows(target, tileVectors) < kManyRows)
      tileVectors /= 2;
    tileRows = std::min(kMostTileRows, RegisterTile::getMaxRows(target, tileVectors));
  }

protected:
  Value getMemory(Value operand) { return arguments[cast<BlockArgument>(operand).getArgNumber()]; }

  /// Which of a vector of columns from `column` on are among `count`; null where all are.
  Value maskOf(Value column, int64_t count) {
    if (count % kItemColumns == 0)
      return nullptr;
    return builder.maskBelow(builder.sub(builder.index(count), column));
  }

  /// Where the copied strips have vector v of row k of a block.
  Value stripAt(Value k, int64_t v) {
    int64_t width = tileVectors * lanes;
    return builder.add(builder.mul(k, width),
                       v / tileVectors * stripRows * width + v % tileVectors * lanes);
  }

  SmallVector<Value> loadStrip(Value k, int64_t firstVector) {
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < tileVectors; ++v)
      vectors.push_back(builder.load(strips, stripAt(k, firstVector + v)));
    return vectors;
  }

  void makeStrips() {
    stripRows = kStripBytes / (kItemColumns * 4) / 32 * 32;
    strips = builder.scratch(stripRows * kItemColumns, builder.getF32Type());
  }

  VectorBuilder builder;
  Operation *op;
  ValueRange arguments;
  Value result, strips;
  int64_t lanes, tileVectors, tileRows, stripRows = 0;
};

class GroupedGemmEmitter : GroupedEmitter {
public:
  GroupedGemmEmitter(GroupedMatmulOp matmul, func::FuncOp loopKernel, TargetAttr target)
      : GroupedEmitter(matmul, loopKernel, target), matmul(matmul), m(matmul.getM()),
        n(matmul.getN()), k(matmul.getK()), lhs(getMemory(matmul.getLhs())),
        rhs(getMemory(matmul.getRhs())) {
    panels = dyn_cast_or_null<PanelsAttr>(matmul.getRhs().getType().getEncoding());
    pairs = panels && panels.getInterleave() == 2;
    usesTiles = pairs && hasTileDot(target) && panels.getWidth() == MatrixTiles::kMostColumns;
    int64_t elementBytes = pairs ? 2 : 4;
    if (usesTiles) {
      tileRows = MatrixTiles::kMostRows;
      matrixTiles.emplace(builder, std::min(tileRows, m), k, builder.getBF16Type());
      spareRows = tileRows;
      kBlock = k;
    } else if (panels) {
      int64_t blocks = llvm::divideCeil(k * kItemColumns * elementBytes, target.getL2Bytes() / 4);
      kBlock = llvm::alignTo(llvm::divideCeil(k, blocks), 32);
    } else {
      makeStrips();
      kBlock = stripRows;
    }
    scratchRows = kScratchRows / tileRows * tileRows;
    scratch = builder.scratch((scratchRows + 2 * spareRows) * kItemColumns, builder.getF32Type());
    // Tiles of fewer rows, each of at least half as many as the next.
    for (int64_t rows = std::min(tileRows, m); rows > 0; rows /= 2)
      tiles.push_back(rows);
  }

  int64_t emit() {
    Value begin = arguments.drop_back().back(), end = arguments.back();
    int64_t groups = matmul.getGroups();
    builder.loop(begin, end, 1, [&](Value item) {
      group = builder.rem(item, groups);
      columnBlock = builder.div(item, groups);
      auto [first, last] = loadBoundsOfGroup(builder, getMemory(matmul.getOffsets()), group, m);
      builder.loop(first, last, scratchRows, [&, last = last](Value row) {
        firstRow = row;
        lastRow = builder.min(builder.add(row, scratchRows), last);
        emitBlock();
      });
    });
    if (matrixTiles)
      matrixTiles->release();
    return groups * llvm::divideCeil(n, kItemColumns);
  }

private:
  /// The rows from firstRow to lastRow.
  void emitBlock() {
    int64_t lastK = (llvm::divideCeil(k, kBlock) - 1) * kBlock;
    auto accumulate = [&](Value kBegin, Value kEnd, bool isFirst) {
      if (!panels)
        copyColumns(kBegin, kEnd);
      forTiles([&](int64_t rows, Value row, Value start) {
        multiply(rows, row, start, kBegin, kEnd, isFirst);
      });
    };
    if (lastK > 0) {
      accumulate(builder.index(0), builder.index(kBlock), true);
      builder.loop(builder.index(kBlock), builder.index(lastK), kBlock,
                   [&](Value at) { accumulate(at, builder.add(at, kBlock), false); });
    }
    accumulate(builder.index(lastK), builder.index(k), lastK == 0);
    builder.loop(firstRow, lastRow, 1, [&](Value row) {
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value column = builder.add(builder.mul(columnBlock, kItemColumns), v * lanes);
        Value sums = builder.load(scratch, builder.add(scratchAt(row), v * lanes));
        builder.store(sums, result, builder.add(builder.mul(row, n), column), maskOf(column, n));
      }
    });
  }

  Value scratchAt(Value row) {
    return builder.mul(builder.sub(builder.add(row, spareRows), firstRow), kItemColumns);
  }

  /// Calls `body(rows, row, start)` for tiles of the block's rows from `row` on, which compute
  /// `rows` rows from `start` on.
  void forTiles(llvm::function_ref<void(int64_t, Value, Value)> body) {
    int64_t most = tiles.front();
    Value count = builder.sub(lastRow, firstRow);
    Value whole = builder.add(firstRow, builder.mul(builder.div(count, most), most));
    builder.loop(firstRow, whole, most, [&](Value row) { body(most, row, row); });
    Value left = builder.sub(lastRow, whole);
    for (size_t i = 0; i < tiles.size(); ++i) {
      auto holds = [&](arith::CmpIPredicate predicate, int64_t rows) {
        return arith::CmpIOp::create(builder, predicate, left, builder.index(rows));
      };
      Value fits = holds(arith::CmpIPredicate::ule, tiles[i]);
      int64_t next = i + 1 < tiles.size() ? tiles[i + 1] : 0;
      Value isSmallest = holds(arith::CmpIPredicate::ugt, next);
      builder.ifThen(arith::AndIOp::create(builder, fits, isSmallest), [&] {
        body(tiles[i], whole, builder.min(whole, builder.index(m - tiles[i])));
      });
    }
  }

  /// scratch (+)= lhs[start ... start + rows, kBegin ... kEnd] * rhs. Of a tile that begins before
  /// `row` only what the scratch has rows for is stored: those from `row` on, up to lastRow.
  void multiply(int64_t rows, Value row, Value start, Value kBegin, Value kEnd, bool isFirst) {
    if (usesTiles)
      return multiplyTiles(rows, start);
    // A row's place in the scratch; rows of others are the tile's own first or last one, again.
    auto placeOf = [&](int64_t r) {
      Value at = builder.max(builder.add(start, r), row);
      return scratchAt(builder.min(at, builder.sub(lastRow, builder.index(1))));
    };
    for (int64_t c = 0; c < kItemColumns / lanes; c += tileVectors) {
      RegisterTile tile;
      tile.rows = rows;
      tile.vectors = tileVectors;
      tile.depth = pairs ? 2 : 1;
      tile.matrixRows = kManyRows; // one sum from front to back
      tile.lhs = [&](int64_t r, Value at) {
        return pairs ? builder.splatPair(lhs, lhsAt(start, r, at))
                     : builder.loadSplat(lhs, lhsAt(start, r, at));
      };
      tile.rhs = [&](Value at) {
        return panels ? loadPanel(c, at) : loadStrip(builder.sub(at, kBegin), c);
      };
      SmallVector<Value> sums = tile.zeros(builder);
      if (!isFirst)
        for (int64_t i = 0; i < rows * tileVectors; ++i)
          sums[i] = builder.load(
              scratch, builder.add(placeOf(i / tileVectors), (c + i % tileVectors) * lanes));
      bool odd = pairs && k % 2 != 0 && getConstantIntValue(kEnd) == k;
      Value even = odd ? builder.index(k - 1) : kEnd;
      sums = tile.accumulate(builder, kBegin, even, sums);
      if (odd) {
        tile.lhs = [&](int64_t r, Value at) {
          return builder.splatPair(lhs, lhsAt(start, r, at), /*alone=*/true);
        };
        sums = tile.step(builder, even, sums);
      }
      for (int64_t r = 0; r < rows; ++r) {
        auto store = [&] {
          for (int64_t v = 0; v < tileVectors; ++v)
            builder.store(sums[r * tileVectors + v], scratch,
                          builder.add(scratchAt(builder.add(start, r)), (c + v) * lanes));
        };
        if (row == start && rows == tiles.front()) {
          store();
          continue;
        }
        Value at = builder.add(start, r);
        Value isBehind = arith::CmpIOp::create(builder, arith::CmpIPredicate::uge, at, row);
        Value isBefore = arith::CmpIOp::create(builder, arith::CmpIPredicate::ult, at, lastRow);
        builder.ifThen(arith::AndIOp::create(builder, isBehind, isBefore), store);
      }
    }
  }

  /// The same of all of k on the matrix unit.
  void multiplyTiles(int64_t rows, Value start) {
    for (int64_t column = 0; column < kItemColumns; column += MatrixTiles::kMostColumns) {
      MatrixTiles::Product product;
      product.rows = rows;
      product.asksAhead = !seesStreams(builder.getTarget());
      product.sums = {scratch, builder.add(scratchAt(start), column), kItemColumns};
      product.lhs = [&](Value at) { return MatrixTiles::Place{lhs, lhsAt(start, 0, at), k}; };
      product.rhs = [&](Value at) {
        Value panel = builder.add(panelAt(column), builder.mul(at, panels.getWidth()));
        MatrixTiles::Place place{rhs, panel, 2 * panels.getWidth()};
        return place.withColumns(builder, 2 * MatrixTiles::kEdge);
      };
      matrixTiles->multiply(product, builder.index(0), builder.index(k), k, /*first=*/true);
    }
  }

  /// Where the panel with a column of the item begins.
  Value panelAt(int64_t column) {
    int64_t width = panels.getWidth(), ofGroup = n / width;
    Value panel = builder.add(builder.mul(columnBlock, kItemColumns / width), column / width);
    // The last item may have fewer panels: what it computes from one again is not stored.
    if (n % kItemColumns != 0)
      panel = builder.min(panel, builder.index(ofGroup - 1));
    panel = builder.add(builder.mul(group, ofGroup), panel);
    return builder.mul(panel, llvm::alignTo(k, panels.getDepth()) * width);
  }

  Value lhsAt(Value start, int64_t r, Value at) {
    return builder.add(builder.mul(builder.add(start, r), k), at);
  }

  /// A tile's vectors of columns of panels, from vector `firstVector` of the item on.
  SmallVector<Value> loadPanel(int64_t firstVector, Value at) {
    int64_t width = panels.getWidth();
    SmallVector<Value> vectors;
    for (int64_t v = firstVector; v < firstVector + tileVectors; ++v) {
      Value place = builder.add(panelAt(v * lanes), builder.mul(at, width));
      place = builder.add(place, v * lanes % width * (pairs ? 2 : 1));
      vectors.push_back(pairs ? builder.loadPairs(rhs, place) : builder.load(rhs, place));
    }
    return vectors;
  }

  /// Copies rows of k of the item's columns of a matrix that is not in panels. Of columns beyond
  /// the last there are zeros, or the last one again.
  void copyColumns(Value kBegin, Value kEnd) {
    Value matrix = builder.mul(group, n * k);
    Value first = builder.mul(columnBlock, kItemColumns);
    if (!matmul.getTransposeRhs()) {
      builder.loop(kBegin, kEnd, 1, [&](Value at) {
        Value row = builder.add(matrix, builder.mul(at, n));
        for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
          Value column = builder.add(first, v * lanes);
          Value vector = builder.load(rhs, builder.add(row, column), maskOf(column, n));
          builder.store(vector, strips, stripAt(builder.sub(at, kBegin), v));
        }
      });
      return;
    }
    // Squares of rows are turned. A last one may be narrower.
    builder.loop(kBegin, kEnd, lanes, [&](Value at) {
      Value mask;
      if (k % lanes != 0)
        mask = builder.maskBelow(builder.sub(builder.index(k), at));
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < lanes; ++i) {
          Value column = builder.min(builder.add(first, v * lanes + i), builder.index(n - 1));
          Value row = builder.add(matrix, builder.mul(column, k));
          rows.push_back(builder.load(rhs, builder.add(row, at), mask));
        }
        for (auto [i, column] : llvm::enumerate(builder.transpose(rows)))
          builder.store(column, strips, stripAt(builder.add(builder.sub(at, kBegin), i), v));
      }
    });
  }

  GroupedMatmulOp matmul;
  int64_t m, n, k, kBlock = 0, scratchRows = 0;
  int64_t spareRows = 0; ///< of the scratch, before and behind those of the block
  Value lhs, rhs, scratch;
  PanelsAttr panels;
  bool pairs = false, usesTiles = false;
  std::optional<MatrixTiles> matrixTiles;
  SmallVector<int64_t> tiles; ///< rows of those that there are, the largest first
  Value group, columnBlock, firstRow, lastRow;
};

class GroupedOuterEmitter : GroupedEmitter {
public:
  GroupedOuterEmitter(GroupedOuterOp outer, func::FuncOp loopKernel, TargetAttr target)
      : GroupedEmitter(outer, loopKernel, target), outer(outer),
        m(outer.getLhs().getType().getDimSize(0)), a(outer.getLhs().getType().getDimSize(1)),
        b(outer.getRhs().getType().getDimSize(1)), lhs(getMemory(outer.getLhs())),
        rhs(getMemory(outer.getRhs())) {
    makeStrips();
  }

  int64_t emit() {
    Value begin = arguments.drop_back().back(), end = arguments.back();
    int64_t groups = outer.getType().getDimSize(0);
    builder.loop(begin, end, 1, [&](Value item) {
      group = builder.rem(item, groups);
      columnBlock = builder.div(item, groups);
      auto [first, last] = loadBoundsOfGroup(builder, getMemory(outer.getOffsets()), group, m);
      // The first block of rows writes all of the result, without any rows zeros.
      accumulate(first, builder.min(builder.add(first, stripRows), last), true);
      builder.loop(builder.add(first, stripRows), last, stripRows, [&, last = last](Value row) {
        accumulate(row, builder.min(builder.add(row, stripRows), last), false);
      });
    });
    return groups * llvm::divideCeil(b, kItemColumns);
  }

private:
  /// The item's columns of the result (+)= the products of the rows from `begin` to `end`.
  void accumulate(Value begin, Value end, bool isFirst) {
    Value first = builder.mul(columnBlock, kItemColumns);
    builder.loop(begin, end, 1, [&](Value row) {
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value column = builder.add(first, v * lanes);
        Value vector =
            builder.load(rhs, builder.add(builder.mul(row, b), column), maskOf(column, b));
        builder.store(vector, strips, stripAt(builder.sub(row, begin), v));
      }
    });
    int64_t whole = a / tileRows * tileRows;
    builder.loop(builder.index(0), builder.index(whole), tileRows,
                 [&](Value i) { multiply(tileRows, i, begin, end, isFirst); });
    if (whole < a)
      multiply(a - whole, builder.index(whole), begin, end, isFirst);
  }

  void multiply(int64_t rows, Value i, Value begin, Value end, bool isFirst) {
    for (int64_t c = 0; c < kItemColumns / lanes; c += tileVectors) {
      RegisterTile tile;
      tile.rows = rows;
      tile.vectors = tileVectors;
      tile.matrixRows = kManyRows; // one sum from front to back
      tile.lhs = [&](int64_t r, Value row) {
        return builder.loadSplat(lhs, builder.add(builder.mul(row, a), builder.add(i, r)));
      };
      tile.rhs = [&](Value row) { return loadStrip(builder.sub(row, begin), c); };
      auto place = [&](int64_t at) {
        Value row = builder.add(builder.mul(group, a), builder.add(i, at / tileVectors));
        Value column =
            builder.add(builder.mul(columnBlock, kItemColumns), (c + at % tileVectors) * lanes);
        return std::pair(builder.add(builder.mul(row, b), column), maskOf(column, b));
      };
      SmallVector<Value> sums = tile.zeros(builder);
      if (!isFirst)
        for (int64_t at = 0; at < rows * tileVectors; ++at) {
          auto [offset, mask] = place(at);
          sums[at] = builder.load(result, offset, mask);
        }
      sums = tile.accumulate(builder, begin, end, sums);
      for (int64_t at = 0; at < rows * tileVectors; ++at) {
        auto [offset, mask] = place(at);
        builder.store(sums[at], result, offset, mask);
      }
    }
  }

  GroupedOuterOp outer;
  int64_t m, a, b;
  Value lhs, rhs, group, columnBlock;
};

/// The only op of a kernel.
template <typename Op> FailureOr<Op> findOnlyOp(func::FuncOp tensorKernel) {
  auto ops = tensorKernel.front().getOps<Op>();
  if (ops.empty() || !llvm::hasSingleElement(tensorKernel.front().without_terminator()))
    return tensorKernel.emitError("expected a grouped product to be alone in its kernel");
  return *ops.begin();
}

/// Fails where what a product reads or makes is not f32, bf16 or i32.
LogicalResult checkElements(Operation *op) {
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                         SmallVector<Value>(op->getResults()))) {
    Type element = getElementTypeOrSelf(value.getType());
    if (!element.isF32() && !element.isBF16() && !element.isInteger(32))
      return op->emitError("expected operands of f32 or bf16, got ") << element;
  }
  return success();
}
} // namespace

std::pair<Value, Value> sinter::loadBoundsOfGroup(VectorBuilder &builder, Value offsets,
                                                  Value group, int64_t rows) {
  auto load = [&](Value at) {
    Value bound = memref::LoadOp::create(builder, offsets, at);
    bound = arith::IndexCastOp::create(builder, builder.getIndexType(), bound);
    bound = arith::MaxSIOp::create(builder, bound, builder.index(0));
    return Value(arith::MinSIOp::create(builder, bound, builder.index(rows)));
  };
  return {load(group), load(builder.add(group, 1))};
}

FailureOr<int64_t> sinter::lowerGroupedGemmKernel(func::FuncOp tensorKernel,
                                                  func::FuncOp loopKernel,
                                                  const TargetAttr &target) {
  FailureOr<GroupedMatmulOp> matmul = findOnlyOp<GroupedMatmulOp>(tensorKernel);
  if (failed(matmul))
    return failure();
  if (matmul->getScales())
    return lowerGroupedIntegerKernel(*matmul, loopKernel, target);
  if (failed(checkElements(*matmul)))
    return failure();
  RankedTensorType rhs = matmul->getRhs().getType();
  auto panels = dyn_cast_or_null<PanelsAttr>(rhs.getEncoding());
  bool isPacked = !matmul->getTransposeRhs() && panels == getPanels(rhs.getElementType(), target) &&
                  matmul->getN() % panels.getWidth() == 0;
  if (rhs.getEncoding() && !isPacked)
    return matmul->emitError(
               "expected rhs [g, k, n] in whole panels of the target's, or dense, got ")
           << rhs;
  return GroupedGemmEmitter(*matmul, loopKernel, target).emit();
}

FailureOr<int64_t> sinter::lowerGroupedOuterKernel(func::FuncOp tensorKernel,
                                                   func::FuncOp loopKernel,
                                                   const TargetAttr &target) {
  FailureOr<GroupedOuterOp> outer = findOnlyOp<GroupedOuterOp>(tensorKernel);
  if (failed(outer) || failed(checkElements(*outer)))
    return failure();
  if (!outer->getType().getElementType().isF32())
    return outer->emitError("expected a result of f32, got ") << outer->getType();
  return GroupedOuterEmitter(*outer, loopKernel, target).emit();
}
