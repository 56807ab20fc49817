#include "compiler/Codegen/Cpu/Passes.h"
#include "compiler/Codegen/Cpu/VectorBuilder.h"
#include "compiler/Codegen/Loops/Kernels.h"
#include "compiler/Codegen/Loops/LoopStride.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace sinter {
#define GEN_PASS_DEF_TILETRANSPOSESPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// How many squares further on lines are prefetched (a GELU of 1024 x 3072, turned, took 1.4 times
/// as long without, on Emerald Rapids).
constexpr int64_t kSquaresAhead = 2;

/// The loop over a kernel's work items, rows of the result, with one loop over their columns inside
/// that loads columns of a matrix: neighbours of what it loads belong to other items.
class TransposingLoop {
public:
  TransposingLoop(scf::ForOp items, int64_t edge)
      : items(items), row(items.getInductionVar()), edge(edge) {}

  /// Whether it is one, over items [begin, end).
  bool match(Value begin, Value end) {
    if (items.getLowerBound() != begin || items.getUpperBound() != end)
      return false;
    for (Operation &op : items.getBody()->without_terminator())
      if (auto loop = dyn_cast<scf::ForOp>(op); loop && !columns)
        columns = loop;
      else if (columns || !isMemoryEffectFree(&op) || op.getNumRegions() != 0)
        return false;
    if (!items.getInitArgs().empty() || !columns || !columns.getInitArgs().empty() ||
        getConstantIntValue(items.getStep()) != 1 || getConstantIntValue(columns.getStep()) != 1)
      return false;
    std::optional<int64_t> from = getConstantIntValue(columns.getLowerBound()),
                           to = getConstantIntValue(columns.getUpperBound());
    if (!from || !to || *to - *from < edge)
      return false;
    lower = *from;
    upper = *to;
    if (!findRow())
      return false;
    llvm::SmallDenseSet<Value> stored;
    for (Operation &op : columns.getBody()->without_terminator()) {
      if (op.getNumRegions() != 0)
        return false;
      if (auto store = dyn_cast<memref::StoreOp>(op)) {
        if (!isFlat(store) || getStride(store.getIndices()[0], columns.getInductionVar()) != 1)
          return false;
        stored.insert(store.getMemRef());
      } else if (auto load = dyn_cast<memref::LoadOp>(op); load && isColumn(load)) {
        loads.push_back(load);
      }
    }
    return !loads.empty() && llvm::none_of(loads, [&](memref::LoadOp load) {
      return stored.contains(load.getMemRef());
    });
  }

  /// Cuts it into squares, and what is left of the columns and of the last items. @param grid how
  /// many items there are; the first one of the loop is a multiple of the edge.
  void tile(VectorBuilder &builder, int64_t grid) {
    builder.setInsertionPoint(items);
    builder.setLoc(items.getLoc());
    SmallVector<Value> squares;
    for (memref::LoadOp load : loads)
      squares.push_back(builder.scratch(edge * edge, load.getType()));
    Value first = items.getLowerBound(), last = items.getUpperBound();
    if (grid % edge != 0)
      last = builder.sub(last, builder.rem(last, edge));
    int64_t whole = lower + (upper - lower) / edge * edge;
    builder.loop(first, last, edge, [&](Value firstItem) {
      builder.loop(builder.index(lower), builder.index(whole), edge, [&](Value firstColumn) {
        for (auto [load, square] : llvm::zip_equal(loads, squares))
          turn(builder, load, square, firstItem, firstColumn);
        builder.loop(builder.index(0), builder.index(edge), 1, [&](Value item) {
          IRMapping known = enterItem(builder, builder.add(firstItem, item));
          builder.loop(builder.index(0), builder.index(edge), 1, [&](Value column) {
            Value at = builder.add(builder.mul(item, edge), column);
            for (auto [load, square] : llvm::zip_equal(loads, squares))
              known.map(load.getResult(), memref::LoadOp::create(builder, square, at).getResult());
            emitElement(builder, known, builder.add(firstColumn, column));
          });
        });
      });
      if (whole == upper)
        return;
      builder.loop(firstItem, builder.add(firstItem, edge), 1, [&](Value item) {
        IRMapping known = enterItem(builder, item);
        builder.loop(builder.index(whole), builder.index(upper), 1,
                     [&](Value column) { emitElement(builder, known, column); });
      });
    });
    if (grid % edge != 0)
      items.setLowerBound(last);
    else
      items.erase();
  }

private:
  /// Finds what counts the rows: the items, or, where these are those of several matrices, the rest
  /// of their number by the rows of one.
  bool findRow() {
    std::optional<int64_t> rows;
    for (Operation *user : items.getInductionVar().getUsers()) {
      if (!isa<arith::RemUIOp, arith::DivUIOp>(user) || user->getBlock() != items.getBody())
        continue;
      std::optional<int64_t> by = getConstantIntValue(user->getOperand(1));
      if (!by || (rows && rows != by))
        return false;
      rows = by;
      if (isa<arith::RemUIOp>(user))
        row = user->getResult(0);
    }
    if (!rows)
      return true;
    return *rows % edge == 0 && row != items.getInductionVar() &&
           llvm::all_of(items.getInductionVar().getUsers(),
                        [](Operation *user) { return isa<arith::RemUIOp, arith::DivUIOp>(user); });
  }

  template <typename Access> static bool isFlat(Access access) {
    return access.getIndices().size() == 1;
  }

