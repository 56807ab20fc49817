//===- GroupedIntegerKernel.cpp - Rows by the integers of their groups ------===//
//
// Of experts' integers. A work item is some panels of one group's matrix:
//
//   for each tile of the group's rows
//     for each block of k (one, unless what is kept of the rows would not fit the stack)
//       the rows in fixed point (FixedPointRows.h)
//       for each panel: the sums of the tile (IntegerPanels.h), in registers
//
// All rows are in fixed point, however many a group has, which is data: the sums of a segment are
// exact, and those of segments are added from front to back, so that a row has the same bits beside
// any others. The last tile of a group repeats the last row where it has more rows than are left.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/GroupedRows.h"
#include "compiler/Codegen/Cpu/IntegerPanels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <numeric>

using namespace mlir;
using namespace sinter;

/// Bytes of the stack for what is kept of a tile's rows.
static constexpr int64_t kKeptBytes = 72 * 1024;
/// Columns of a work item at the most, for which the rows are made fixed point once; and how many
/// items each core has at the least, where there are as many.
static constexpr int64_t kMostColumns = 256, kItemsOfCore = 4;
/// Registers for words of integers and of rows beside the sums.
static constexpr int64_t kSpareRegisters = 4;

namespace {
class GroupedIntegerEmitter {
public:
  GroupedIntegerEmitter(GroupedMatmulOp matmul, func::FuncOp loopKernel, TargetAttr target)
      : builder(loopKernel, target), matmul(matmul), arguments(loopKernel.getArguments()),
        lanes(builder.getLanes()), m(matmul.getM()), n(matmul.getN()), k(matmul.getK()),
        lhs(getMemory(matmul.getLhs())),
        result(arguments[matmul->getParentOfType<func::FuncOp>().getNumArguments()]) {
    auto panels = cast<PanelsAttr>(matmul.getRhs().getType().getEncoding());
    layout.integers = getMemory(matmul.getRhs());
    layout.scales = getMemory(matmul.getScales());
    if (matmul.getMinima())
      layout.minima = getMemory(matmul.getMinima());
    layout.bits = getStoredBits(matmul.getRhs().getType());
    layout.k = k;
    layout.group = matmul.getGroup();
    layout.together = panels.getInterleave();
    layout.width = panels.getWidth();
    layout.elements = llvm::alignTo(k, panels.getDepth()) * panels.getWidth();
    layout.vectors = layout.width / lanes;
    layout.panelAt = [this](int64_t, int64_t elements) { return panelAt(elements); };

    segment = FixedPointRows::getSegment(layout.group, k, layout.together);
    int64_t sums = FixedPointRows::getDigits(layout.together) * layout.vectors;
    tileRows = std::clamp<int64_t>((target.getRegisters() - kSpareRegisters) / sums, 1, m);
    int64_t keptBytes = FixedPointRows::getBytes(k, segment, /*ofBytes=*/false);
    if (layout.minima)
      keptBytes += k / layout.group * 4;
    // Groups stay whole: of long ones fewer rows are kept.
    int64_t unit = std::lcm<int64_t>(32, layout.group);
    int64_t ofUnit = llvm::divideCeil(keptBytes * std::min(unit, k), k);
    tileRows = std::clamp<int64_t>(kKeptBytes / ofUnit, 1, tileRows);
    int64_t blocks = llvm::divideCeil(tileRows * keptBytes, kKeptBytes);
    kBlock = llvm::alignTo(llvm::divideCeil(k, blocks), unit);
    panelsOfGroup = n / layout.width;
    itemPanels = std::clamp<int64_t>(panelsOfGroup * std::min(m, matmul.getGroups()) /
                                         (kItemsOfCore * target.getCores()),
                                     1, kMostColumns / layout.width);
  }

  int64_t emit() {
    fixedPointRows.emplace(builder, tileRows, kBlock, k, segment, layout.bits,
                           getCodeValues(matmul.getRhs().getType()), /*ofBytes=*/false);
    if (layout.minima)
      groupSums.emplace(builder, tileRows, kBlock, layout.group);
    if (kBlock < k)
      scratch = builder.scratch(tileRows * itemPanels * layout.width, builder.getF32Type());
    Value begin = arguments.drop_back().back(), end = arguments.back();
    int64_t groups = matmul.getGroups();
    // Neighbouring items are of different groups, of which a few may have most rows.
    builder.loop(begin, end, 1, [&](Value item) {
      group = builder.rem(item, groups);
      firstPanel = builder.mul(builder.div(item, groups), itemPanels);
      lastPanel = builder.min(builder.add(firstPanel, itemPanels), builder.index(panelsOfGroup));
      auto [first, last] = loadBoundsOfGroup(builder, getMemory(matmul.getOffsets()), group, m);
      lastRow = last;
      forTiles(first);
    });
    return groups * llvm::divideCeil(panelsOfGroup, itemPanels);
  }

private:
  Value getMemory(Value operand) { return arguments[cast<BlockArgument>(operand).getArgNumber()]; }

  /// The group's rows: whole tiles in a loop, then one of as few rows as hold what is left.
  void forTiles(Value first) {
    Value count = builder.sub(lastRow, first);
    Value whole = builder.add(first, builder.mul(builder.div(count, tileRows), tileRows));
    builder.loop(first, whole, tileRows, [&](Value row) { multiply(tileRows, row); });
    Value left = builder.sub(lastRow, whole);
    auto holds = [&](arith::CmpIPredicate predicate, int64_t rows) {
      return arith::CmpIOp::create(builder, predicate, left, builder.index(rows));
    };
    for (int64_t rows = tileRows - 1; rows > 0; rows /= 2) {
      Value fits = holds(arith::CmpIPredicate::ule, rows);
      Value isSmallest = holds(arith::CmpIPredicate::ugt, rows / 2);
      builder.ifThen(arith::AndIOp::create(builder, fits, isSmallest),
                     [&] { multiply(rows, whole); });
    }
  }

