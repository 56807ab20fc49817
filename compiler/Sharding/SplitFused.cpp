#include "compiler/Analysis/EntryEditor.h"
#include "compiler/Sharding/FusedParts.h"
#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {
#define GEN_PASS_DEF_SPLITFUSEDPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static StringRef getState(DictionaryAttr attributes) {
  auto name = attributes ? attributes.getAs<StringAttr>(SinterDialect::kState) : nullptr;
  return name ? name.getValue() : StringRef();
}

static bool isTrained(DictionaryAttr attributes) {
  auto role = attributes ? attributes.getAs<RoleAttr>(SinterDialect::kRole) : nullptr;
  return role && role.getValue() == Role::Parameter;
}

namespace {
struct SplitFusedPass : sinter::impl::SplitFusedPassBase<SplitFusedPass> {
  using SplitFusedPassBase::SplitFusedPassBase;

  void runOnOperation() override {
    GridAttr grid = GridAttr::lookup(getOperation());
    if (!grid || (ranks = grid.getSize(getColumnAxis(grid))) == 1)
      return markAllAnalysesPreserved();
    // An update does not multiply by what it changes.
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (findInput(function, "tokens"))
        findFused(function);
    if (llvm::all_of(fused, [](auto &entry) { return !entry.second; }))
      return markAllAnalysesPreserved();
    auto find = [&](DictionaryAttr attributes) { return findSegments(attributes); };
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        FusedParts(function, find).run();
  }

private:
  /// The fused matrices that an entry reads; none that another entry reads otherwise.
  void findFused(func::FuncOp function) {
    ColumnFinder columns(function, ranks);
    for (BlockArgument argument : function.getArguments()) {
      DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
      if (!isTrained(attributes))
        continue;
      std::optional<Segments> segments = findSegments(argument, columns);
      auto [entry, isNew] = fused.try_emplace(getState(attributes), segments);
      if (!isNew && entry->second != segments)
        entry->second = std::nullopt;
    }
  }

  /// The parts that the forward pass reads of a matrix, where it reads nothing else of it and each
  /// of them is multiplied by and divides over the ranks.
  std::optional<Segments> findSegments(BlockArgument matrix, ColumnFinder &columns) const {
    RankedTensorType whole = typeOf(matrix);
    SmallVector<SliceOp> slices;
    for (Operation *user : matrix.getUsers())
      if (getStage(user->getLoc()) == Stage::Forward)
        slices.push_back(dyn_cast<SliceOp>(user));
    for (int64_t dim = 0; whole.getRank() > 1 && dim < whole.getRank(); ++dim) {
      if (!llvm::all_of(slices, [&](SliceOp slice) { return slice && columns.find(slice) == dim; }))
        continue;
      std::optional<Segments> parts = findParts(whole, dim, slices);
      if (parts &&
          llvm::all_of(parts->extents, [&](int64_t extent) { return extent % ranks == 0; }))
        return parts;
    }
    return std::nullopt;
  }

  /// How a state is split: as the matrix that it is, or is kept of ("adamw.m.<name>").
  const Segments *findSegments(DictionaryAttr attributes) const {
    StringRef name = getState(attributes);
    if (auto known = fused.find(name); known != fused.end())
      return known->second ? &*known->second : nullptr;
    for (size_t dot = name.find('.'); dot != StringRef::npos; dot = name.find('.', dot + 1))
      if (auto known = fused.find(name.drop_front(dot + 1)); known != fused.end())
        return known->second ? &*known->second : nullptr;
    return nullptr;
  }

  int64_t ranks = 1;
  llvm::StringMap<std::optional<Segments>> fused; ///< by name, of trained matrices
};
} // namespace
