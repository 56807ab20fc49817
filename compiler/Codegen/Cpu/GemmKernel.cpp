//===- GemmKernel.cpp - One matmul and its epilogue -------------------------===//
//
// A work item is a block of 64 columns of the right-hand side, or several, times a block of rows.
// Within it:
//
//   for each block of k (one, unless the columns are larger than half of the L2 cache)
//     for each block of columns
//       for each tile of rows that the registers hold
//         the product of the tile, in registers (RegisterTile.h), to a scratch
//   the epilogue, row by row, from the scratch
//
// With one block of k the epilogue follows each tile at once, while its rows are in the L1 cache.
// Few rows (up to a block) with panels go the other way: for each panel, for each block of k, for
// each tile of rows. What a tile reads of the panel is in the L1 cache then, and the tiles together
// prefetch the next block, a line a step at the most: it arrives while they multiply. With the
// loops above a first tile waited for memory and the others did not ask it for anything (1.7 times
// as long for 8 and 16 rows on Zen 3, 1.1 times for 176).
//
// The columns are several panels, as wide as the narrowest tiles that the registers hold against
// several rows (KernelLayouts.h), so that what a tile reads are whole streams. Of wider panels it
// would read pieces of rows 256 bytes apart, which fall into a part of the L1 cache and, where they
// come from memory, are half of what is fetched: 8 rows took 1.1 to 1.5 times as long on Zen 4.
//
// A right-hand side that is no panels, or integers, is copied to strips of f32 as wide as a tile, a
// block of k at a time, where more than one tile of rows is computed from it (CopiedStrips.h).
//
// The rows of a transposed left-hand side that the L2 cache does not hold are copied, too, as each
// tile reads them: along k its elements are lines apart, which several tiles read and the L1 cache
// loses in between. The copy serves several blocks of columns: made for each of them it took a
// tenth of the product's time. Its tiles pass over strip after strip of the columns, of which the
// L1 cache holds a block of k (gradients of 768 by 768: 167 -> 188 of the 207 GFLOP/s of Zen 3).
//
// Tiles prefetch what the epilogue reads and writes, and, where panels are short, the next ones and
// the next tile's rows, which end before the processor sees streams (a tenth of 768 rows by 128 and
// 512 columns, on Zen 3). Of longer ones that costs more than it brings (2 % of 1024 by 768).
//
// Where a processor has a unit for products of matrices, four rows and more of bf16, or of bytes
// with one sum of all k, are multiplied there (MatrixTiles.h), in tiles of up to 32 rows and
// columns whose sums go to the same scratch. Those of many rows prefetch the next panel, a few
// lines a step: the unit is so fast that it waits for panels (up to 7 % where they come from
// memory, on Emerald Rapids).
//
// One row (decode) makes a tile of one row: panels stream from memory exactly once. Lines of bf16
// are asked for ahead where the processor does not see the streams itself (seesStreams); in f32
// that gained nothing. The columns of gate and up belong to one work item, so that their product
// never leaves the scratch.
//
// Weight-only integers become the numbers that they stand for, in f32: in a strip for several tiles
// of rows, in registers for one. Few rows multiply them as integers (FixedPointRows.h), and what a
// group of them sums up to is multiplied by their scale once. To make a row fixed point takes a
// tenth of what a block of columns does, so an item has several blocks, fewer from round to round:
// little is waited for at the end. One tile of rows asks ahead for the lines of integers that take
// so many instructions that too few lines would be on their way from memory (a fifth faster on Zen
// 3). Where the processor sees streams itself and VNNI multiplies, those are integers of 4 bits by
// rows in fixed point: by rows of bytes, or of 8 bits, asking costs more than it brings (a fifth of
// W4A8 on Zen 4).
//
// So do numbers of e4m3 (VectorBuilder::widenE4M3), but few rows multiply them in f32: lifted
// (LhsScratch.h), so that a number takes no product to be what it stands for.
//
// Rows of bytes are multiplied as they are (VectorBuilder::byteDot), into exact sums of 32 bits,
// which the scales of rows and columns make numbers. Each tile of rows is first copied as the words
// that the columns then take from it. Where columns have a scale a group, sums are of a group, and
// become f32 with its scale (FixedPointRows.h, as rows of one digit).
//
// In fixed point minima of groups meet the sum of a row's group: these are summed up before, once
// for all columns.
//
// k is never split over work items and a row is computed alike in every block: results do not
// depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Codegen/Cpu/CopiedStrips.h"
#include "compiler/Codegen/Cpu/GemmEpilogue.h"
#include "compiler/Codegen/Cpu/GemmPlan.h"
#include "compiler/Codegen/Cpu/IntegerPanels.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/LhsScratch.h"
#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

