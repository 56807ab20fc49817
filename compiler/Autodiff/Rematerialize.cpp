//===- Rematerialize.cpp - Computing again instead of keeping ---------------===//
//
// What the backward pass reads of the forward pass lives from one to the other. A value whose op is
// done again right before it is needed does not; that costs the op, and those between it and what
// is kept.
//
// Candidates are ops whose results the forward pass reads in their own layer only (what goes from
// layer to layer is kept: from there a layer is done again, not the whole model), or all such ops
// of a block (attention, MLP) or of a layer together. They are taken in the order of their cost a
// byte: first what is as good as free (an activation's function, a norm), then until enough is
// released. That order is fixed: once an operand is recomputed too, its copy is there for all who
// need it. Where nothing must be released, single ops are taken, so that a step without a budget is
// the same whatever the granularity.
//
//===----------------------------------------------------------------------===//

#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/OpOrder.h"
#include "compiler/Autodiff/Passes.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"

namespace sinter {
#define GEN_PASS_DEF_REMATERIALIZEPASS
#include "compiler/Autodiff/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static bool isForward(Operation *op) { return getStage(op->getLoc()) == Stage::Forward; }

/// Ops that cost nothing inside of those that use their results.
static bool isMovement(Operation *op) { return getRole(op) == FusionRole::Index; }

namespace {
/// Ops whose kept results are released together.
struct Unit {
  SmallVector<Operation *> ops;
  int64_t bytes = 0;
  double ns = 0;
};

class Rematerializer {
public:
  Rematerializer(func::FuncOp function, const CostModel &costs, StringRef granularity)
      : function(function), block(function.front()), costs(costs), granularity(granularity) {}

  /// Recomputes values of at least `release` bytes, or all there are, and more for as long as all
  /// of it costs no more than `freeShare` of the step; says what was chosen.
  void run(int64_t release, double freeShare) {
    double freeNs = freeShare * getStepNs();
    repeatMovement();
    SmallVector<Unit> units = findUnits();
    llvm::stable_sort(units, [](const Unit &a, const Unit &b) {
      return a.ns * static_cast<double>(b.bytes) < b.ns * static_cast<double>(a.bytes);
    });
    Unit chosen;
    for (const Unit &unit : units) {
      if (chosen.bytes >= release && chosen.ns + unit.ns > freeNs)
        break;
      chosen.ops.append(unit.ops);
      chosen.bytes += unit.bytes;
      chosen.ns += unit.ns;
    }
    llvm::sort(chosen.ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    recomputed.insert(chosen.ops.begin(), chosen.ops.end());
    for (Operation *op : chosen.ops)
      recompute(op);
    orderByNeed(block);
    remark::RemarkOpts options = remark::RemarkOpts::name("Rematerialized")
                                     .category("sinter-autodiff")
                                     .function(function.getName());
    remark::passed(function.getLoc(), options)
        << llvm::formatv("{0} of {1} ops are done again: {2} of {3} kept bytes released for {4:F2} "
                         "ms more",
                         chosen.ops.size(), countOps(units), chosen.bytes, countBytes(units),
                         chosen.ns / 1e6)
               .str()
        << remark::metric(kGainNs, -chosen.ns);
  }

private:
  double getStepNs() {
    double ns = 0;
    for (Operation &op : block.without_terminator())
      ns += costs.getCost(&op).ns;
    return ns;
  }

  static size_t countOps(ArrayRef<Unit> units) {
    size_t count = 0;
    for (const Unit &unit : units)
      count += unit.ops.size();
    return count;
  }

  static int64_t countBytes(ArrayRef<Unit> units) {
    int64_t bytes = 0;
    for (const Unit &unit : units)
      bytes += unit.bytes;
    return bytes;
  }

  SmallVector<OpOperand *> getBackwardUses(Value value) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (!isForward(use.getOwner()) && !use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        uses.push_back(&use);
    return uses;
  }

  static Operation *findFirstOwner(ArrayRef<OpOperand *> uses) {
    Operation *first = uses.front()->getOwner();
    for (OpOperand *use : uses.drop_front())
      if (use->getOwner()->isBeforeInBlock(first))
        first = use->getOwner();
    return first;
  }

  /// Gives the backward pass copies of its own of what only moves elements, so that what it keeps
  /// are the values behind.
  void repeatMovement() {
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
      if (!isForward(&op) || !isMovement(&op) || op.getNumResults() != 1 ||
          op.getNumOperands() == 0)
        continue;
      SmallVector<OpOperand *> uses = getBackwardUses(op.getResult(0));
      if (uses.empty())
        continue;
      OpBuilder builder(findFirstOwner(uses));
      Operation *copy = builder.clone(op);
      copy->setLoc(inStage(Stage::Recompute, op.getLoc()));
      for (OpOperand *use : uses)
        use->set(copy->getResult(0));
    }
  }

  /// The op, block or layer that an op belongs to: "model.layers.3.mlp" or "model.layers.3". Null
  /// for an op outside of layers.
  StringAttr getGroup(Operation *op, StringRef granularity) {
    StringRef name;
    op->getLoc()->walk([&](Location part) {
      if (auto named = dyn_cast<NameLoc>(part); named && name.empty())
        name = named.getName();
      return WalkResult::advance();
    });
    size_t end = 0;
    bool inLayer = false;
    for (StringRef part : llvm::split(name, '.')) {
      end += part.size();
      if (inLayer)
        return StringAttr::get(op->getContext(), name.take_front(end));
      inLayer = !part.empty() && llvm::all_of(part, llvm::isDigit);
      if (inLayer && granularity == "layer")
        return StringAttr::get(op->getContext(), name.take_front(end));
      ++end;
    }
    return nullptr;
  }