  /// A tile's rows by the item's panels.
  void multiply(int64_t rows, Value row) {
    auto rowAt = [&](int64_t r) {
      return builder.min(builder.add(row, r), builder.sub(lastRow, builder.index(1)));
    };
    // One row streams the integers from memory.
    bool areBytesOfVnni = layout.bits == 8 && layout.together == 4;
    layout.asksAhead = rows == 1 && !(areBytesOfVnni && seesStreams(builder.getTarget()));
    IntegerPanels panels(builder, layout);
    auto accumulate = [&](Value kBegin, Value kEnd, Value memory) {
      auto place = [&](int64_t r, Value at) { return builder.add(builder.mul(rowAt(r), k), at); };
      fixedPointRows->convert(lhs, place, rows, kBegin, kEnd);
      if (groupSums)
        groupSums->sum(lhs, place, rows, kBegin, kEnd);
      forPanels([&] {
        SmallVector<Value> sums;
        for (int64_t i = 0; i < rows * layout.vectors; ++i)
          sums.push_back(memory ? builder.load(memory, scratchAt(i)) : builder.splat(0.0));
        sums = panels.accumulate({*fixedPointRows, groupSums ? &*groupSums : nullptr, segment,
                                  /*ofBytes=*/false},
                                 rows, /*column=*/0, kBegin, kEnd, sums);
        for (auto [i, sum] : llvm::enumerate(sums))
          if (memory)
            builder.store(sum, memory, scratchAt(i));
          else
            storeResult(sum, rowAt(i / layout.vectors), i % layout.vectors);
      });
    };
    if (!scratch)
      return accumulate(builder.index(0), builder.index(k), nullptr);
    builder.loop(builder.index(0), builder.index(rows * itemPanels * layout.width), lanes,
                 [&](Value at) { builder.store(builder.splat(0.0), scratch, at); });
    builder.loop(builder.index(0), builder.index(k), kBlock, [&](Value at) {
      accumulate(at, builder.min(builder.add(at, kBlock), builder.index(k)), scratch);
    });
    forPanels([&] {
      for (int64_t i = 0; i < rows * layout.vectors; ++i)
        storeResult(builder.load(scratch, scratchAt(i)), rowAt(i / layout.vectors),
                    i % layout.vectors);
    });
  }

  /// Calls `body` for each of the item's panels.
  void forPanels(llvm::function_ref<void()> body) {
    builder.loop(firstPanel, lastPanel, 1, [&](Value at) {
      panel = at;
      body();
    });
  }

  /// Where the scratch has vector i of a tile's sums of the panel.
  Value scratchAt(int64_t i) {
    Value row = builder.add(builder.sub(panel, firstPanel), i / layout.vectors * itemPanels);
    return builder.add(builder.mul(row, layout.width), i % layout.vectors * lanes);
  }

  void storeResult(Value sum, Value row, int64_t vector) {
    Value column = builder.add(builder.mul(panel, layout.width), vector * lanes);
    builder.store(sum, result, builder.add(builder.mul(row, n), column));
  }

  /// Where the panel begins; panels are `elements` apart.
  Value panelAt(int64_t elements) {
    return builder.mul(builder.add(builder.mul(group, panelsOfGroup), panel), elements);
  }

  VectorBuilder builder;
  GroupedMatmulOp matmul;
  ValueRange arguments;
  int64_t lanes, m, n, k;
  Value lhs, result;
  IntegerPanels::Layout layout;
  int64_t segment = 0, tileRows = 0, kBlock = 0, panelsOfGroup = 0, itemPanels = 0;
  std::optional<FixedPointRows> fixedPointRows;
  std::optional<GroupSums> groupSums;
  Value
      scratch; ///< [row][panel of the item][column], the sums of blocks of k, where there are some
  Value group, firstPanel, lastPanel, panel, lastRow;
};
} // namespace

FailureOr<int64_t> sinter::lowerGroupedIntegerKernel(GroupedMatmulOp matmul,
                                                     func::FuncOp loopKernel,
                                                     const TargetAttr &target) {
  RankedTensorType rhs = matmul.getRhs().getType();
  auto given = dyn_cast_or_null<PanelsAttr>(rhs.getEncoding());
  bool isOfCodes = given && given.getValues() && rhs.getElementType().isInteger(8);
  PanelsAttr panels = isOfCodes ? getCodePanels(given.getValues(), target)
                                : getIntegerPanels(rhs.getElementType(), target);
  if (matmul.getTransposeRhs() || !panels || given != panels ||
      matmul.getN() % panels.getWidth() != 0)
    return matmul.emitError("expected integers [g, k, n] in whole panels of the target's, got ")
           << rhs;
  for (Value ofGroups : {matmul.getScales(), matmul.getMinima()}) {
    auto type = ofGroups ? cast<RankedTensorType>(ofGroups.getType()) : nullptr;
    if (type && (type.getEncoding() != getScaledPanels(matmul.getContext(), target) ||
                 type.getElementTypeBitWidth() > 32))
      return matmul.emitError("expected scales and minima of at most 32 bits in panels as wide as "
                              "those of rhs, without padding along k, got ")
             << type;
  }
  if (FixedPointRows::getSegment(matmul.getGroup(), matmul.getK(), panels.getInterleave()) == 0)
    return matmul.emitError("expected groups of whole words of ")
           << panels.getInterleave() << " integers, got groups of " << matmul.getGroup();
  return GroupedIntegerEmitter(matmul, loopKernel, target).emit();
}
