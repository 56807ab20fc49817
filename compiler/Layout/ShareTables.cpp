#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_SHARETABLESPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Bits of a tensor's elements.
static int64_t getWidth(Value tensor) { return typeOf(tensor).getElementTypeBitWidth(); }

namespace {
/// What an entry does with a parameter, or a rank's part of one.
struct TableUses {
  Value table;
  SmallVector<LookupOpInterface> lookups = {};
  PackOp panels = nullptr;    ///< the table transposed, all its numbers as they are
  PackOp rounded = nullptr;   ///< rounded ones
  PackOp codes = nullptr;     ///< what numbers them, which lookups do not read
  Operation *other = nullptr; ///< an op that reads it, or what is made of it, otherwise

  /// Follows the table to the panels that are made of it.
  void collect(Value value, bool transposed, bool rounds) {
    for (Operation *user : value.getUsers()) {
      auto lookup = dyn_cast<LookupOpInterface>(user);
      if (lookup && value == table && lookup.getTable() == value)
        lookups.push_back(lookup);
      else if (auto cast = dyn_cast<CastOp>(user))
        collect(cast, transposed, rounds || getWidth(cast) <= getWidth(value));
      else if (auto transpose = dyn_cast<TransposeOp>(user);
               transpose && transpose.getPermutation() == ArrayRef<int64_t>{1, 0})
        collect(transpose, !transposed, rounds);
      else if (auto pack = dyn_cast<PackOp>(user); pack && transposed)
        (rounds ? rounded : getCodeValues(pack.getType()).empty() ? panels : codes) = pack;
      else
        other = user;
    }
  }
};

struct ShareTablesPass : sinter::impl::ShareTablesPassBase<ShareTablesPass> {
  using ShareTablesPassBase::ShareTablesPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        for (Value table : listTables(function))
          share(function, table);
  }

private:
  /// What lookups read: parameters, or what is made of them alone.
  static llvm::SetVector<Value> listTables(func::FuncOp function) {
    llvm::DenseSet<Value> parameters = findParameterValues(function);
    llvm::SetVector<Value> tables;
    for (Operation &op : function.front())
      if (auto lookup = dyn_cast<LookupOpInterface>(op);
          lookup && parameters.contains(lookup.getTable()))
        tables.insert(lookup.getTable());
    return tables;
  }

  /// The parameter that a table is or is made of.
  static StringRef getName(func::FuncOp function, Value table) {
    while (Operation *op = table.getDefiningOp())
      table = op->getOperand(0);
    auto argument = cast<BlockArgument>(table);
    return function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), SinterDialect::kParameter)
        .getValue();
  }

  void share(func::FuncOp function, Value table) {
    TableUses uses{table};
    uses.collect(table, /*transposed=*/false, /*rounds=*/false);
    if (!uses.panels && !uses.rounded && !uses.codes)
      return;
    StringRef name = getName(function, table);
    auto opts = remark::RemarkOpts::name("SharedTable")
                    .category("sinter-layout")
                    .function(function.getName());
    double megabytes = getStorageBytes(table.getType()) / 1e6;
    if (uses.other || !uses.panels) {
      std::string reason = uses.other
                               ? uses.other->getName().getStringRef().str() + " reads it, too"
                           : uses.codes ? "they hold codes of four bits"
                                        : "their numbers are rounded";
      remark::missed(table.getLoc(), opts)
          << llvm::formatv("{0} stays as it is beside its panels, {1:F1} MB more: {2}", name,
                           megabytes, reason)
                 .str();
      return;
    }
    moveBehind(uses.panels, table);
    int64_t before = 0, after = 0;
    for (LookupOpInterface lookup : uses.lookups) {
      before += cast<CostOpInterface>(*lookup).getBytes();
      OpBuilder builder(lookup);
      Value rows = lookup.buildTransposed(builder, uses.panels);
      after += cast<CostOpInterface>(rows.getDefiningOp()).getBytes();
      replace(builder, lookup, rows);
    }
    remark::passed(table.getLoc(), opts)
        << llvm::formatv("{0} is held in panels alone: {1:F1} MB less, lookups move {2:F1} KB "
                         "instead of {3:F1}",
                         name, megabytes, after / 1e3, before / 1e3)
               .str();
  }

  /// Moves what is made of a table alone before all else that uses it.
  static void moveBehind(Operation *op, Value table) {
    OpBuilder builder(op);
    builder.setInsertionPointAfterValue(table);
    while (true) {
      op->moveBefore(builder.getBlock(), builder.getInsertionPoint());
      builder.setInsertionPoint(op);
      if (op->getOperand(0) == table)
        return;
      op = op->getOperand(0).getDefiningOp();
    }
  }

  /// Replaces a lookup by the same rows, perhaps wider than its own.
  static void replace(OpBuilder &builder, Operation *lookup, Value rows) {
    Value old = lookup->getResult(0);
    for (Operation *user : llvm::make_early_inc_range(old.getUsers()))
      if (isa<CastOp>(user) && user->getResult(0).getType() == rows.getType()) {
        user->getResult(0).replaceAllUsesWith(rows);
        user->erase();
      }
    if (old.getType() != rows.getType() && !old.use_empty())
      rows = CastOp::create(builder, lookup->getLoc(), old.getType(), rows);
    old.replaceAllUsesWith(rows);
    lookup->erase();
  }
};
} // namespace