namespace {

/// Tiles of rows, of a matrix unit, that share out the lines of the next panel: so many at the
/// least. Of two, each of which prefetches 16 lines a step, some products were 7 % slower.
constexpr int64_t kPrefetchingTiles = 4;

class GemmEmitter {
public:
  GemmEmitter(func::FuncOp loopKernel, TargetAttr target, const GemmPlan &plan,
              const GemmEpilogue &epilogue)
      : builder(loopKernel, target), plan(plan), epilogue(epilogue),
        arguments(loopKernel.getArguments().drop_back(2)), lanes(builder.getLanes()) {}

  void emit(Value begin, Value end) {
    bool whole = plan.kBlock >= plan.k;
    int64_t sets = epilogue.getProductOffsets().size();
    scratchRows = whole ? plan.tileRows : plan.rowBlock;
    int64_t scratchElements =
        (whole ? 1 : plan.getMostBlocks()) * sets * scratchRows * kItemColumns;
    scratch = builder.scratch(scratchElements,
                              plan.bytesOfWord ? Type(builder.getI32Type()) : builder.getF32Type());
    if (plan.integerBits && !plan.bytesOfWord)
      integers.emplace(builder, findIntegerPanels());
    if (MatmulOp matmul = plan.matmul; plan.bytesOfWord && !plan.usesTiles)
      byteRows.emplace(builder, plan.tileRows, plan.kBlock, matmul.getK());
    if (plan.minimaArgument && plan.segment)
      groupSums.emplace(builder, plan.tileRows, plan.kBlock, plan.group);
    if (plan.segment)
      fixedPointRows.emplace(builder, plan.tileRows, plan.kBlock, plan.k, plan.segment,
                             plan.integerBits, plan.values, plan.rowScalesArgument.has_value());
    if (plan.scalesSums())
      liftedRows.emplace(builder, plan.tileRows, plan.kBlock, plan.k);
    if (MatmulOp matmul = plan.matmul; plan.usesTiles)
      matrixTiles.emplace(builder, plan.tileRows, matmul.getK(),
                          getElementTypeOrSelf(matmul.getLhs()));
    if (plan.copiesRhs)
      strips.emplace(builder, plan, arguments[plan.rhsArgument], epilogue.getProductOffsets());
    if (plan.copiesLhs)
      transposedRows.emplace(builder, plan.tileRows, plan.rowBlock, plan.kBlock);
    // Rows that every item has are kept for all of them.
    keepsRows = whole && plan.m <= plan.tileRows;
    if (keepsRows)
      prepareRows(plan.m, builder.index(0), builder.index(0), builder.index(plan.k));
    builder.loop(begin, end, 1, [&](Value item) {
      auto [rowItem, columnItem] = splitItem(item);
      firstColumnBlock = firstBlockOf(columnItem);
      lastColumnBlock =
          builder.min(firstBlockOf(builder.add(columnItem, 1)), builder.index(plan.columnBlocks));
      firstRow = builder.mul(rowItem, plan.rowBlock);
      lastRow = builder.min(builder.add(firstRow, plan.rowBlock), builder.index(plan.m));
      if (whole) {
        copyRows(builder.index(0), builder.index(plan.k));
        forColumnBlocks([&] {
          copyColumns(builder.index(0), builder.index(plan.k));
          forTiles([&](int64_t rows, Value row) {
            multiply(rows, row, builder.index(0), builder.index(0), builder.index(plan.k), true);
            finish(builder.index(0), builder.index(rows), row);
          });
        });
        return;
      }
      auto multiplyRows = [&](auto multiplyTile) {
        forTiles([&](int64_t rows, Value row) {
          multiplyTile(rows, row, builder.add(scratchBegin, builder.sub(row, firstRow)));
        });
      };
      if (plan.stripsFirst)
        forColumnBlocks([&] {
          forSetsAndStrips([&](size_t set, Value strip) {
            forBlocksOfK(scratchElements, [&](Value k, Value kEnd, bool first) {
              multiplyRows([&](int64_t rows, Value row, Value scratchRow) {
                multiplyStrip(rows, row, scratchRow, set, strip, k, kEnd, first);
              });
            });
          });
        });
      else
        forBlocksOfK(scratchElements, [&](Value k, Value kEnd, bool first) {
          copyRows(k, kEnd);
          forColumnBlocks([&] {
            copyColumns(k, kEnd);
            if (!plan.copiesLhs || plan.copiesRhs)
              return multiplyRows([&](int64_t rows, Value row, Value scratchRow) {
                multiply(rows, row, scratchRow, k, kEnd, first);
              });
            forSetsAndStrips([&](size_t set, Value strip) {
              multiplyRows([&](int64_t rows, Value row, Value scratchRow) {
                multiplyStrip(rows, row, scratchRow, set, strip, k, kEnd, first);
              });
            });
          });
        });
      forColumnBlocks([&] { finish(scratchBegin, builder.sub(lastRow, firstRow), firstRow); });
    });
    if (matrixTiles)
      matrixTiles->release();
  }

private:
  /// The integers that are not multiplied into one sum of all k.
  IntegerPanels::Layout findIntegerPanels() {
    IntegerPanels::Layout layout;
    layout.integers = arguments[plan.rhsArgument];
    layout.scales = arguments[plan.scalesArgument];
    if (plan.minimaArgument)
      layout.minima = arguments[*plan.minimaArgument];
    layout.bits = plan.integerBits;
    layout.isE4M3 = plan.isE4M3;
    layout.values = plan.values;
    layout.k = plan.k;
    layout.group = plan.group;
    layout.together = plan.together;
    layout.width = plan.panelWidth;
    layout.elements = plan.panelElements;
    layout.vectors = plan.tileVectors;
    bool takesFewInstructions =
        plan.segment && plan.together == 4 && (plan.integerBits == 8 || plan.rowScalesArgument);
    layout.asksAhead =
        plan.m <= plan.tileRows && !(takesFewInstructions && seesStreams(builder.getTarget()));
    layout.panelAt = [this](int64_t column, int64_t elements) { return panelAt(column, elements); };
    return layout;
  }

