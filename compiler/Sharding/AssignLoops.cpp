#include "compiler/Sharding/AssignLoops.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Format/PipelineStages.h"
#include "llvm/Support/FormatVariadic.h"
#include <limits>

using namespace mlir;
using namespace sinter;

bool sinter::isProduct(Operation *op) {
  FusionRole role = getRole(op);
  return role == FusionRole::Contraction || role == FusionRole::GroupedContraction;
}

unsigned sinter::getLoop(const LoopNest &nest, unsigned tensor, int64_t dim) {
  return cast<AffineDimExpr>(nest.maps[tensor].getResult(dim)).getPosition();
}

std::optional<int64_t> sinter::findDim(const LoopNest &nest, unsigned tensor, unsigned loop) {
  for (int64_t dim = 0; dim < nest.maps[tensor].getNumResults(); ++dim)
    if (getLoop(nest, tensor, dim) == loop)
      return dim;
  return std::nullopt;
}

SmallVector<int64_t> sinter::getExtents(Operation *op, const LoopNest &nest, unsigned loop) {
  SmallVector<int64_t> extents;
  unsigned tensor = 0;
  auto collect = [&](Type type) {
    for (auto [dim, extent] : llvm::enumerate(cast<RankedTensorType>(type).getShape()))
      if (getLoop(nest, tensor, dim) == loop)
        extents.push_back(extent);
    ++tensor;
  };
  llvm::for_each(op->getOperandTypes(), collect);
  llvm::for_each(op->getResultTypes(), collect);
  return extents;
}

SmallVector<int64_t> sinter::getTurns(Operation *op, const LoopNest &nest) {
  SmallVector<int64_t> turns;
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    turns.push_back(getExtents(op, nest, loop).front());
  return turns;
}

bool sinter::dividesLoop(Operation *op, const LoopNest &nest, unsigned loop, int64_t ranks,
                         size_t axes) {
  SmallVector<int64_t> extents = getExtents(op, nest, loop);
  if (axes == 1 && llvm::all_equal(extents))
    return extents.front() >= ranks;
  return llvm::all_of(extents, [&](int64_t extent) { return extent % ranks == 0; });
}

namespace {
/// One op's assignment while it is decided.
class OpLoops {
public:
  OpLoops(Operation *op, const LoopNest &nest, ArrayRef<ShardedValue> operands, GridAttr grid,
          TargetAttr target, ArrayRef<size_t> axes)
      : op(op), nest(nest), operands(operands), grid(grid), target(target), role(getRole(op)),
        axes(axes), loopOf(grid.getNames().size()), axesOf(nest.loops.size()) {}

  /// Stays with what operands are split along, the first of them first.
  void inherit() {
    for (auto [i, value] : llvm::enumerate(operands))
      for (int64_t dim = 0; dim < value.whole.getRank(); ++dim)
        for (Attribute name : value.sharding.getAxes(dim))
          if (size_t axis = findAxis(name); axis < loopOf.size() && !loopOf[axis])
            if (unsigned loop = getLoop(nest, i, dim); mayTake(loop, axis))
              split(axis, loop);
  }

  /// Has an axis split a loop, or none; returns what it did before.
  std::optional<unsigned> split(size_t axis, std::optional<unsigned> loop) {
    llvm::fill(axesOf, ArrayAttr());
    return std::exchange(loopOf[axis], loop);
  }

  bool isHeavy() const {
    return isProduct(op) || role == FusionRole::Attention || role == FusionRole::AttentionGrad;
  }

  /// Whether an operand is split along an axis; with `loop`, by that one.
  bool isHeld(size_t axis, std::optional<unsigned> loop = std::nullopt) const {
    for (auto [i, value] : llvm::enumerate(operands))
      for (int64_t dim = 0; dim < value.whole.getRank(); ++dim)
        if (llvm::is_contained(value.sharding.getAxes(dim), grid.getNames()[axis]) &&
            (!loop || getLoop(nest, i, dim) == *loop))
          return true;
    return false;
  }

  /// Loops that an axis may split, the first to be preferred: columns of what is heavy, the
  /// outermost of all else.
  SmallVector<unsigned> listCandidates(size_t axis) {
    SmallVector<unsigned> loops;
    if (loopOf[axis])
      loops.push_back(*loopOf[axis]);
    SmallVector<unsigned> ofResult;
    for (AffineExpr expr : nest.maps[op->getNumOperands()].getResults())
      ofResult.push_back(cast<AffineDimExpr>(expr).getPosition());
    if (isHeavy())
      std::reverse(ofResult.begin(), ofResult.end());
    std::optional<unsigned> before = split(axis, std::nullopt);
    for (unsigned loop : ofResult)
      if (!llvm::is_contained(loops, loop) && mayTake(loop, axis))
        loops.push_back(loop);
    split(axis, before);
    return loops;
  }

