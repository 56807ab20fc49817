//===- GemmKernel.cpp - One matmul and its epilogue -------------------------===//
//
// A work item is 64 columns of the right-hand side times a block of rows. Within it:
//
//   for each block of k (one, unless the columns are larger than a quarter of the L2 cache)
//     for each tile of rows that the registers hold
//       the product of the tile, in registers (RegisterTile.h), to a scratch
//   the epilogue, row by row, from the scratch
//
// With one block of k the epilogue follows each tile at once, while its rows are in the L1 cache.
// The columns are several panels, as wide as the narrowest tiles that the registers hold against
// several rows (KernelLayouts.h), so that what a tile reads are whole streams. Of wider panels it
// would read pieces of rows 256 bytes apart, which fall into a part of the L1 cache and, where they
// come from memory, are half of what is fetched: 8 rows took 1.1 to 1.5 times as long on Zen 4.
//
// A right-hand side that is no panels is copied to strips as wide as a tile, a block of k at a
// time, where more than one tile of rows is computed from it. So is the block of rows of a
// transposed left-hand side that the L2 cache does not hold: its elements along k are lines apart,
// each of which several tiles read.
//
// One row (decode) makes a tile of one row: panels stream from memory exactly once. The processor
// sees the streams itself; to ask for their lines ahead cost a fifth of the rate on Zen 4. The
// columns of gate and up belong to one work item, so that their product never leaves the scratch.
//
// Integers are widened to f32 in registers. What a group of them sums up to is multiplied by their
// scale once, not each of them. They take so many instructions a line that too few lines are
// on their way from memory: one row asks for them ahead, which took 0.84 of the time for 8 bits and
// 0.63 for 4 (GPT-2 124M on one core of Zen 5).
//
// Rows of bytes are multiplied as they are (VectorBuilder::byteDot), into exact sums of 32 bits,
// which the scales of rows and columns make numbers. Each tile of rows is first copied as the words
// that the columns then take from it.
//
// Minima of groups meet the sum of a row's group: these are summed up before, once for all columns.
//
// k is never split over work items and a row is computed alike in every block: results do not
// depend on the number of threads.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/GemmEpilogue.h"
#include "compiler/Codegen/Cpu/Kernels.h"
#include "compiler/Codegen/Cpu/LhsScratch.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "compiler/Codegen/Loops/StridedInput.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace sinter;

namespace {

/// Rows that the scratch of a work item holds: a block and what its last tile adds to it. Kernels
/// have 128 KiB of stack in all.
constexpr int64_t kScratchRows = kBlockRows + 16;
/// Bytes of the same stack for a block of the columns that the kernel copies itself: one strip, or
/// several.
constexpr int64_t kStripBytes = 40 * 1024, kStripsBytes = 56 * 1024;
/// How far ahead of its use a row is asked for where integers are multiplied by few rows.
constexpr int64_t kBytesAhead = 4096, kLineBytes = 64;
/// Bytes of the stack for what is kept of a tile's rows of bytes, or of their sums.
constexpr int64_t kLhsScratchBytes = 40 * 1024;
/// Rows of a block at the least, of those that are as tall as the scratch.
constexpr int64_t kFewestRows = 96;
/// And for a block of a transposed left-hand side: k of the block, and rows.
constexpr int64_t kLhsDepth = 96, kLhsRows = 96;

/// What a kernel computes and how it is cut.
struct GemmPlan {
  enum class Rhs { Panels, Dense, DenseTransposed };

  MatmulOp matmul;
  unsigned lhsArgument = 0, rhsArgument = 0;
  // Element [row, k] of lhs: offset + place of the row + k * strideK. Rows are `stride` apart, or,
  // in panels, columns of panels `lhsPanelElements` apart.
  int64_t lhsStride = 0, lhsStrideK = 1, lhsOffset = 0;
  int64_t lhsPanelWidth = 0, lhsPanelElements = 0;
  Rhs rhs = Rhs::Panels;
  int64_t panelWidth = 0, panelElements = 0;
  bool pairs = false; // rhs holds pairs of bf16
  // Of integers: their width, the scales and minima, in panels of the same columns, and the k that
  // share one.
  int64_t integerBits = 0;
  unsigned scalesArgument = 0;
  std::optional<unsigned> minimaArgument;
  int64_t group = 0;
  // Of rows of bytes: how many are multiplied together, 0 for numbers, and the rows' scales.
  int64_t bytesOfWord = 0;
  unsigned rowScalesArgument = 0;
  int64_t m = 0, n = 0, k = 0; // k of bytes is padded to whole words