  /// Whether the forward pass reads an op's results in its own group alone.
  bool isInner(Operation *op, StringAttr group) {
    return llvm::all_of(op->getUsers(), [&](Operation *user) {
      if (!isForward(user) || user->hasTrait<OpTrait::IsTerminator>())
        return true;
      return isMovement(user) ? isInner(user, group) : getGroup(user, getScope()) == group;
    });
  }

  /// Where an op's results are looked for: its block, or its layer.
  StringRef getScope() const { return granularity == "block" ? "block" : "layer"; }

  SmallVector<Unit> findUnits() {
    for (Operation &op : block.without_terminator())
      if (isForward(&op) && !isMovement(&op) && getKeptBytes(&op) > 0)
        kept.insert(&op);
    llvm::MapVector<Attribute, Unit> groups;
    SmallVector<Unit> units;
    for (Operation &op : block.without_terminator()) {
      if (!kept.contains(&op) || getRole(&op) == FusionRole::Opaque)
        continue;
      StringAttr group = getGroup(&op, getScope());
      if (!group || !isInner(&op, group))
        continue;
      Unit one = measure(&op);
      if (granularity == "op") {
        units.push_back(one);
        continue;
      }
      Unit &unit = groups[group];
      unit.ops.append(one.ops);
      unit.bytes += one.bytes;
      unit.ns += one.ns;
    }
    for (auto &entry : groups)
      units.push_back(entry.second);
    return units;
  }

  int64_t getKeptBytes(Operation *op) {
    int64_t bytes = 0;
    for (Value result : op->getResults())
      if (!getBackwardUses(result).empty())
        bytes += getStorageBytes(result.getType());
    return bytes;
  }

  /// What doing an op again releases and costs: itself and all that is not kept before it.
  Unit measure(Operation *op) {
    Unit unit{{op}, getKeptBytes(op), 0};
    SetVector<Operation *> open;
    open.insert(op);
    for (size_t i = 0; i < open.size(); ++i) {
      if (!isMovement(open[i]))
        unit.ns += costs.getCost(open[i]).ns;
      for (Value operand : open[i]->getOperands())
        if (Operation *producer = operand.getDefiningOp(); producer && !kept.contains(producer))
          open.insert(producer);
    }
    return unit;
  }

  /// The value as the backward pass has it: kept, or computed again at `builder`.
  Value getAgain(OpBuilder &builder, Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || op->hasTrait<OpTrait::ConstantLike>() ||
        (kept.contains(op) && !recomputed.contains(op)))
      return value;
    if (Value known = again.lookupOrNull(value))
      return known;
    IRMapping operands;
    for (Value operand : op->getOperands())
      operands.map(operand, getAgain(builder, operand));
    Operation *copy = builder.clone(*op, operands);
    copy->setLoc(inStage(Stage::Recompute, op->getLoc()));
    copy->setAttr(SinterDialect::kRecompute, builder.getUnitAttr());
    again.map(op->getResults(), copy->getResults());
    return again.lookup(value);
  }

  void recompute(Operation *op) {
    for (Value result : op->getResults()) {
      SmallVector<OpOperand *> uses = getBackwardUses(result);
      // Copies made so far stand where they are needed; they read copies themselves.
      llvm::erase_if(
          uses, [](OpOperand *use) { return use->getOwner()->hasAttr(SinterDialect::kRecompute); });
      if (uses.empty())
        continue;
      OpBuilder builder(findFirstOwner(uses));
      Value value = getAgain(builder, result);
      for (OpOperand *use : uses)
        use->set(value);
    }
  }

  func::FuncOp function;
  Block &block;
  const CostModel &costs;
  StringRef granularity;
  llvm::DenseSet<Operation *> kept;       ///< ops with results that the backward pass reads
  llvm::DenseSet<Operation *> recomputed; ///< those of them that are done again
  IRMapping again;                        ///< from values to their copies
};

struct RematerializePass : sinter::impl::RematerializePassBase<RematerializePass> {
  using RematerializePassBase::RematerializePassBase;

  void runOnOperation() override {
    if (release <= 0 && freeShare <= 0)
      return;
    if (granularity != "op" && granularity != "block" && granularity != "layer") {
      getOperation().emitError("expected a granularity op, block or layer, got ") << granularity;
      return signalPassFailure();
    }
    TargetAttr target = TargetAttr::lookup(getOperation());
    if (!target) {
      getOperation().emitError("expected the module to have a target (sinter.target)");
      return signalPassFailure();
    }
    CostModel costs(target);
    StringRef unit = release > 0 ? StringRef(granularity) : "op";
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) && hasBackwardPass(function))
        Rematerializer(function, costs, unit).run(release, freeShare);
  }

private:
  static bool hasBackwardPass(func::FuncOp function) {
    return llvm::any_of(function.front(),
                        [](Operation &op) { return getStage(op.getLoc()) == Stage::Backward; });
  }
};
} // namespace