  /// Says which loops of unlike extents an axis would split if they divided over its ranks.
  void tellUndivided(size_t axis) const {
    int64_t ranks = grid.getSizes()[axis];
    for (unsigned loop = 0; loop < nest.loops.size(); ++loop) {
      SmallVector<int64_t> extents = getExtents(op, nest, loop);
      if (nest.loops[loop] != LoopKind::Parallel || llvm::all_equal(extents) ||
          dividesLoop(op, nest, loop, ranks))
        continue;
      remark::missed(op->getLoc(), remark::RemarkOpts::name("Undivided")
                                       .category("sinter-sharding")
                                       .function(op->getParentOfType<func::FuncOp>().getName()))
          << llvm::formatv("every rank computes all of {0}: {1:$[, ]} elements of its tensors "
                           "belong together, and do not divide over {2} ranks of the axis {3}",
                           op->getName(), llvm::make_range(extents.begin(), extents.end()), ranks,
                           grid.getNames()[axis].getValue())
                 .str();
    }
  }

  /// The axes of a loop: in the order of the operands that are split along them.
  ArrayAttr getAxesOf(unsigned loop) {
    if (axesOf[loop])
      return axesOf[loop];
    SmallVector<Attribute> names;
    auto add = [&](Attribute name) {
      size_t axis = findAxis(name);
      if (axis < loopOf.size() && loopOf[axis] == loop && !llvm::is_contained(names, name))
        names.push_back(name);
    };
    for (auto [i, value] : llvm::enumerate(operands))
      for (int64_t dim = 0; dim < value.whole.getRank(); ++dim)
        if (getLoop(nest, i, dim) == loop)
          llvm::for_each(value.sharding.getAxes(dim), add);
    llvm::for_each(grid.getNames(), add);
    return axesOf[loop] = ArrayAttr::get(op->getContext(), names);
  }

  ShardingAttr getSharding(unsigned tensor) {
    SmallVector<Attribute> dims;
    for (AffineExpr expr : nest.maps[tensor].getResults())
      dims.push_back(getAxesOf(cast<AffineDimExpr>(expr).getPosition()));
    return ShardingAttr::get(op->getContext(), ArrayAttr::get(op->getContext(), dims), nullptr);
  }

  /// Nanoseconds that the op takes as decided.
  double getComputeNs() {
    if (!ns)
      ns = target && isa<CostOpInterface>(op) ? CostModel(target).getCost(op).ns : 0;
    double share = *ns;
    for (size_t axis : axes)
      if (loopOf[axis])
        share /= static_cast<double>(grid.getSizes()[axis]);
    return share;
  }

  /// Nanoseconds that values move before and behind it; a result that nothing else is split like is
  /// gathered behind it.
  double getMovesNs(Resharder &resharder, llvm::function_ref<bool(unsigned, ShardingAttr)> isFree,
                    llvm::function_ref<bool(Value, int64_t, StringAttr)> isWanted) {
    double sum = 0;
    for (auto [i, value] : llvm::enumerate(operands))
      if (ShardingAttr wanted = getSharding(i); wanted != value.sharding && !isFree(i, wanted))
        sum += resharder.getNs(value.whole, value.sharding, wanted);
    if (isHeavy())
      return sum;
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      if (ShardingAttr terms = getTerms(op->getNumOperands() + i))
        sum += resharder.getNs(typeOf(result), terms, getSharding(op->getNumOperands() + i));
      bool isNew = false;
      for (int64_t dim = 0; dim < typeOf(result).getRank(); ++dim) {
        unsigned loop = getLoop(nest, op->getNumOperands() + i, dim);
        isNew |= llvm::any_of(axes, [&](size_t axis) {
          return loopOf[axis] == loop && !isHeld(axis, loop) &&
                 !isWanted(result, dim, grid.getNames()[axis]);
        });
      }
      if (isNew)
        sum += resharder.getNs(
            typeOf(result), getSharding(op->getNumOperands() + i),
            ShardingAttr::getReplicated(op->getContext(), typeOf(result).getRank()));
    }
    return sum;
  }

private:
  /// The sharding of a result of whose sum ranks have terms; null: none.
  ShardingAttr getTerms(unsigned tensor) {
    SmallVector<Attribute> terms;
    for (auto [loop, kind] : llvm::enumerate(nest.loops))
      if (kind == LoopKind::Reduction)
        llvm::append_range(terms, getAxesOf(loop));
    if (terms.empty())
      return nullptr;
    return ShardingAttr::get(op->getContext(), getSharding(tensor).getDims(),
                             ArrayAttr::get(op->getContext(), terms));
  }