  /// Whether a load's next column is far away, and the next item's beside it.
  bool isColumn(memref::LoadOp load) {
    if (!isFlat(load) || load.getType().getIntOrFloatBitWidth() > 32)
      return false;
    std::optional<int64_t> stride = getStride(load.getIndices()[0], columns.getInductionVar());
    return stride && std::abs(*stride) > 1 && getStride(load.getIndices()[0], row) == 1;
  }

  /// What is computed once an item.
  IRMapping enterItem(VectorBuilder &builder, Value item) {
    IRMapping known;
    known.map(items.getInductionVar(), item);
    for (Operation &op : items.getBody()->without_terminator())
      if (&op != columns)
        builder.clone(op, known);
    return known;
  }

  /// The body of the inner loop, but for what is known of it.
  void emitElement(VectorBuilder &builder, IRMapping known, Value column) {
    known.map(columns.getInductionVar(), column);
    for (Operation &op : columns.getBody()->without_terminator())
      if (op.getNumResults() == 0 || !known.contains(op.getResult(0)))
        builder.clone(op, known);
  }

  /// Loads a square, and stores it a row an item.
  void turn(VectorBuilder &builder, memref::LoadOp load, Value square, Value firstItem,
            Value firstColumn) {
    Type element = load.getType();
    Type bits = builder.getIntegerType(element.getIntOrFloatBitWidth());
    bool isNarrow = element.getIntOrFloatBitWidth() < 32;
    IRMapping ofItem = enterItem(builder, firstItem);
    SmallVector<Value> rows;
    for (int64_t i = 0; i < edge; ++i) {
      Value index = computeAt(builder, load.getIndices()[0], ofItem, builder.add(firstColumn, i));
      Value row =
          vector::LoadOp::create(builder, builder.vectorOf(element), load.getMemRef(), index);
      // Its lines are too far apart for the processor to see a stream. Of narrow elements a line
      // serves several squares, which then gain nothing.
      if (!isNarrow)
        builder.prefetch(load.getMemRef(),
                         computeAt(builder, load.getIndices()[0], ofItem,
                                   builder.add(firstColumn, i + kSquaresAhead * edge)),
                         /*ahead=*/0, /*toL2=*/true);
      if (isNarrow) {
        row = arith::BitcastOp::create(builder, builder.vectorOf(bits), row);
        row = arith::ExtUIOp::create(builder, builder.vectorOf(builder.getI32Type()), row);
      }
      rows.push_back(row);
    }
    for (auto [i, row] : llvm::enumerate(builder.transpose(rows))) {
      if (isNarrow) {
        row = arith::TruncIOp::create(builder, builder.vectorOf(bits), row);
        row = arith::BitcastOp::create(builder, builder.vectorOf(element), row);
      }
      vector::StoreOp::create(builder, row, square, builder.index(i * edge));
    }
  }

  /// An index inside the inner loop, of another item and column.
  Value computeAt(VectorBuilder &builder, Value index, IRMapping &ofItem, Value column) {
    if (index == columns.getInductionVar())
      return column;
    Operation *op = index.getDefiningOp();
    if (!op || op->getBlock() != columns.getBody())
      return ofItem.lookupOrDefault(index);
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, computeAt(builder, operand, ofItem, column));
    return builder.clone(*op, operands)->getResult(0);
  }

  scf::ForOp items, columns;
  Value row;
  int64_t edge; // of a square
  int64_t lower = 0, upper = 0;
  SmallVector<memref::LoadOp> loads; // of columns
};

struct TileTransposesPass : sinter::impl::TileTransposesPassBase<TileTransposesPass> {
  using TileTransposesPassBase::TileTransposesPassBase;

  void runOnOperation() override {
    ModuleOp kernels = lookupKernels(getOperation());
    TargetAttr target = kernels ? TargetAttr::lookup(kernels) : nullptr;
    if (!target)
      return markAllAnalysesPreserved();
    auto options = remark::RemarkOpts::name("TileTransposes").category("sinter-codegen");
    int64_t edge = target.getVectorBits() / 32;
    for (auto kernel : kernels.getOps<func::FuncOp>()) {
      auto declared = getOperation().lookupSymbol<func::FuncOp>(kernel.getName());
      auto grid = declared ? declared->getAttrOfType<IntegerAttr>(kGridAttribute) : IntegerAttr();
      if (kernel.isExternal() || !grid)
        continue;
      auto [begin, end] =
          std::pair(*std::prev(kernel.args_end(), 2), *std::prev(kernel.args_end()));
      SmallVector<TransposingLoop> matches;
      for (auto loop : kernel.getOps<scf::ForOp>())
        if (TransposingLoop transposing(loop, edge); transposing.match(begin, end)) {
          matches.push_back(transposing);
          remark::passed(loop.getLoc(), options.function(kernel.getName()))
              << "columns are turned in squares of " + std::to_string(edge);
        }
      if (matches.empty())
        continue;
      VectorBuilder builder(kernel, target);
      builder.setInsertionPointToStart(&kernel.front());
      joinItems(builder, begin, end, grid.getInt());
      declared->setAttr(kGridAttribute,
                        builder.getI64IntegerAttr(llvm::divideCeil(grid.getInt(), edge)));
      for (TransposingLoop &transposing : matches)
        transposing.tile(builder, grid.getInt());
    }
  }

  /// Makes items of the kernel what an edge of them was, so that whoever runs it has whole squares.
  static void joinItems(VectorBuilder &builder, Value begin, Value end, int64_t grid) {
    int64_t edge = builder.getLanes();
    Value first = builder.mul(begin, edge), behind = builder.mul(end, edge);
    begin.replaceAllUsesExcept(first, first.getDefiningOp());
    end.replaceAllUsesExcept(builder.min(behind, builder.index(grid)), behind.getDefiningOp());
  }
};
} // namespace