  int64_t columnBlocks = 0; // of work items, along the results' columns
  int64_t rowBlock = 0;     // rows of a work item
  int64_t rowBlocks = 0;
  int64_t kBlock = 0;
  int64_t tileRows = 0;
  int64_t tileVectors = 0;
  bool copiesRhs = false; // the kernel makes the strips that it reads
  bool copiesLhs = false; // the kernel copies its block of rows
};

/// Finds a transposed lhs, [k, m]: rows of f32 next to each other, or panels.
LogicalResult findTransposedLhs(GemmPlan &plan) {
  Value lhs = plan.matmul.getLhs();
  RankedTensorType type = plan.matmul.getLhs().getType();
  auto panels = dyn_cast_or_null<PanelsAttr>(type.getEncoding());
  if (!panels) {
    if (!type.getElementType().isF32())
      return plan.matmul.emitError("expected a transposed lhs of f32 or in panels, got ") << type;
    FailureOr<StridedInput> input = StridedInput::trace(lhs);
    if (failed(input))
      return failure();
    plan.lhsArgument = input->argument;
    plan.lhsOffset = input->offset;
    plan.lhsStrideK = input->strides[0];
    plan.lhsStride = input->strides[1];
    return success();
  }
  auto argument = dyn_cast<BlockArgument>(lhs);
  int64_t interleave = type.getElementType().isBF16() ? 2 : 1;
  if (!argument || panels.getInterleave() != interleave || panels.getDepth() % interleave != 0)
    return plan.matmul.emitError("expected a packed lhs to be an input with interleave ")
           << interleave << ", got " << type;
  plan.lhsArgument = argument.getArgNumber();
  plan.lhsStride = interleave;
  plan.lhsStrideK = plan.lhsPanelWidth = panels.getWidth();
  plan.lhsPanelElements = llvm::alignTo(plan.k, panels.getDepth()) * panels.getWidth();
  return success();
}

/// Finds lhs as a matrix inside an argument.
LogicalResult findLhs(GemmPlan &plan) {
  if (plan.matmul.getTransposeLhs())
    return findTransposedLhs(plan);
  FailureOr<StridedInput> lhs = StridedInput::trace(plan.matmul.getLhs());
  if (failed(lhs))
    return failure();
  ArrayRef<int64_t> shape = plan.matmul.getLhs().getType().getShape();
  int64_t rank = shape.size();
  plan.lhsArgument = lhs->argument;
  plan.lhsOffset = lhs->offset;
  // Dimensions before k, from the inside out, must be those of one matrix.
  plan.lhsStride = plan.k;
  int64_t rows = 1;
  for (int64_t i = rank - 2; i >= 0; --i) {
    if (shape[i] == 1)
      continue;
    if (rows == 1)
      plan.lhsStride = lhs->strides[i];
    else if (lhs->strides[i] != plan.lhsStride * rows)
      return plan.matmul.emitError("expected rows of lhs at one distance from each other");
    rows *= shape[i];
  }
  if (plan.k > 1 && lhs->strides.back() != 1)
    return plan.matmul.emitError("expected rows of lhs to be contiguous");
  return success();
}

/// The number of an argument that holds scales or minima of each column.
FailureOr<unsigned> findScales(GemmPlan &plan, Value scales) {
  auto argument = dyn_cast<BlockArgument>(scales);
  auto type = cast<RankedTensorType>(scales.getType());
  auto panels = PanelsAttr::get(type.getContext(), plan.panelWidth, /*interleave=*/1, /*depth=*/1);
  if (!argument || type.getEncoding() != panels || !type.getElementType().isF32() ||
      type.getDimSize(1) != plan.n)
    return plan.matmul.emitError("expected an input of f32 scales of each column, in panels as "
                                 "wide as those of rhs, without padding along k, got ")
           << type;
  return argument.getArgNumber();
}

LogicalResult findIntegers(GemmPlan &plan) {
  FailureOr<unsigned> scales = findScales(plan, plan.matmul.getScales());
  if (failed(scales))
    return failure();
  plan.scalesArgument = *scales;
  plan.integerBits = plan.matmul.getRhs().getType().getElementTypeBitWidth();
  plan.group = plan.matmul.getGroup();
  if (Value minima = plan.matmul.getMinima()) {
    FailureOr<unsigned> found = findScales(plan, minima);
    if (failed(found))
      return failure();
    plan.minimaArgument = *found;
  }
  if (Value rows = plan.matmul.getRowScales()) {
    auto argument = dyn_cast<BlockArgument>(rows);
    if (!argument || cast<RankedTensorType>(rows.getType()).getEncoding() ||
        !getElementTypeOrSelf(rows).isF32())
      return plan.matmul.emitError("expected an input of f32 scales of each row, got ")
             << rows.getType();
    plan.rowScalesArgument = argument.getArgNumber();
    plan.k = llvm::alignTo(plan.k, plan.bytesOfWord);
  }
  return success();
}

LogicalResult findRhs(GemmPlan &plan, TargetAttr target) {
  int64_t lanes = target.getVectorBits() / 32;
  auto argument = dyn_cast<BlockArgument>(plan.matmul.getRhs());
  if (!argument)
    return plan.matmul.emitError("expected the matmul's rhs to be an input");
  RankedTensorType type = plan.matmul.getRhs().getType();
  plan.rhsArgument = argument.getArgNumber();
  auto panels = dyn_cast_or_null<PanelsAttr>(type.getEncoding());
  if (!panels && !type.getEncoding()) {
    plan.rhs =
        plan.matmul.getTransposeRhs() ? GemmPlan::Rhs::DenseTransposed : GemmPlan::Rhs::Dense;
    if (plan.matmul.getScales())
      return plan.matmul.emitError("expected integers in panels, got ") << type;
    return success();
  }
  if (plan.matmul.getRowScales())
    plan.bytesOfWord = hasByteDot(target) ? 4 : 2;
  int64_t interleave = type.getElementType().isBF16() ? 2 : std::max<int64_t>(1, plan.bytesOfWord);
  bool halves = type.getElementType().isInteger(4);
  if (!panels || plan.matmul.getTransposeRhs() || (halves && panels.getWidth() != 2 * lanes) ||
      kItemColumns % panels.getWidth() != 0 || panels.getWidth() % lanes != 0 ||
      panels.getInterleave() != interleave || panels.getDepth() % interleave != 0 ||
      (plan.matmul.getScales() && panels.getDepth() != interleave))
    return plan.matmul.emitError("expected rhs [k, n] in panels of whole vectors, several of which "
                                 "are ")
           << kItemColumns << " columns, with interleave " << interleave << ", got " << type;
  plan.panelWidth = panels.getWidth();
  plan.panelElements = llvm::alignTo(plan.k, panels.getDepth()) * plan.panelWidth;
  plan.pairs = type.getElementType().isBF16();
  // Behind the bytes, what their -128 adds up to.
  if (plan.bytesOfWord == 4)
    plan.panelElements += 4 * plan.panelWidth;
  return plan.matmul.getScales() ? findIntegers(plan) : success();
}

FailureOr<GemmPlan> makePlan(func::FuncOp kernel, TargetAttr target) {
  GemmPlan plan;
  for (Operation &op : kernel.front())
    if (auto matmul = dyn_cast<MatmulOp>(op)) {
      if (plan.matmul)
        return matmul.emitError("expected one matmul in a GEMM kernel");
      plan.matmul = matmul;
    }
  if (!plan.matmul)
    return kernel.emitError("expected a matmul in a GEMM kernel");
  Type element = plan.matmul.getLhs().getType().getElementType();
  if (!element.isF32() && !element.isBF16() && !element.isInteger(8))
    return plan.matmul.emitError("expected operands of f32, bf16 or i8, got ") << element;
  plan.m = plan.matmul.getM();
  plan.n = plan.matmul.getN();
  plan.k = plan.matmul.getK();
  if (failed(findLhs(plan)) || failed(findRhs(plan, target)))
    return failure();
  return plan;
}

/// Chooses tiles and blocks for the target.
void cut(GemmPlan &plan, TargetAttr target, int64_t columns, int64_t sets) {
  int64_t elementBytes = plan.bytesOfWord ? 1 : plan.pairs ? 2 : 4;
  int64_t lanes = target.getVectorBits() / 32, itemVectors = kItemColumns / lanes;
  plan.columnBlocks = llvm::divideCeil(columns, kItemColumns);

  // All rows at once where the registers hold them against all columns; else the widest tile that
  // still has several rows.
  plan.tileVectors = itemVectors;
  while (plan.tileVectors > 1 &&
         RegisterTile::getMaxRows(target, plan.tileVectors) < std::min<int64_t>(plan.m, kManyRows))
    plan.tileVectors /= 2;
  // A few rows more than that fit against half of them, if these are whole panels: streams of their
  // own, while a second tile of rows would wait for memory behind the first one.
  if (plan.tileVectors * lanes > std::max(plan.panelWidth, lanes) &&
      plan.m > RegisterTile::getMaxRows(target, plan.tileVectors) &&
      plan.m <= RegisterTile::getMaxRows(target, plan.tileVectors / 2))
    plan.tileVectors /= 2;
  int64_t most = RegisterTile::getMaxRows(target, plan.tileVectors);
  plan.tileRows = llvm::divideCeil(plan.m, llvm::divideCeil(plan.m, most));

  // A block of the columns stays in L2 while the tiles of the block of rows pass over it, and lhs'
  // block of rows while columns after columns do.
  int64_t rowBytes = kItemColumns * elementBytes * sets;
  int64_t blocks =
      plan.m <= plan.tileRows ? 1 : llvm::divideCeil(plan.k * rowBytes, target.getL2Bytes() / 4);
  bool strips = plan.tileVectors < itemVectors;
  plan.copiesRhs = plan.rhs != GemmPlan::Rhs::Panels && plan.m > plan.tileRows && sets == 1;
  if (plan.copiesRhs) {
    int64_t depth = (strips ? kStripsBytes : kStripBytes) / (kItemColumns * 4);
    blocks = std::max<int64_t>(blocks, llvm::divideCeil(plan.k, depth));
  }
  plan.copiesLhs = plan.matmul.getTransposeLhs() && plan.lhsPanelWidth == 0 &&
                   plan.lhsStride == 1 && plan.m > plan.tileRows &&
                   plan.k * plan.lhsStrideK * elementBytes > target.getL2Bytes() / 2;
  if (plan.copiesLhs)
    blocks = std::max<int64_t>(blocks, llvm::divideCeil(plan.k, kLhsDepth));
  // What a tile keeps of its rows: words of bytes, or sums of groups.
  int64_t keptBytes = plan.bytesOfWord      ? plan.tileRows * plan.k * 4 / plan.bytesOfWord
                      : plan.minimaArgument ? plan.tileRows * plan.k / plan.group * 4
                                            : 0;
  blocks = std::max<int64_t>(blocks, llvm::divideCeil(keptBytes, kLhsScratchBytes));
  // Groups stay whole, and vectors of words.
  int64_t unit = std::lcm<int64_t>(32, plan.bytesOfWord ? lanes * plan.bytesOfWord
                                                        : std::max<int64_t>(1, plan.group));
  plan.kBlock = llvm::alignTo(llvm::divideCeil(plan.k, blocks), unit);

  int64_t mostRows = plan.copiesLhs ? kLhsRows : kScratchRows / sets;
  // Blocks of strips are as tall as the scratch, but not so tall that cores are left without any.
  if (strips && plan.copiesRhs)
    mostRows = std::clamp<int64_t>(plan.m * plan.columnBlocks / (4 * target.getCores()),
                                   kFewestRows, mostRows);
  int64_t rows =
      std::min(mostRows, std::max<int64_t>(plan.tileRows,
                                           target.getL2Bytes() / 2 / (plan.kBlock * elementBytes)));
  rows = std::max<int64_t>(rows / plan.tileRows, 4) * plan.tileRows;
  int64_t rowBlocks = llvm::divideCeil(plan.m, rows);
  plan.rowBlock = llvm::alignTo(llvm::divideCeil(plan.m, rowBlocks), plan.tileRows);
  plan.rowBlocks = llvm::divideCeil(plan.m, plan.rowBlock);
}

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
    scratch = builder.scratch(sets * scratchRows * kItemColumns,
                              plan.bytesOfWord ? Type(builder.getI32Type()) : builder.getF32Type());
    if (MatmulOp matmul = plan.matmul; plan.bytesOfWord)
      byteRows.emplace(builder, plan.tileRows, plan.kBlock, matmul.getK());
    if (plan.minimaArgument)
      groupSums.emplace(builder, plan.tileRows, plan.kBlock, plan.group);
    if (plan.copiesRhs)
      copied = builder.scratch(plan.kBlock * kItemColumns, builder.getF32Type());
    if (plan.copiesLhs) {
      // An odd number of vectors from k to k spreads a column over the cache.
      copiedLhsStride = (llvm::divideCeil(plan.rowBlock, lanes) | 1) * lanes;
      copiedLhs = builder.scratch(plan.kBlock * copiedLhsStride, builder.getF32Type());
    }
    builder.loop(begin, end, 1, [&](Value item) {
      columnBlock = builder.rem(item, plan.columnBlocks);
      firstRow = builder.mul(builder.div(item, plan.columnBlocks), plan.rowBlock);
      lastRow = builder.min(builder.add(firstRow, plan.rowBlock), builder.index(plan.m));
      if (whole) {
        beginBlock(builder.index(0), builder.index(plan.k));
        forTiles([&](int64_t rows, Value row) {
          multiply(rows, row, builder.index(0), builder.index(0), builder.index(plan.k), true);
          finish(builder.index(0), builder.index(rows), row);
        });
        return;
      }
      beginBlock(builder.index(0), builder.index(plan.kBlock));
      forTiles([&](int64_t rows, Value row) {
        multiply(rows, row, builder.sub(row, firstRow), builder.index(0),
                 builder.index(plan.kBlock), true);
      });
      int64_t last = (llvm::divideCeil(plan.k, plan.kBlock) - 1) * plan.kBlock;
      auto accumulate = [&](Value k, Value kEnd) {
        beginBlock(k, kEnd);
        forTiles([&](int64_t rows, Value row) {
          multiply(rows, row, builder.sub(row, firstRow), k, kEnd, false);
        });
      };
      if (last > plan.kBlock)
        builder.loop(builder.index(plan.kBlock), builder.index(last), plan.kBlock,
                     [&](Value k) { accumulate(k, builder.add(k, plan.kBlock)); });
      accumulate(builder.index(last), builder.index(plan.k));
      finish(builder.index(0), builder.sub(lastRow, firstRow), firstRow);
    });
  }

