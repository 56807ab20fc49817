#include "compiler/Analysis/Recomputation.h"
#include "compiler/Analysis/CostModel.h"

using namespace mlir;
using namespace sinter;

namespace {
/// How an op's elements are asked for.
struct Demand {
  int64_t times = 1; ///< each of them
  /// Whether a loop goes over the last dimension inside of the others: what does not change with
  /// it is computed before.
  bool hasInnerLoop = true;
  /// Whether that loop is cut where shorter rows end of which a row is made: a result's is, a sum's
  /// is not.
  bool cutsRows = true;
};

/// Goes from the results to what they are made of.
class RecomputationFinder {
public:
  explicit RecomputationFinder(const llvm::SetVector<Operation *> &ops) : ops(ops) {}

  llvm::SmallDenseMap<Operation *, int64_t> run() {
    llvm::SmallDenseMap<Operation *, int64_t> found;
    if (llvm::none_of(ops, reducesRows))
      return found;
    for (Operation *op : llvm::reverse(ops)) {
      Demand demand = getDemand(op);
      demands[op] = demand;
      bool leadsToRepeated =
          llvm::any_of(op->getUsers(), [&](Operation *user) { return found.contains(user); });
      if (demand.times > 1 && (reducesRows(op) || leadsToRepeated))
        found[op] = demand.times;
    }
    return found;
  }

private:
  /// Whether there are reductions of rows in an op; in a norm's gradient beside sums of columns.
  static bool reducesRows(Operation *op) {
    FusionRole role = getRole(op);
    return role == FusionRole::RowReduction ||
           (role == FusionRole::ColumnReduction && !llvm::all_of(op->getResults(), isColumnSum));
  }

  /// Whether an op spreads what it reduces over the rows again, as a norm does.
  static bool keepsRows(Operation *op) {
    return reducesRows(op) &&
           typeOf(op->getResult(0)).getShape() == typeOf(op->getOperand(0)).getShape();
  }

  static int64_t countElements(Value value) { return typeOf(value).getNumElements(); }

  /// Whether the kernel goes over the elements of a result without an inner loop: each is a row's,
  /// of what is reduced on the way to it.
  bool isPerRow(Value result) {
    SetVector<Value> open;
    open.insert(result);
    for (size_t i = 0; i < open.size(); ++i) {
      Operation *op = open[i].getDefiningOp();
      if (!op || !ops.contains(op))
        continue;
      if (getRole(op) == FusionRole::RowReduction && !keepsRows(op) &&
          countElements(open[i]) == countElements(result))
        return true;
      open.insert(op->operand_begin(), op->operand_end());
    }
    return false;
  }

  /// What all uses together demand.
  Demand getDemand(Operation *op) {
    Demand demand;
    for (Value result : op->getResults()) {
      bool escapes = result.use_empty();
      for (OpOperand &use : result.getUses()) {
        auto user = demands.find(use.getOwner());
        if (user == demands.end()) {
          escapes = true;
          continue;
        }
        Demand one = getDemand(use, user->second);
        demand.times = std::max(demand.times, one.times);
        demand.hasInnerLoop &= one.hasInnerLoop;
        demand.cutsRows &= one.cutsRows;
      }
      demand.hasInnerLoop &= !escapes || !isPerRow(result);
    }
    if (keepsRows(op) && !demand.hasInnerLoop)
      demand.times *= std::max<int64_t>(1, typeOf(op->getResult(0)).getShape().back());
    return demand;
  }

  /// What one use demands of its operand, the user's elements being asked for like that.
  static Demand getDemand(OpOperand &use, Demand user) {
    Operation *op = use.getOwner();
    FusionRole role = getRole(op);
    if (role == FusionRole::RowReduction || role == FusionRole::ColumnReduction)
      return {user.times, /*hasInnerLoop=*/true, /*cutsRows=*/false};
    auto move = dyn_cast<MoveOpInterface>(op);
    if (!move)
      return user;
    if (move.keepsOrder() || !move.repeatsElements()) {
      if (!user.cutsRows && makesRowsLonger(op))
        return {user.times, /*hasInnerLoop=*/false, /*cutsRows=*/false};
      return user;
    }
    RankedTensorType type = typeOf(op->getResult(0));
    int64_t asked = user.times * type.getNumElements();
    bool spreadsColumns = !move.getSourceMap().isFunctionOfDim(type.getRank() - 1);
    if (spreadsColumns && user.hasInnerLoop)
      asked /= type.getShape().back();
    return {std::max<int64_t>(1, asked / countElements(use.get())),
            user.hasInnerLoop && !spreadsColumns, user.cutsRows};
  }

  static bool makesRowsLonger(Operation *op) {
    ArrayRef<int64_t> before = typeOf(op->getOperand(0)).getShape(),
                      after = typeOf(op->getResult(0)).getShape();
    return !before.empty() && !after.empty() && before.back() < after.back();
  }

  const llvm::SetVector<Operation *> &ops;
  llvm::DenseMap<Operation *, Demand> demands;
};
} // namespace

llvm::SmallDenseMap<Operation *, int64_t>
sinter::findRecomputation(const llvm::SetVector<Operation *> &ops) {
  return RecomputationFinder(ops).run();
}