  /// Which block of rows and which blocks of columns an item has.
  std::pair<Value, Value> splitItem(Value item) {
    if (plan.rowsFollow)
      return {builder.rem(item, plan.rowBlocks), builder.div(item, plan.rowBlocks)};
    return {builder.div(item, plan.getColumnItems()), builder.rem(item, plan.getColumnItems())};
  }

  /// Rounds have shorter and shorter items: where one is not meant, its line lies above.
  Value firstBlockOf(Value columnItem) {
    Value first;
    for (const GemmPlan::Round &round : plan.rounds) {
      Value block = builder.add(builder.mul(columnItem, round.blocks),
                                round.block - round.item * round.blocks);
      first = first ? builder.min(first, block) : block;
    }
    return first;
  }

  /// Calls `body` for each of the work item's blocks of columns.
  void forColumnBlocks(llvm::function_ref<void()> body) {
    if (plan.getMostBlocks() == 1) {
      columnBlock = firstColumnBlock;
      scratchBegin = builder.index(0);
      return body();
    }
    builder.loop(firstColumnBlock, lastColumnBlock, 1, [&](Value block) {
      columnBlock = block;
      int64_t rows = static_cast<int64_t>(epilogue.getProductOffsets().size()) * scratchRows;
      scratchBegin = builder.mul(builder.sub(block, firstColumnBlock), rows);
      body();
    });
  }

  /// Calls `body(rows, row)` for the tiles of this item's rows: whole ones in a loop, then what
  /// is left.
  void forTiles(llvm::function_ref<void(int64_t, Value)> body) {
    int64_t full = plan.m / plan.tileRows * plan.tileRows;
    builder.loop(firstRow, builder.min(lastRow, builder.index(full)), plan.tileRows,
                 [&](Value row) { body(plan.tileRows, row); });
    if (full == plan.m)
      return;
    Value isLast =
        arith::CmpIOp::create(builder, arith::CmpIPredicate::eq, lastRow, builder.index(plan.m));
    builder.ifThen(isLast, [&] { body(plan.m - full, builder.index(full)); });
  }

  /// Calls `accumulate` for the blocks of k one after the other, from no sums on.
  void forBlocksOfK(int64_t scratchElements,
                    llvm::function_ref<void(Value k, Value kEnd, bool first)> accumulate) {
    int64_t last = (llvm::divideCeil(plan.k, plan.kBlock) - 1) * plan.kBlock;
    // Beside what e4m3 is widened by, LLVM keeps the sums of a first block out of registers:
    // there it is one like the others.
    int64_t begin = plan.isE4M3 && plan.copiesRhs ? 0 : plan.kBlock;
    if (begin == 0)
      builder.loop(builder.index(0), builder.index(scratchElements), lanes,
                   [&](Value at) { builder.store(builder.splat(0.0), scratch, at); });
    else
      accumulate(builder.index(0), builder.index(begin), true);
    if (last > begin)
      builder.loop(builder.index(begin), builder.index(last), plan.kBlock,
                   [&](Value k) { accumulate(k, builder.add(k, plan.kBlock), false); });
    accumulate(builder.index(last), builder.index(plan.k), false);
  }

