#include "compiler/Codegen/Cpu/GemmPlan.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/FixedPointRows.h"
#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "compiler/Codegen/Loops/StridedInput.h"

using namespace mlir;
using namespace sinter;

namespace {

/// Rows that the scratch of a work item holds: a block and what its last tile adds to it. Kernels
/// have 192 KiB of stack in all.
constexpr int64_t kScratchRows = kBlockRows + 16;
/// Bytes of the same stack for a block of the columns that the kernel copies itself.
constexpr int64_t kStripsBytes = 40 * 1024;
/// Bytes of the stack for what is kept of a tile's rows of bytes, or of their sums; of few rows in
/// fixed point, or lifted, beside which the scratch is small.
constexpr int64_t kLhsScratchBytes = 40 * 1024, kFewRowsBytes = 88 * 1024;
/// Rows of a block at the least, of those that are as tall as the scratch.
constexpr int64_t kFewestRows = 96;
/// And at the most, of those that read panels: more rows do not make up for a larger scratch. A
/// matrix unit waits for panels, which more rows read less often.
constexpr int64_t kPanelRows = 176, kMatrixTileRows = 256;
/// Bytes of the scratch of a work item of several blocks of columns, and how many items each core
/// has at the least then.
constexpr int64_t kScratchBytes = 80 * 1024, kItemsOfCore = 2;
/// How many items each core has at the most whose rows are made fixed point first, which takes a
/// tenth of the time of a block of columns, or are lifted.
constexpr int64_t kFewRowsItemsOfCore = 5;
/// Rows of bf16 up to which they pass over strips: more take so many instructions a line that
/// prefetching each costs more than it brings (a tenth of 64 rows on Zen 3).
constexpr int64_t kFewPairRows = 24;
/// Bytes of the stack for a block of a transposed left-hand side; its rows at the most, and its k
/// at the least.
constexpr int64_t kCopiedLhsBytes = 96 * 1024, kCopiedLhsRows = 96, kCopiedLhsDepth = 96;
/// Panels up to here are too short for the processor to prefetch them in time.
constexpr int64_t kShortPanelBytes = 8 * 1024;

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
  if (!argument || type.getEncoding() != panels || type.getElementTypeBitWidth() > 32 ||
      type.getDimSize(1) != plan.n)
    return plan.matmul.emitError("expected an input of scales of each column, of at most 32 bits, "
                                 "in panels as wide as those of rhs, without padding along k, got ")
           << type;
  return argument.getArgNumber();
}

LogicalResult findIntegers(GemmPlan &plan) {
  FailureOr<unsigned> scales = findScales(plan, plan.matmul.getScales());
  if (failed(scales))
    return failure();
  plan.scalesArgument = *scales;
  plan.integerBits = getStoredBits(plan.matmul.getRhs().getType());
  plan.group = plan.matmul.getGroup();
  bool ofBytes = static_cast<bool>(plan.matmul.getRowScales());
  if ((plan.m < kManyRows || ofBytes) && !plan.bytesOfWord && !plan.isE4M3)
    plan.segment = FixedPointRows::getSegment(plan.group, plan.k, plan.together);
  if (ofBytes && !plan.bytesOfWord && plan.segment == 0)
    return plan.matmul.emitError("expected groups of whole words of ")
           << plan.together << " integers, got groups of " << plan.group;
  if (Value minima = plan.matmul.getMinima()) {
    if (plan.isE4M3)
      return plan.matmul.emitError("expected no minima of e4m3");
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
    if (plan.bytesOfWord)
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
  if (isOneSumOfBytes(plan.matmul))
    plan.bytesOfWord = hasByteDot(target) ? 4 : 2;
  plan.values = getCodeValues(type);
  bool halves = type.getElementType().isInteger(4) || !plan.values.empty();
  plan.isE4M3 = isa<Float8E4M3FNType>(type.getElementType());
  if (plan.matmul.getScales())
    plan.together = halves || plan.isE4M3 || hasByteDot(target) ? 4 : 2;
  int64_t interleave = type.getElementType().isBF16() ? 2 : plan.together;
  // Integers of groups are padded to whole segments, others to words.
  int64_t depth = !plan.matmul.getScales() ? 0 : plan.bytesOfWord ? interleave : 32;
  if (!panels || plan.matmul.getTransposeRhs() || (halves && panels.getWidth() != 2 * lanes) ||
      kItemColumns % panels.getWidth() != 0 || panels.getWidth() % lanes != 0 ||
      panels.getInterleave() != interleave || panels.getDepth() % interleave != 0 ||
      (depth != 0 && panels.getDepth() != depth))
    return plan.matmul.emitError("expected rhs [k, n] in panels of whole vectors, several of which "
                                 "are ")
           << kItemColumns << " columns, with interleave " << interleave
           << (depth != 0 ? " and depth " + std::to_string(depth) : "") << ", got " << type;
  plan.panelWidth = panels.getWidth();
  plan.panelElements = llvm::alignTo(plan.k, panels.getDepth()) * plan.panelWidth;
  plan.pairs = type.getElementType().isBF16();
  // Behind the bytes, what their -128 adds up to.
  if (plan.bytesOfWord == 4)
    plan.panelElements += 4 * plan.panelWidth;
  return plan.matmul.getScales() ? findIntegers(plan) : success();
}

/// Rounds of an item a core, each of half of the blocks that are left, and one of the rest: cores
/// begin with long items, and few blocks are waited for at the end.
SmallVector<GemmPlan::Round, 1> halveBlocks(int64_t blocks, int64_t cores) {
  SmallVector<GemmPlan::Round, 1> rounds;
  GemmPlan::Round round;
  for (int64_t left = blocks; left > 0; left = blocks - round.block) {
    bool isLast = static_cast<int64_t>(rounds.size()) + 1 == kFewRowsItemsOfCore;
    round.blocks = llvm::divideCeil(left, isLast ? cores : 2 * cores);
    rounds.push_back(round);
    round.item += cores;
    round.block += cores * round.blocks;
  }
  return rounds;
}

} // namespace