private:
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

  /// scratch[scratchRow ...] (+)= lhs[row ... row + rows, kBegin ... kEnd] * rhs[kBegin ... kEnd,
  /// :]
  void multiply(int64_t rows, Value row, Value scratchRow, Value kBegin, Value kEnd, bool first) {
    auto place = [&](int64_t r, Value k) { return lhsAt(row, r, k); };
    if (byteRows)
      byteRows->copy(arguments[plan.lhsArgument], place, rows, kBegin, kEnd);
    if (groupSums)
      groupSums->sum(arguments[plan.lhsArgument], place, rows, kBegin, kEnd);
    for (auto [set, offset] : llvm::enumerate(epilogue.getProductOffsets()))
      for (int64_t c = 0; c < kItemColumns / lanes; c += plan.tileVectors) {
        RegisterTile tile = makeTile(rows, row, offset, c);
        auto at = [&](int64_t r, int64_t v) {
          Value offsetOfRow = builder.mul(
              builder.add(scratchRow, static_cast<int64_t>(set) * scratchRows + r), kItemColumns);
          return builder.add(offsetOfRow, (c + v) * lanes);
        };
        SmallVector<Value> sums = tile.zeros(builder);
        for (int64_t i = 0; i < rows * tile.vectors; ++i)
          if (!first)
            sums[i] = builder.loadStored(scratch, at(i / tile.vectors, i % tile.vectors));
          else if (plan.bytesOfWord == 4)
            sums[i] = loadSums(offset + (c + i % tile.vectors) * lanes);
        // The last element of an odd k stands alone: a dense lhs ends there, panels have a zero.
        bool odd = plan.pairs && plan.k % 2 != 0 && getConstantIntValue(kEnd) == plan.k;
        Value even = odd ? builder.index(plan.k - 1) : kEnd;
        sums = plan.group && !byteRows ? accumulateGroups(tile, offset, c, kBegin, kEnd, sums)
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
  }

  /// The same for integers: each group by itself, then times its scales.
  SmallVector<Value> accumulateGroups(const RegisterTile &tile, int64_t offset, int64_t firstVector,
                                      Value kBegin, Value kEnd, ValueRange sums) {
    return builder.loop(kBegin, kEnd, plan.group, sums, [&](Value k, ValueRange carried) {
      RegisterTile ahead = tile;
      if (plan.m <= plan.tileRows)
        ahead.rhs = [&, places = placesAhead(offset, firstVector, k),
                     calls = 0](Value row) mutable {
          bool newLine = calls++ % std::max<int64_t>(1, kLineBytes / rowBytes()) == 0;
          for (Value place : newLine ? ArrayRef<Value>(places) : ArrayRef<Value>())
            memref::PrefetchOp::create(
                builder, arguments[plan.rhsArgument],
                builder.add(place, builder.mul(builder.sub(row, k), rowBytes())),
                /*isWrite=*/false, /*localityHint=*/3, /*isDataCache=*/true);
          return tile.rhs(row);
        };
      SmallVector<Value> ofGroup =
          ahead.accumulate(builder, k, builder.add(k, plan.group), tile.zeros(builder));
      SmallVector<Value> next;
      Value row = builder.div(k, plan.group);
      int64_t groups = plan.k / plan.group;
      for (int64_t i = 0; i < tile.rows * tile.vectors; ++i) {
        int64_t column = offset + (firstVector + i % tile.vectors) * lanes;
        Value at = builder.add(panelAt(column, groups * plan.panelWidth),
                               builder.mul(row, plan.panelWidth));
        at = builder.add(at, column % plan.panelWidth);
        Value scale = builder.load(arguments[plan.scalesArgument], at);
        Value sum = builder.fma(ofGroup[i], scale, carried[i]);
        if (groupSums)
          sum = builder.fma(groupSums->getSplat(i / tile.vectors, k),
                            builder.load(arguments[*plan.minimaArgument], at), sum);
        next.push_back(sum);
      }
      return next;
    });
  }

  /// What the sums of bytes of a vector of columns begin with.
  Value loadSums(int64_t column) {
    int64_t at = plan.k * plan.panelWidth + column % plan.panelWidth * plan.bytesOfWord;
    Value bytes = builder.loadBytes(arguments[plan.rhsArgument],
                                    builder.add(panelAt(column, plan.panelElements), at));
    return vector::BitCastOp::create(builder, builder.vectorOf(builder.getI32Type()), bytes);
  }

  /// Bytes of a row of a panel of integers.
  int64_t rowBytes() const { return plan.panelWidth * plan.integerBits / 8; }

  /// Where the bytes are that the streams of a tile of integers reach some time after those of a
  /// group.
  SmallVector<Value> placesAhead(int64_t offset, int64_t firstVector, Value k) {
    Value rhs = arguments[plan.rhsArgument];
    int64_t last = cast<MemRefType>(rhs.getType()).getNumElements() - plan.group * rowBytes();
    SmallVector<Value> places;
    for (int64_t v = 0; v < plan.tileVectors; v += plan.panelWidth / lanes) {
      Value at = builder.add(panelAt(offset + (firstVector + v) * lanes, plan.k * rowBytes()),
                             builder.mul(k, rowBytes()));
      places.push_back(builder.min(builder.add(at, kBytesAhead), builder.index(last)));
    }
    return places;
  }

  Value lhsAt(Value row, int64_t r, Value k) {
    Value at = builder.add(row, r);
    if (plan.copiesLhs)
      return builder.add(builder.mul(builder.sub(k, blockBegin), copiedLhsStride),
                         builder.sub(at, firstRow));
    Value start =
        plan.lhsPanelWidth == 0
            ? builder.mul(at, plan.lhsStride)
            : builder.add(builder.mul(builder.div(at, plan.lhsPanelWidth), plan.lhsPanelElements),
                          builder.mul(builder.rem(at, plan.lhsPanelWidth), plan.lhsStride));
    return builder.add(builder.add(start, builder.mul(k, plan.lhsStrideK)), plan.lhsOffset);
  }

  RegisterTile makeTile(int64_t rows, Value row, int64_t offset, int64_t firstVector) {
    RegisterTile tile;
    tile.rows = rows;
    tile.vectors = plan.tileVectors;
    tile.depth = plan.bytesOfWord ? plan.bytesOfWord : plan.pairs ? 2 : 1;
    tile.bytes = plan.bytesOfWord != 0;
    tile.matrixRows = plan.m;
    tile.lhs = [this, row](int64_t r, Value k) {
      Value lhs = plan.copiesLhs ? copiedLhs : arguments[plan.lhsArgument];
      // While a block is multiplied the next one is asked for.
      if (plan.copiesLhs && r == 0)
        builder.prefetch(arguments[plan.lhsArgument], builder.add(lhsRowAt(k), row),
                         plan.kBlock * plan.lhsStrideK);
      return byteRows     ? byteRows->getSplat(r, k)
             : plan.pairs ? builder.splatPair(lhs, lhsAt(row, r, k))
                          : builder.loadSplat(lhs, lhsAt(row, r, k));
    };
    Value column =
        builder.add(builder.mul(columnBlock, kItemColumns), offset + firstVector * lanes);
    if (plan.copiesRhs)
      tile.rhs = [this, firstVector](Value k) { return loadCopied(firstVector, k); };
    else if (plan.rhs != GemmPlan::Rhs::Panels)
      tile.rhs = [this, column](Value k) { return loadDense(column, k); };
    else
      tile.rhs = [this, offset, firstVector](Value k) { return loadPanel(offset, firstVector, k); };
    return tile;
  }

  /// Where the panel begins that has a column of the work item; panels are `elements` apart.
  Value panelAt(int64_t column, int64_t elements) {
    int64_t ofItem = kItemColumns / plan.panelWidth;
    int64_t panels = llvm::divideCeil(plan.n, plan.panelWidth);
    Value panel = builder.add(builder.mul(columnBlock, ofItem), column / plan.panelWidth);
    // The last item may have fewer panels: what it computes from one again is not stored.
    if (panels % ofItem != 0)
      panel = builder.min(panel, builder.index(panels - 1));
    return builder.mul(panel, elements);
  }

  SmallVector<Value> loadPanel(int64_t offset, int64_t firstVector, Value k) {
    if (plan.integerBits == 4)
      return loadHalves(offset, firstVector, k);
    Value rhs = arguments[plan.rhsArgument];
    int64_t interleave = plan.pairs ? 2 : std::max<int64_t>(1, plan.bytesOfWord);
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; ++v) {
      int64_t column = offset + (firstVector + v) * lanes;
      Value at = builder.add(panelAt(column, plan.panelElements), builder.mul(k, plan.panelWidth));
      at = builder.add(at, column % plan.panelWidth * interleave);
      vectors.push_back(plan.bytesOfWord ? builder.loadBytes(rhs, at)
                        : plan.pairs     ? builder.loadPairs(rhs, at)
                                         : builder.load(rhs, at));
    }
    return vectors;
  }

  /// Integers of four bits: a vector of bytes has a panel's first vector of columns in the lower
  /// halves and its second one in the upper halves.
  SmallVector<Value> loadHalves(int64_t offset, int64_t firstVector, Value k) {
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; v += 2) {
      int64_t column = offset + (firstVector + v) * lanes;
      Value at =
          builder.add(panelAt(column, plan.panelElements / 2), builder.mul(k, plan.panelWidth / 2));
      auto [lower, upper] = builder.loadHalves(arguments[plan.rhsArgument], at);
      vectors.append({lower, upper});
    }
    return vectors;
  }

  /// Before the products of a block of k: copies it, if the kernel makes its strips, and asks for
  /// the next one, which the products then leave time to arrive.
  void beginBlock(Value kBegin, Value kEnd) {
    blockBegin = kBegin;
    if (plan.copiesLhs)
      copyLhs(kBegin, kEnd);
    if (!plan.copiesRhs)
      return;
    if (plan.rhs == GemmPlan::Rhs::DenseTransposed)
      copyTransposed(kBegin, kEnd);
    else
      copyRows(kBegin, kEnd);
  }

  /// Where a transposed lhs has its row 0 of k; the others follow it.
  Value lhsRowAt(Value k) { return builder.add(builder.mul(k, plan.lhsStrideK), plan.lhsOffset); }

  /// The block's rows of a transposed lhs.
  void copyLhs(Value kBegin, Value kEnd) {
    Value lhs = arguments[plan.lhsArgument];
    bool ragged = plan.m % plan.rowBlock != 0 || plan.rowBlock % lanes != 0;
    builder.loop(kBegin, kEnd, 1, [&](Value k) {
      Value from = builder.add(lhsRowAt(k), firstRow);
      Value to = builder.mul(builder.sub(k, kBegin), copiedLhsStride);
      for (int64_t row = 0; row < plan.rowBlock; row += lanes) {
        Value mask;
        if (ragged)
          mask = builder.maskBelow(builder.sub(builder.sub(lastRow, firstRow), builder.index(row)));
        Value at = builder.add(from, row);
        builder.store(builder.load(lhs, at, mask), copiedLhs, builder.add(to, row));
      }
    });
  }

  /// Rows [kBegin, kEnd) of the item's columns, a piece of a row of rhs each.
  void copyRows(Value kBegin, Value kEnd) {
    Value rhs = arguments[plan.rhsArgument];
    Value first = builder.mul(columnBlock, kItemColumns);
    builder.loop(kBegin, kEnd, 1, [&](Value k) {
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value column = builder.add(first, v * lanes);
        Value at = builder.add(builder.mul(k, plan.n), column);
        Value mask;
        if (plan.n % kItemColumns != 0)
          mask = builder.maskBelow(builder.sub(builder.index(plan.n), column));
        builder.prefetch(rhs, at, plan.kBlock * plan.n);
        builder.store(builder.load(rhs, at, mask), copied, copiedAt(k, v));
      }
    });
  }

  /// The same of a transposed rhs, of which columns are rows: squares of them are turned.
  void copyTransposed(Value kBegin, Value kEnd) {
    Value rhs = arguments[plan.rhsArgument];
    builder.loop(kBegin, kEnd, lanes, [&](Value k) {
      // A last square may be narrower; what it holds beyond the last k is not read.
      Value mask;
      if (plan.k % lanes != 0)
        mask = builder.maskBelow(builder.sub(builder.index(plan.k), k));
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value first = builder.add(builder.mul(columnBlock, kItemColumns), v * lanes);
        SmallVector<Value> rows;
        for (int64_t i = 0; i < lanes; ++i) {
          // Columns of the product beyond the last repeat it.
          Value row = builder.min(builder.add(first, i), builder.index(plan.n - 1));
          Value at = builder.add(builder.mul(row, plan.k), k);
          builder.prefetch(rhs, at, plan.kBlock);
          rows.push_back(builder.load(rhs, at, mask));
        }
        for (auto [i, column] : llvm::enumerate(builder.transpose(rows)))
          builder.store(column, copied, copiedAt(builder.add(k, i), v));
      }
    });
  }

  /// Where the copied block has vector v of row k: strips of a tile's width lie one behind another.
  Value copiedAt(Value k, int64_t v) {
    int64_t width = plan.tileVectors * lanes;
    int64_t strip = v / plan.tileVectors * plan.kBlock * width;
    return builder.add(builder.mul(builder.sub(k, blockBegin), width),
                       strip + v % plan.tileVectors * lanes);
  }

  SmallVector<Value> loadCopied(int64_t firstVector, Value k) {
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; ++v)
      vectors.push_back(builder.load(copied, copiedAt(k, firstVector + v)));
    return vectors;
  }

  /// rhs without a layout: correct for any matmul, but a transposed one is gathered.
  SmallVector<Value> loadDense(Value column, Value k) {
    Value rhs = arguments[plan.rhsArgument];
    SmallVector<Value> vectors;
    for (int64_t v = 0; v < plan.tileVectors; ++v) {
      Value first = builder.add(column, v * lanes);
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

  /// The epilogue of scratch rows [begin, end), the first of which is row `row`.
  void finish(Value begin, Value end, Value row) {
    bool ragged = epilogue.getColumns() % kItemColumns != 0;
    builder.loop(begin, end, 1, [&](Value r) {
      for (int64_t v = 0; v < kItemColumns / lanes; ++v) {
        Value column = builder.add(builder.mul(columnBlock, kItemColumns), v * lanes);
        Value mask;
        if (ragged)
          mask = builder.maskBelow(builder.sub(builder.index(epilogue.getColumns()), column));
        SmallVector<Value> product;
        for (size_t set = 0; set < epilogue.getProductOffsets().size(); ++set) {
          Value at = builder.mul(builder.add(r, set * scratchRows), kItemColumns);
          product.push_back(builder.loadStored(scratch, builder.add(at, v * lanes)));
          if (plan.bytesOfWord)
            product.back() = scale(product.back(), builder.add(row, r),
                                   epilogue.getProductOffsets()[set] + v * lanes);
        }
        epilogue.emit(builder, arguments, builder.add(row, r), column, product, mask);
      }
    });
  }

  /// Sums of bytes as numbers.
  Value scale(Value sums, Value row, int64_t column) {
    Value at = builder.add(panelAt(column, plan.panelWidth), column % plan.panelWidth);
    Value scaled =
        builder.mulF(builder.toFloat(sums), builder.load(arguments[plan.scalesArgument], at));
    return builder.mulF(scaled, builder.loadSplat(arguments[plan.rowScalesArgument], row));
  }

  VectorBuilder builder;
  const GemmPlan &plan;
  const GemmEpilogue &epilogue;
  ValueRange arguments;
  int64_t lanes;
  Value scratch;
  int64_t scratchRows = 0;
  std::optional<ByteRows> byteRows;
  std::optional<GroupSums> groupSums;
  Value copied, copiedLhs; // blocks of the columns and of the rows
  int64_t copiedLhsStride = 0;
  Value blockBegin; // their first k
  Value columnBlock, firstRow, lastRow;
};

} // namespace

FailureOr<int64_t> sinter::lowerGemmKernel(func::FuncOp tensorKernel, func::FuncOp loopKernel,
                                           const TargetAttr &target) {
  FailureOr<GemmPlan> plan = makePlan(tensorKernel, target);
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
  cut(*plan, target, epilogue->getColumns(), offsets.size());
  ValueRange arguments = loopKernel.getArguments();
  GemmEmitter(loopKernel, target, *plan, *epilogue)
      .emit(arguments.drop_back().back(), arguments.back());
  return plan->columnBlocks * plan->rowBlocks;
}
