#include "compiler/Analysis/EntryEditor.h"
#include "compiler/Sharding/FusedParts.h"
#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"
#include <map>

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
    for (int64_t dim = 0; whole.getRank() == 2 && dim < 2; ++dim) {
      std::map<int64_t, int64_t> ends;
      bool isFused = llvm::all_of(matrix.getUses(), [&](OpOperand &use) {
        if (getStage(use.getOwner()->getLoc()) != Stage::Forward)
          return true;
        auto slice = dyn_cast<SliceOp>(use.getOwner());
        if (!slice || slice.getType().getDimSize(1 - dim) != whole.getDimSize(1 - dim) ||
            columns.find(slice) != dim)
          return false;
        int64_t begin = slice.getOffsets()[dim], end = begin + slice.getType().getDimSize(dim);
        return ends.try_emplace(begin, end).first->second == end;
      });
      Segments segments{dim, {}};
      int64_t next = 0;
      for (auto [begin, end] : ends) {
        isFused &= begin == next && (end - begin) % ranks == 0;
        segments.extents.push_back(end - begin);
        next = end;
      }
      if (isFused && segments.extents.size() > 1 && next == whole.getDimSize(dim))
        return segments;
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