  /// Calls `body` for the strips of all sets of columns.
  void forSetsAndStrips(llvm::function_ref<void(size_t set, Value strip)> body) {
    for (size_t set = 0; set < epilogue.getProductOffsets().size(); ++set)
      forStrips([&](Value strip) { body(set, strip); });
  }

  /// Calls `body` for the strips of a block's columns, each as wide as a tile. Most of a kernel is
  /// their code, which is there once for them all where it does not have to know which one it is.
  void forStrips(llvm::function_ref<void(Value strip)> body) {
    bool isAlike = plan.copiesRhs || plan.rhs != GemmPlan::Rhs::Panels ||
                   (plan.integerBits == 0 && getTileColumns() % plan.panelWidth == 0);
    if (isAlike && !plan.usesTiles && plan.m > plan.tileRows && getStrips() > 1)
      return builder.loop(builder.index(0), builder.index(getStrips()), 1, body);
    for (int64_t strip = 0; strip < getStrips(); ++strip)
      body(builder.index(strip));
  }

  int64_t getTileColumns() const { return plan.tileVectors * lanes; }
  int64_t getStrips() const { return kItemColumns / getTileColumns(); }
  /// The first column of a strip in its block.
  Value columnOf(Value strip) { return builder.mul(strip, getTileColumns()); }
  /// The same of strips that each have their own code.
  int64_t knownColumnOf(Value strip) { return *getConstantIntValue(strip) * getTileColumns(); }

  /// Makes what is kept of rows beside their elements.
  void prepareRows(int64_t rows, Value row, Value kBegin, Value kEnd) {
    Value lhs = arguments[plan.lhsArgument];
    auto place = [&](int64_t r, Value k) { return lhsAt(row, r, k); };
    if (byteRows)
      byteRows->copy(lhs, place, rows, kBegin, kEnd);
    if (groupSums)
      groupSums->sum(lhs, place, rows, kBegin, kEnd);
    if (fixedPointRows)
      fixedPointRows->convert(lhs, place, rows, kBegin, kEnd);
    if (liftedRows)
      liftedRows->lift(lhs, place, rows, kBegin, kEnd);
  }

  /// scratch[scratchRow ...] (+)= lhs[row ... row + rows, kBegin ... kEnd] * rhs[kBegin ... kEnd,
  /// :]
  void multiply(int64_t rows, Value row, Value scratchRow, Value kBegin, Value kEnd, bool first) {
    if (!keepsRows)
      prepareRows(rows, row, kBegin, kEnd);
    if (strips && !integers)
      strips->prefetchNext(columnBlock, kEnd, tileOf(row));
    forSetsAndStrips([&](size_t set, Value strip) {
      multiplyStrip(rows, row, scratchRow, set, strip, kBegin, kEnd, first);
    });
  }

  /// The same of one strip of columns.
  void multiplyStrip(int64_t rows, Value row, Value scratchRow, size_t set, Value strip,
                     Value kBegin, Value kEnd, bool first) {
    int64_t offset = epilogue.getProductOffsets()[set];
    auto at = [&](int64_t r, int64_t v) {
      Value offsetOfRow = builder.mul(
          builder.add(scratchRow, static_cast<int64_t>(set) * scratchRows + r), kItemColumns);
      return builder.add(builder.add(offsetOfRow, columnOf(strip)), v * lanes);
    };
    if (plan.m > plan.tileRows) {
      if (set == 0 && getConstantIntValue(kEnd) == plan.k)
        prefetchEpilogue(rows, row, strip);
      if (plan.hasShortPanels && !prefetchesPanels())
        prefetchNextPanels(row, strip);
      if (plan.hasShortPanels && set == 0 && plan.lhsStrideK == 1)
        prefetchRows(rows, row, strip);
    }
    if (plan.usesTiles)
      return multiplyTiles(rows, row, {scratch, at(0, 0), kItemColumns},
                           offset + knownColumnOf(strip), kBegin, kEnd, first);
    RegisterTile tile = makeTile(rows, row, set, strip);
    if (plan.stripsFirst)
      tile.rhs = prefetchStrip(std::move(tile.rhs), row, offset, strip, kBegin, kEnd);
    SmallVector<Value> sums = tile.zeros(builder);
    for (int64_t i = 0; i < rows * tile.vectors; ++i)
      if (!first)
        sums[i] = builder.loadStored(scratch, at(i / tile.vectors, i % tile.vectors));
      else if (plan.bytesOfWord == 4)
        sums[i] = loadSums(offset + knownColumnOf(strip) + i % tile.vectors * lanes);
    // The last element of an odd k stands alone: a dense lhs ends there, panels have a zero.
    bool odd = plan.pairs && plan.k % 2 != 0 && getConstantIntValue(kEnd) == plan.k;
    Value even = odd ? builder.index(plan.k - 1) : kEnd;
    sums = fixedPointRows
               ? integers->accumulate({*fixedPointRows, groupSums ? &*groupSums : nullptr,
                                       plan.segment, plan.rowScalesArgument.has_value()},
                                      rows, offset + knownColumnOf(strip), kBegin, kEnd, sums)
           : plan.isDequantized() && !plan.copiesRhs
               ? accumulateDequantized(tile, offset + knownColumnOf(strip), kBegin, kEnd, sums)
               : tile.accumulate(builder, kBegin, even, sums);
    if (odd) {
      tile.lhs = [&](int64_t r, Value k) {
        return builder.splatPair(arguments[plan.lhsArgument], lhsAt(row, r, k),
                                 /*alone=*/plan.lhsPanelWidth == 0);
      };
      sums = tile.step(builder, even, sums);
    }
    for (int64_t i = 0; i < rows * tile.vectors; ++i)
      builder.store(sums[i], scratch, at(i / tile.vectors, i % tile.vectors));
  }