  size_t findAxis(Attribute name) const {
    for (size_t axis : axes)
      if (grid.getNames()[axis] == name)
        return axis;
    return loopOf.size();
  }

  /// Whether a loop may be split along an axis, beside those that it is.
  bool mayTake(unsigned loop, size_t axis) {
    bool isIndependent = nest.loops[loop] == LoopKind::Parallel ||
                         (nest.exact && nest.loops[loop] == LoopKind::Reduction);
    if (!isIndependent)
      return false;
    std::optional<unsigned> before = split(axis, loop);
    ArrayAttr all = getAxesOf(loop);
    bool fits = dividesLoop(op, nest, loop, grid.getSize(all), all.size()) && hasManyRows();
    split(axis, before);
    return fits;
  }

  /// Whether a part of a product, or of an attention's queries, has as many rows as it takes for
  /// sums in the order of the whole.
  bool hasManyRows() {
    if (role != FusionRole::Contraction && role != FusionRole::Attention)
      return true;
    RankedTensorType whole = typeOf(op->getResult(0));
    RankedTensorType part = getSharding(op->getNumOperands()).getLocalType(whole, grid);
    auto rowsOf = [&](RankedTensorType type) {
      return role == FusionRole::Contraction ? getRows(type) : type.getDimSize(1);
    };
    return rowsOf(part) == rowsOf(whole) || rowsOf(part) >= kManyRows;
  }

  Operation *op;
  const LoopNest &nest;
  ArrayRef<ShardedValue> operands;
  GridAttr grid;
  TargetAttr target;
  FusionRole role;
  ArrayRef<size_t> axes;
  SmallVector<std::optional<unsigned>> loopOf; ///< by axis
  SmallVector<ArrayAttr> axesOf;               ///< by loop, as far as asked for
  std::optional<double> ns;                    ///< of all of the op, where asked for
};
} // namespace

LoopAssigner::LoopAssigner(GridAttr grid, TargetAttr target, ArrayAttr manual, Resharder &resharder)
    : grid(grid), target(target), resharder(resharder) {
  // Along a pipeline it is layers that are split.
  for (auto [axis, name] : llvm::enumerate(grid.getNames()))
    if (grid.getSizes()[axis] > 1 && !(manual && llvm::is_contained(manual, name)) &&
        name != runtime::kPipelineAxis)
      axes.push_back(axis);
}

LoopAssignment LoopAssigner::assign(Operation *op, const LoopNest &nest,
                                    ArrayRef<ShardedValue> operands,
                                    llvm::function_ref<bool(unsigned, ShardingAttr)> isFree,
                                    llvm::function_ref<bool(Value, int64_t, StringAttr)> isWanted) {
  OpLoops loops(op, nest, operands, grid, target, axes);
  loops.inherit();
  LoopAssignment result;
  for (size_t axis : axes) {
    if (!loops.isHeld(axis) && !loops.isHeavy())
      continue;
    SmallVector<unsigned> candidates = loops.listCandidates(axis);
    if (candidates.empty()) {
      if (loops.isHeld(axis))
        result.unsplittable.push_back(grid.getNames()[axis]);
      loops.tellUndivided(axis);
      continue;
    }
    SmallVector<std::optional<unsigned>> choices(candidates.begin(), candidates.end());
    if (!loops.isHeavy())
      choices.push_back(std::nullopt);
    std::optional<unsigned> best = choices.front();
    double least = std::numeric_limits<double>::infinity();
    if (choices.size() > 1)
      for (std::optional<unsigned> loop : choices) {
        loops.split(axis, loop);
        double moves = loops.getMovesNs(resharder, isFree, isWanted);
        // No other loop makes the op's parts smaller.
        bool isLeast = loop && moves == 0;
        if (isLeast && loop == choices.front())
          break;
        if (double ns = loops.getComputeNs() + moves; ns < least)
          std::tie(least, best) = std::pair(ns, loop);
        if (isLeast)
          break;
      }
    loops.split(axis, best);
  }
  for (unsigned loop = 0; loop < nest.loops.size(); ++loop)
    result.axes.push_back(loops.getAxesOf(loop));
  return result;
}