FailureOr<GemmPlan> sinter::makeGemmPlan(func::FuncOp kernel, TargetAttr target) {
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
  plan.usesTiles = (plan.pairs || plan.bytesOfWord != 0) && hasTileDot(target) &&
                   plan.m >= kManyRows && !plan.matmul.getTransposeLhs() &&
                   plan.panelWidth == MatrixTiles::kMostColumns;
  return plan;
}

void sinter::cutGemm(GemmPlan &plan, TargetAttr target, int64_t columns, int64_t sets) {
  bool ofBytes = plan.rowScalesArgument.has_value();
  int64_t elementBytes = ofBytes ? 1 : plan.pairs ? 2 : 4;
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
  if (plan.usesTiles)
    plan.tileVectors = MatrixTiles::kMostColumns / lanes;
  // In fixed point a number has several sums; panels are streams of their own. Sums of e4m3 are in
  // order: those of two panels hide each other's latency.
  if (plan.segment || plan.scalesSums())
    plan.tileVectors = plan.panelWidth / lanes;
  if (plan.scalesSums() && RegisterTile::getMaxRows(target, 2 * plan.tileVectors) >= plan.m)
    plan.tileVectors *= 2;
  int64_t most =
      plan.usesTiles ? MatrixTiles::kMostRows : RegisterTile::getMaxRows(target, plan.tileVectors);
  // Groups stay whole, one of all k, too.
  if (ofBytes && plan.segment)
    most = std::clamp<int64_t>(
        kFewRowsBytes / FixedPointRows::getBytes(plan.group, plan.segment, ofBytes), 1, most);
  plan.tileRows = llvm::divideCeil(plan.m, llvm::divideCeil(plan.m, most));

  // A block of the columns stays in L2 while the tiles of the block of rows pass over it, and lhs'
  // block of rows while columns after columns do.
  int64_t rowBytes = kItemColumns * elementBytes * sets;
  int64_t blocks =
      plan.m <= plan.tileRows ? 1 : llvm::divideCeil(plan.k * rowBytes, target.getL2Bytes() / 2);
  // A block of rows is larger than one of columns for a matrix unit: the L2 cache holds both.
  if (plan.usesTiles && plan.m > plan.tileRows)
    blocks = std::max<int64_t>(
        blocks,
        llvm::divideCeil(plan.k * (rowBytes + std::min(plan.m, kMatrixTileRows) * elementBytes),
                         target.getL2Bytes()));
  bool strips = plan.tileVectors < itemVectors;
  plan.copiesRhs = plan.m > plan.tileRows &&
                   (plan.rhs == GemmPlan::Rhs::Panels ? plan.isDequantized() : sets == 1);
  if (plan.copiesRhs) {
    int64_t depth = kStripsBytes / (sets * kItemColumns * 4) / 32 * 32;
    blocks = std::max<int64_t>(blocks, llvm::divideCeil(plan.k, depth));
  }
  // Beside a block of a strip the L1 cache has room for the next one, and for rows.
  int64_t stripBytes = plan.k * plan.tileVectors * lanes * elementBytes,
          blockBytes = target.getL1Bytes() * 3 / 8;
  plan.stripsFirst = plan.rhs == GemmPlan::Rhs::Panels && plan.integerBits == 0 &&
                     !plan.usesTiles && !plan.matmul.getTransposeLhs() && plan.m > plan.tileRows &&
                     plan.m <= (plan.pairs ? kFewPairRows : kPanelRows) &&
                     plan.tileVectors * lanes >= plan.panelWidth && stripBytes > blockBytes;
  if (plan.stripsFirst)
    blocks = std::max<int64_t>(blocks, llvm::divideCeil(stripBytes, blockBytes));
  // Elements along k of a transposed lhs are lines apart, each of which several tiles read.
  plan.copiesLhs = plan.matmul.getTransposeLhs() && plan.lhsPanelWidth == 0 &&
                   plan.lhsStride == 1 && plan.m > plan.tileRows &&
                   plan.k * plan.lhsStrideK * elementBytes > target.getL2Bytes() / 2;
  // The L1 cache holds a block of a strip, and what tiles pass over it with.
  int64_t depth = std::max<int64_t>(kCopiedLhsDepth, target.getL1Bytes() / 2 /
                                                         (plan.tileVectors * lanes * elementBytes));
  if (plan.copiesLhs)
    blocks = std::max<int64_t>(blocks, llvm::divideCeil(plan.k, depth));
  // Of the smaller operand all is read for a block of the larger one.
  plan.rowsFollow = plan.copiesLhs && plan.m < plan.n;
  // What a tile keeps of its rows: words of bytes, or sums of groups.
  int64_t keptBytes =
      plan.bytesOfWord && !plan.usesTiles ? plan.tileRows * plan.k * 4 / plan.bytesOfWord : 0;
  if (plan.segment)
    keptBytes += plan.tileRows * (FixedPointRows::getBytes(plan.k, plan.segment, ofBytes) +
                                  (plan.minimaArgument ? plan.k / plan.group * 4 : 0));
  if (plan.scalesSums())
    keptBytes = plan.tileRows * LiftedRows::getBytes(plan.k);
  // Beside a block of many rows the scratch is large.
  bool fewRows = (plan.segment || plan.scalesSums()) && plan.m <= plan.tileRows;
  blocks = std::max<int64_t>(
      blocks, llvm::divideCeil(keptBytes, fewRows ? kFewRowsBytes : kLhsScratchBytes));
  // Groups stay whole where they are not copied, and vectors of words.
  int64_t unit = std::lcm<int64_t>(32, plan.bytesOfWord ? lanes * plan.bytesOfWord
                                       : plan.copiesRhs ? plan.together
                                                        : std::max<int64_t>(1, plan.group));
  plan.kBlock = llvm::alignTo(llvm::divideCeil(plan.k, blocks), unit);
  plan.stripsFirst = plan.stripsFirst && plan.kBlock < plan.k;

  plan.hasShortPanels = plan.rhs == GemmPlan::Rhs::Panels && plan.integerBits == 0 &&
                        plan.m > plan.tileRows && plan.kBlock >= plan.k &&
                        plan.k * plan.panelWidth * elementBytes <= kShortPanelBytes;

  int64_t mostRows = kScratchRows / sets;
  if (plan.copiesLhs)
    mostRows =
        std::min(kCopiedLhsRows, std::min<int64_t>(kCopiedLhsBytes, target.getL2Bytes() * 3 / 16) /
                                     (plan.kBlock * elementBytes));
  // Blocks of strips are as tall as the scratch, but not so tall that cores are left without any.
  if (strips && plan.copiesRhs)
    mostRows = std::clamp<int64_t>(plan.m * plan.columnBlocks / (4 * target.getCores()),
                                   kFewestRows, mostRows);
  if (!plan.copiesRhs)
    mostRows = std::min(mostRows, plan.usesTiles ? kMatrixTileRows : kPanelRows);
  int64_t rows =
      std::min(mostRows, std::max<int64_t>(plan.tileRows,
                                           target.getL2Bytes() / (plan.kBlock * elementBytes)));
  rows = std::max<int64_t>(rows / plan.tileRows, plan.usesTiles ? 2 : 4) * plan.tileRows;
  int64_t rowBlocks = llvm::divideCeil(plan.m, rows);
  plan.rowBlock = llvm::alignTo(llvm::divideCeil(plan.m, rowBlocks), plan.tileRows);
  plan.rowBlocks = llvm::divideCeil(plan.m, plan.rowBlock);
  // What is copied of rows serves as many columns as the scratch has room for.
  if (plan.copiesLhs && !plan.copiesRhs)
    plan.rounds.front().blocks = std::clamp<int64_t>(
        plan.columnBlocks * plan.rowBlocks / (kItemsOfCore * target.getCores()), 1,
        std::max<int64_t>(1, kScratchBytes / (plan.rowBlock * kItemColumns * sets * 4)));
  if (fewRows && plan.kBlock >= plan.k)
    plan.rounds = halveBlocks(plan.columnBlocks, target.getCores());
}