  /// Whether products on the matrix unit prefetch the next panel. Few tiles would wait for it.
  bool prefetchesPanels() const {
    return plan.usesTiles && plan.getTiles() >= kPrefetchingTiles && plan.kBlock >= plan.k;
  }

  /// The same on the matrix unit, of a panel that begins at a column of the work item.
  void multiplyTiles(int64_t rows, Value row, MatrixTiles::Place sums, int64_t column, Value kBegin,
                     Value kEnd, bool first) {
    MatrixTiles::Product product;
    product.rows = rows;
    product.sums = sums;
    product.asksAhead = plan.m <= plan.tileRows && !seesStreams(builder.getTarget());
    product.lhs = [&](Value k) {
      return MatrixTiles::Place{arguments[plan.lhsArgument], lhsAt(row, 0, k), plan.lhsStride};
    };
    product.rhs = [&](Value k) {
      Value panel = panelAt(column, plan.panelElements);
      int64_t together = plan.bytesOfWord ? 4 : 2;
      MatrixTiles::Place place{arguments[plan.rhsArgument],
                               builder.add(panel, builder.mul(k, plan.panelWidth)),
                               together * plan.panelWidth};
      return place.withColumns(builder, together * MatrixTiles::kEdge);
    };
    // The panel behind this one is the next that this thread gets, or one of the next item.
    if (prefetchesPanels()) {
      int64_t ofLine = kLineBytes / (plan.bytesOfWord ? 1 : 2);
      int64_t steps = llvm::divideCeil(plan.k, ofLine); // a step takes a line of each row
      product.nextLines = llvm::divideCeil(plan.panelElements, ofLine * steps * plan.getTiles());
      Value next = builder.add(panelAt(column, plan.panelElements), plan.panelElements);
      Value part = builder.mul(tileOf(row), ofLine * steps * product.nextLines);
      product.next = {arguments[plan.rhsArgument], builder.add(next, part)};
    }
    // k of bytes is padded to whole words here, and lhs is not.
    bool isLast = getConstantIntValue(kEnd) == plan.k;
    int64_t k = isLast ? MatmulOp(plan.matmul).getK() : 0;
    matrixTiles->multiply(product, kBegin, isLast ? builder.index(k) : kEnd, k, first);
  }

  /// The number of a tile in its item.
  Value tileOf(Value row) { return builder.div(builder.sub(row, firstRow), plan.tileRows); }

  /// Prefetches a tile's part of the panels that this thread gets next.
  void prefetchNextPanels(Value row, Value strip) {
    int64_t lineElements = kLineBytes / (plan.pairs ? 2 : 4);
    for (int64_t v = 0; v < plan.tileVectors; v += plan.panelWidth / lanes) {
      int64_t lines = llvm::divideCeil(plan.k * plan.panelWidth, lineElements * plan.getTiles());
      Value at = builder.add(panelOf(strip, kItemColumns + v * lanes),
                             builder.mul(tileOf(row), lines * lineElements));
      builder.loop(at, builder.add(at, lines * lineElements), lineElements,
                   [&](Value line) { builder.prefetch(arguments[plan.rhsArgument], line, 0); });
    }
  }

  /// What a step of a tile of the block [kBegin, kEnd) loads of a strip; it prefetches the tile's
  /// part of the next block.
  std::function<SmallVector<Value>(Value k)>
  prefetchStrip(std::function<SmallVector<Value>(Value k)> load, Value row, int64_t offset,
                Value strip, Value kBegin, Value kEnd) {
    int64_t ofStep = llvm::divideCeil(plan.panelWidth, plan.getTiles());
    SmallVector<Value> parts;
    for (int64_t v = 0; v < plan.tileVectors; v += plan.panelWidth / lanes) {
      Value block =
          builder.add(panelOf(strip, offset + v * lanes), builder.mul(kEnd, plan.panelWidth));
      parts.push_back(builder.add(block, builder.mul(tileOf(row), ofStep * plan.kBlock)));
    }
    return [this, load = std::move(load), parts, kBegin, ofStep](Value k) {
      for (Value part : parts)
        builder.prefetchLine(arguments[plan.rhsArgument],
                             builder.add(part, builder.mul(builder.sub(k, kBegin), ofStep)));
      return load(k);
    };
  }

  /// Prefetches the lines that the epilogue of a tile reads and writes in a strip of columns.
  void prefetchEpilogue(int64_t rows, Value row, Value strip) {
    Value column = builder.add(builder.mul(columnBlock, kItemColumns), columnOf(strip));
    builder.loop(row, builder.add(row, rows), 1, [&](Value r) {
      epilogue.prefetch(builder, arguments, r, column, getTileColumns());
    });
  }

  /// Prefetches the next tile's rows, a part of them with each strip of columns.
  void prefetchRows(int64_t rows, Value row, Value strip) {
    Value lhs = arguments[plan.lhsArgument];
    int64_t elementBytes = getElementTypeOrSelf(lhs.getType()).getIntOrFloatBitWidth() / 8;
    int64_t bytes = llvm::alignTo(llvm::divideCeil(plan.k * elementBytes, getStrips()), kLineBytes);
    Value k = builder.mul(strip, bytes / elementBytes);
    builder.loop(builder.add(row, rows), builder.add(row, 2 * rows), 1, [&](Value next) {
      for (int64_t at = 0; at < bytes; at += kLineBytes)
        builder.prefetchLine(lhs, lhsAt(next, 0, builder.add(k, at / elementBytes)));
    });
  }

  /// The same by the numbers that integers stand for.
  SmallVector<Value> accumulateDequantized(RegisterTile tile, int64_t column, Value kBegin,
                                           Value kEnd, ValueRange sums) {
    // Groups begin with a word where each is whole words.
    tile.together = plan.group % plan.together == 0 ? plan.together : 1;
    if (liftedRows) // added from front to back: rows have the same bits beside any others
      tile.matrixRows = kManyRows;
    return builder.loop(kBegin, kEnd, plan.group, sums, [&](Value k, ValueRange carried) {
      IntegerPanels::ColumnScales scales = integers->loadScales(column, k);
      tile.rhs = [&, ahead = integers->linesAhead(column, k)](Value row) mutable {
        ahead(row, tile.together);
        return liftedRows ? integers->loadWidened(column, row, tile.together)
                          : integers->loadDequantized(column, row, tile.together, scales);
      };
      Value end = builder.add(k, plan.group);
      if (!liftedRows)
        return tile.accumulate(builder, k, end, carried);
      SmallVector<Value> ofGroup = tile.accumulate(builder, k, end, tile.zeros(builder));
      for (auto [i, sum] : llvm::enumerate(ofGroup)) {
        sum = builder.mulF(sum, liftedRows->getFactor(static_cast<int64_t>(i) / tile.vectors));
        sum = builder.fma(sum, scales.scales[i % tile.vectors], carried[i]);
      }
      return ofGroup;
    });
  }

  /// What the sums of bytes of a vector of columns begin with.
  Value loadSums(int64_t column) {
    int64_t at = plan.k * plan.panelWidth + column % plan.panelWidth * plan.bytesOfWord;
    Value bytes = builder.loadBytes(arguments[plan.rhsArgument],
                                    builder.add(panelAt(column, plan.panelElements), at));
    return vector::BitCastOp::create(builder, builder.vectorOf(builder.getI32Type()), bytes);
  }

  Value lhsAt(Value row, int64_t r, Value k) {
    Value at = builder.add(row, r);
    Value start =
        plan.lhsPanelWidth == 0
            ? builder.mul(at, plan.lhsStride)
            : builder.add(builder.mul(builder.div(at, plan.lhsPanelWidth), plan.lhsPanelElements),
                          builder.mul(builder.rem(at, plan.lhsPanelWidth), plan.lhsStride));
    return builder.add(builder.add(start, builder.mul(k, plan.lhsStrideK)), plan.lhsOffset);
  }

  RegisterTile makeTile(int64_t rows, Value row, int64_t set, Value strip) {
    int64_t offset = epilogue.getProductOffsets()[set];
    RegisterTile tile;
    tile.rows = rows;
    tile.vectors = plan.tileVectors;
    tile.depth = plan.bytesOfWord ? plan.bytesOfWord : plan.pairs ? 2 : 1;
    tile.bytes = plan.bytesOfWord != 0;
    tile.matrixRows = plan.m;
    tile.lhs = [this, row](int64_t r, Value k) {
      Value lhs = arguments[plan.lhsArgument];
      return byteRows         ? byteRows->getSplat(r, k)
             : liftedRows     ? liftedRows->getSplat(r, k)
             : transposedRows ? transposedRows->getSplat(tileOf(row), r, k)
             : plan.pairs     ? builder.splatPair(lhs, lhsAt(row, r, k))
                              : builder.loadSplat(lhs, lhsAt(row, r, k));
    };
    Value ofAll = builder.add(strip, set * getStrips());
    if (plan.copiesRhs)
      tile.rhs = [this, ofAll](Value k) { return strips->load(ofAll, k); };
    else if (plan.rhs != GemmPlan::Rhs::Panels)
      tile.rhs = [this, column = builder.add(columnOf(strip), offset)](Value k) {
        return loadDense(column, k);
      };
    else
      tile.rhs = [this, offset, strip](Value k) { return loadPanel(offset, strip, k); };
    return tile;
  }

  /// Where the panel begins that has a column of the work item; panels are `elements` apart.
  Value panelAt(int64_t column, int64_t elements) {
    return panelAt(builder.index(column / plan.panelWidth), elements);
  }

  /// The same of a panel of the work item.
  Value panelAt(Value panel, int64_t elements) {
    int64_t ofItem = kItemColumns / plan.panelWidth;
    int64_t panels = llvm::divideCeil(plan.n, plan.panelWidth);
    panel = builder.add(builder.mul(columnBlock, ofItem), panel);
    // The last item may have fewer panels: what it computes from one again is not stored.
    if (panels % ofItem != 0)
      panel = builder.min(panel, builder.index(panels - 1));
    return builder.mul(panel, elements);
  }

  /// Where the panel begins that has a column of a strip, which is counted from the strip's first.
  Value panelOf(Value strip, int64_t column) {
    int64_t panels = getTileColumns() / plan.panelWidth;
    return panels == 0 ? panelAt(knownColumnOf(strip) + column, plan.panelElements)
                       : panelAt(builder.add(builder.mul(strip, panels), column / plan.panelWidth),
                                 plan.panelElements);
  }

  SmallVector<Value> loadPanel(int64_t offset, Value strip, Value k) {
    Value rhs = arguments[plan.rhsArgument];
    int64_t interleave = plan.pairs ? 2 : std::max<int64_t>(1, plan.bytesOfWord);
    // Of a panel that several strips share, where a strip has its first column.
    int64_t first = getTileColumns() < plan.panelWidth ? knownColumnOf(strip) : 0;
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; ++v) {
      Value at = builder.add(panelOf(strip, offset + v * lanes), builder.mul(k, plan.panelWidth));
      int64_t column = (first + v * lanes) % plan.panelWidth;
      at = builder.add(at, column * interleave);
      if (plan.m <= plan.tileRows)
        builder.prefetchStream(rhs, at, column * interleave);
      vectors.push_back(plan.bytesOfWord ? builder.loadBytes(rhs, at)
                        : plan.pairs     ? builder.loadPairs(rhs, at)
                                         : builder.load(rhs, at));
    }
    return vectors;
  }

  /// Copies a block of k of a block of columns, if the kernel makes its strips.
  void copyColumns(Value kBegin, Value kEnd) {
    if (strips && integers)
      strips->dequantize(*integers, kBegin, kEnd);
    else if (strips)
      strips->copy(columnBlock, kBegin, kEnd);
  }

  /// Copies the item's rows of a block of k, if the kernel does, for all of its columns.
  void copyRows(Value kBegin, Value kEnd) {
    if (transposedRows)
      transposedRows->copy(
          arguments[plan.lhsArgument], [&](Value k) { return lhsAt(firstRow, 0, k); },
          plan.m % plan.rowBlock == 0 ? Value() : builder.sub(builder.index(plan.m), firstRow),
          kBegin, kEnd);
  }

  /// rhs without a layout, from a column of the work item on: correct for any matmul, but a
  /// transposed one is gathered.
  SmallVector<Value> loadDense(Value column, Value k) {
    Value rhs = arguments[plan.rhsArgument];
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; ++v) {
      Value first = builder.add(builder.mul(columnBlock, kItemColumns), column);
      first = builder.add(first, v * lanes);
      if (plan.rhs == GemmPlan::Rhs::Dense) {
        Value at = builder.add(builder.mul(k, plan.n), first);
        Value mask = builder.maskBelow(builder.sub(builder.index(plan.n), first));
        vectors.push_back(builder.load(rhs, at, plan.n % kItemColumns == 0 ? Value() : mask));
        continue;
      }
      SmallVector<Value> elements;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        Value row = builder.min(builder.add(first, lane), builder.index(plan.n - 1));
        elements.push_back(builder.loadScalar(rhs, builder.add(builder.mul(row, plan.k), k)));
      }
      vectors.push_back(vector::FromElementsOp::create(
          builder, builder.vectorOf(builder.getF32Type()), elements));
    }
    return vectors;
  }

  /// The epilogue of `rows` rows from row `row` on, which the scratch has from row `begin` on.
  void finish(Value begin, Value rows, Value row) {
    int64_t columns = epilogue.getColumns();
    if (columns % kItemColumns == 0)
      return finishColumns(begin, rows, row, /*ragged=*/false);
    // Only the last columns have lanes to leave out: stores that do are slow without AVX-512.
    Value last = builder.index(columns / kItemColumns);
    auto is = [&](arith::CmpIPredicate predicate) {
      return arith::CmpIOp::create(builder, predicate, columnBlock, last);
    };
    builder.ifThen(is(arith::CmpIPredicate::ult),
                   [&] { finishColumns(begin, rows, row, /*ragged=*/false); });
    builder.ifThen(is(arith::CmpIPredicate::eq),
                   [&] { finishColumns(begin, rows, row, /*ragged=*/true); });
  }

  void finishColumns(Value begin, Value rows, Value row, bool ragged) {
    builder.loop(builder.index(0), rows, 1, [&](Value r) {
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value column = builder.add(builder.mul(columnBlock, kItemColumns), v * lanes);
        Value mask;
        if (ragged)
          mask = builder.maskBelow(builder.sub(builder.index(epilogue.getColumns()), column));
        SmallVector<Value> product;
        for (size_t set = 0; set < epilogue.getProductOffsets().size(); ++set) {
          Value scratchRow = builder.add(builder.add(begin, r), set * scratchRows);
          Value at = builder.mul(scratchRow, kItemColumns);
          product.push_back(builder.loadStored(scratch, builder.add(at, v * lanes)));
          if (plan.bytesOfWord)
            product.back() =
                scaleSums(product.back(), epilogue.getProductOffsets()[set] + v * lanes);
          if (plan.rowScalesArgument)
            product.back() =
                builder.mulF(product.back(), builder.loadSplat(arguments[*plan.rowScalesArgument],
                                                               builder.add(row, r)));
        }
        epilogue.emit(builder, arguments, builder.add(row, r), column, product, mask);
      }
    });
  }

  /// Sums of bytes times the columns' scales.
  Value scaleSums(Value sums, int64_t column) {
    Value at = builder.add(panelAt(column, plan.panelWidth), column % plan.panelWidth);
    return builder.mulF(builder.toFloat(sums), builder.load(arguments[plan.scalesArgument], at));
  }

  VectorBuilder builder;
  const GemmPlan &plan;
  const GemmEpilogue &epilogue;
  ValueRange arguments;
  int64_t lanes;
  Value scratch;
  int64_t scratchRows = 0;
  std::optional<IntegerPanels> integers;
  std::optional<ByteRows> byteRows;
  std::optional<GroupSums> groupSums;
  std::optional<FixedPointRows> fixedPointRows;
  std::optional<LiftedRows> liftedRows;
  std::optional<TransposedRows> transposedRows;
  std::optional<CopiedStrips> strips;
  std::optional<MatrixTiles> matrixTiles;
  bool keepsRows = false; // what is kept of rows is made once for all items
  Value firstColumnBlock, lastColumnBlock, columnBlock, firstRow, lastRow;
  Value scratchBegin; // where the scratch has the first row of columnBlock
};

} // namespace

FailureOr<int64_t> sinter::lowerGemmKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                           const TargetAttr &target) {
  FailureOr<GemmPlan> plan = makeGemmPlan(tensorKernel, target);
  if (failed(plan))
    return failure();
  FailureOr<GemmEpilogue> epilogue = GemmEpilogue::analyze(tensorKernel, plan->matmul);
  if (failed(epilogue))
    return failure();
  ArrayRef<int64_t> offsets = epilogue->getProductOffsets();
  for (int64_t offset : offsets)
    if (offset % kItemColumns != 0 || (offsets.size() > 1 && epilogue->getColumns() % kItemColumns))
      return plan->matmul.emitError("expected the product to be sliced at multiples of ")
             << kItemColumns << " columns, got " << offset;
  cutGemm(*plan, target, epilogue->getColumns(), offsets.size());
  ValueRange arguments = loopKernel.getArguments();
  GemmEmitter(loopKernel, target, *plan, *epilogue)
      .emit(arguments.drop_back().back(), arguments.back());
  return plan->getColumnItems() * plan->rowBlocks;
}
