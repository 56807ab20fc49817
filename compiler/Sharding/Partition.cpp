#include "compiler/Analysis/CostModel.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Resharding.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "runtime/Format/PipelineStages.h"

namespace sinter {
#define GEN_PASS_DEF_PARTITIONPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
/// Makes an entry the program of one rank: walks its ops in order and builds each again on parts.
class EntryPartition {
public:
  EntryPartition(func::FuncOp function, GridAttr grid, bool library)
      : function(function), grid(grid), resharder(grid, library), builder(function.getContext()),
        none(builder.getArrayAttr({})), manual(function->getAttrOfType<ArrayAttr>(kManualAxes)) {}

  void run() {
    Block &whole = function.front();
    Block &parts = function.getBody().emplaceBlock();
    builder.setInsertionPointToEnd(&parts);
    addArguments(whole, parts);
    for (Operation &op : whole.without_terminator())
      partition(&op);
    addResults(whole.getTerminator());
    whole.dropAllReferences();
    whole.erase();
    function.setType(builder.getFunctionType(parts.getArgumentTypes(),
                                             parts.getTerminator()->getOperandTypes()));
  }

private:
  //===--------------------------------------------------------------------===//
  // Shardings
  //===--------------------------------------------------------------------===//

  ShardingAttr replicated(RankedTensorType type) {
    return ShardingAttr::getReplicated(function.getContext(), type.getRank());
  }

  bool isManual(Attribute axis) const { return manual && llvm::is_contained(manual, axis); }

  //===--------------------------------------------------------------------===//
  // Arguments and results
  //===--------------------------------------------------------------------===//

  void addArguments(Block &whole, Block &parts) {
    for (BlockArgument argument : whole.getArguments()) {
      unsigned i = argument.getArgNumber();
      RankedTensorType type = typeOf(argument);
      auto sharding = function.getArgAttrOfType<ShardingAttr>(i, SinterDialect::kSharding);
      if (!sharding) {
        values[argument] = {parts.addArgument(type, argument.getLoc()), type, replicated(type)};
        continue;
      }
      // A checkpoint has all of a tensor; which part a rank prepares it sees itself.
      if (function.getArgAttr(i, SinterDialect::kParameter)) {
        function.removeArgAttr(i, SinterDialect::kSharding);
        ShardedValue all{parts.addArgument(type, argument.getLoc()), type, replicated(type)};
        seeded[argument] = sharding;
        values[argument] = all;
        continue;
      }
      function.setArgAttr(i, SinterDialect::kWhole, TypeAttr::get(type));
      Value part = parts.addArgument(sharding.getLocalType(type, grid), argument.getLoc());
      values[argument] = {part, type, dropOwnTerms(sharding)};
    }
    for (auto [argument, sharding] : seeded) {
      ShardedValue &value = values[argument];
      value = {resharder.reshard(builder, argument.getLoc(), value, sharding), value.whole,
               sharding};
    }
    for (BlockArgument argument : whole.getArguments())
      if (isUnreduced(values[argument]))
        reduceArgument(argument);
  }

  /// Terms along manual axes are what the rank computes with.
  ShardingAttr dropOwnTerms(ShardingAttr sharding) {
    ArrayAttr terms = sharding.getUnreduced();
    SmallVector<Attribute> others;
    if (terms)
      others =
          llvm::filter_to_vector(terms.getValue(), [&](Attribute axis) { return !isManual(axis); });
    return ShardingAttr::get(function.getContext(), sharding.getDims(),
                             others.empty() ? nullptr : builder.getArrayAttr(others));
  }

  static bool isUnreduced(const ShardedValue &value) {
    return value.sharding.getUnreduced() && !value.sharding.getUnreduced().empty();
  }

  /// Adds a sum's terms: split as another argument of its type is, with which it will be used.
  void reduceArgument(Value argument) {
    ShardedValue &sum = values[argument];
    ShardingAttr target = replicated(sum.whole);
    for (Value other : cast<BlockArgument>(argument).getOwner()->getArguments())
      if (ShardedValue &like = values[other];
          like.whole == sum.whole && !isUnreduced(like) && !like.sharding.isReplicated()) {
        target = like.sharding;
        break;
      }
    sum = {resharder.reshard(builder, argument.getLoc(), sum, target), sum.whole, target};
  }

  void addResults(Operation *terminator) {
    SmallVector<Value> results;
    for (OpOperand &returned : terminator->getOpOperands()) {
      unsigned i = returned.getOperandNumber();
      auto wanted = function.getResultAttrOfType<ShardingAttr>(i, SinterDialect::kSharding);
      ShardedValue value = values.at(returned.get());
      if (!wanted) {
        results.push_back(get(returned.get(), replicated(value.whole), returned.get().getLoc()));
        continue;
      }
      function.setResultAttr(i, SinterDialect::kWhole, TypeAttr::get(value.whole));
      results.push_back(getResult(returned.get(), wanted));
    }
    func::ReturnOp::create(builder, terminator->getLoc(), results);
  }

  /// Whether a result is the sum over ranks of what each computes on data of its own.
  bool isSum(ShardingAttr wanted) {
    ArrayAttr terms = wanted.getUnreduced();
    return manual &&
           !(terms && llvm::any_of(terms, [&](Attribute axis) { return isManual(axis); }));
  }

  /// A value as a result with a sharding wants it.
  Value getResult(Value value, ShardingAttr wanted) {
    ShardedValue held = values.at(value);
    ShardingAttr plain = ShardingAttr::get(function.getContext(), wanted.getDims(), nullptr);
    if (held.sharding == plain)
      return held.part;
    return isSum(wanted) ? addTerms(held, plain, value.getLoc())
                         : get(value, plain, value.getLoc());
  }

  /// The sum over ranks of what each has.
  Value addTerms(ShardedValue term, ShardingAttr target, Location loc) {
    term.sharding = ShardingAttr::get(function.getContext(), term.sharding.getDims(), manual);
    return resharder.reshard(builder, loc, term, target);
  }

  //===--------------------------------------------------------------------===//
  // Ops
  //===--------------------------------------------------------------------===//

  void partition(Operation *op) {
    if (addsToSum(op))
      return;
    LoopNest nest;
    SmallVector<ArrayAttr> axes;
    if (auto shardable = dyn_cast<ShardableOpInterface>(op)) {
      nest = shardable.getLoopNest();
      axes = assignLoops(op, nest);
    }
    auto shardingOf = [&](unsigned tensor, RankedTensorType type) {
      if (axes.empty())
        return replicated(type);
      SmallVector<Attribute> dims;
      for (AffineExpr loop : nest.maps[tensor].getResults())
        dims.push_back(axes[cast<AffineDimExpr>(loop).getPosition()]);
      return ShardingAttr::get(op->getContext(), builder.getArrayAttr(dims), nullptr);
    };
    IRMapping mapping;
    unsigned tensor = 0;
    for (Value operand : op->getOperands())
      mapping.map(operand, get(operand, shardingOf(tensor++, typeOf(operand)), op->getLoc()));
    Operation *local = builder.clone(*op, mapping);
    for (auto [result, part] : llvm::zip_equal(op->getResults(), local->getResults())) {
      RankedTensorType type = typeOf(result);
      ShardingAttr sharding = shardingOf(tensor++, type);
      part.setType(sharding.getLocalType(type, grid));
      values[result] = {part, type, sharding};
    }
  }

  /// If an op adds a rank's term to a state that is a sum over ranks, adds the sum of all terms.
  bool addsToSum(Operation *op) {
    auto add = dyn_cast<AddOp>(op);
    if (!add || !manual || !add->hasOneUse() || !isa<func::ReturnOp>(*add->user_begin()))
      return false;
    auto state = dyn_cast<BlockArgument>(add.getLhs());
    auto wanted = function.getResultAttrOfType<ShardingAttr>(add->use_begin()->getOperandNumber(),
                                                             SinterDialect::kSharding);
    if (!state || !wanted || !isSum(wanted))
      return false;
    const ShardedValue &sum = values.at(state);
    if (sum.sharding != wanted)
      return false;
    Value terms = addTerms(values.at(add.getRhs()), wanted, op->getLoc());
    Value next = AddOp::create(builder, op->getLoc(), sum.part.getType(), sum.part, terms);
    values[add] = {next, sum.whole, wanted};
    return true;
  }

  /// The axes that each loop is split along: those of the first operand that asks for it. The rows
  /// of a product are not split: what order a kernel adds in depends on how many it has
  /// (RegisterTile.h).
  SmallVector<ArrayAttr> assignLoops(Operation *op, const LoopNest &nest) {
    SmallVector<ArrayAttr> axes(nest.loops.size(), none);
    llvm::SmallDenseSet<Attribute> taken;
    llvm::SmallDenseSet<unsigned> rows;
    if (getRole(op) == FusionRole::Contraction)
      for (AffineExpr expr : nest.maps[op->getNumOperands()].getResults().drop_back())
        rows.insert(cast<AffineDimExpr>(expr).getPosition());
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      const ShardedValue &value = values.at(operand);
      for (auto [dim, expr] : llvm::enumerate(nest.maps[i].getResults())) {
        unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        ArrayAttr held = value.sharding.getAxes(dim);
        bool free = !held.empty() && axes[loop].empty() && !rows.contains(loop) &&
                    nest.loops[loop] == LoopKind::Parallel &&
                    !llvm::any_of(held, [&](Attribute axis) {
                      return isManual(axis) || taken.contains(axis);
                    });
        if (!free || !divides(op, nest, loop, grid.getSize(held)))
          continue;
        axes[loop] = held;
        taken.insert(held.begin(), held.end());
      }
    }
    splitWork(op, nest, axes, taken);
    return axes;
  }

  /// What takes long is split along an axis that no operand asks for, too, rather than done by
  /// every rank. Of a product these are columns of the result.
  void splitWork(Operation *op, const LoopNest &nest, MutableArrayRef<ArrayAttr> axes,
                 const llvm::SmallDenseSet<Attribute> &taken) {
    FusionRole role = getRole(op);
    bool product = role == FusionRole::Contraction;
    if (!product && role != FusionRole::Attention && role != FusionRole::AttentionGrad)
      return;
    ArrayRef<AffineExpr> dims = nest.maps[op->getNumOperands()].getResults();
    for (auto [axis, ranks] : llvm::zip_equal(grid.getNames(), grid.getSizes())) {
      // Along a pipeline it is layers that are split.
      if (ranks == 1 || isManual(axis) || taken.contains(axis) || axis == runtime::kPipelineAxis)
        continue;
      for (AffineExpr expr : llvm::reverse(product ? dims.take_back() : dims)) {
        unsigned loop = cast<AffineDimExpr>(expr).getPosition();
        if (nest.loops[loop] != LoopKind::Parallel || !axes[loop].empty() ||
            !divides(op, nest, loop, ranks))
          continue;
        axes[loop] = builder.getArrayAttr({axis});
        break;
      }
    }
  }

  /// Whether every rank's turns of a loop are its parts of all tensors: of dimensions of unlike
  /// extents that is so only of equal parts. Every rank has a turn.
  static bool divides(Operation *op, const LoopNest &nest, unsigned loop, int64_t ranks) {
    SmallVector<int64_t> extents;
    unsigned tensor = 0;
    auto collect = [&](Value value) {
      for (auto [dim, expr] : llvm::enumerate(nest.maps[tensor].getResults()))
        if (cast<AffineDimExpr>(expr).getPosition() == loop)
          extents.push_back(typeOf(value).getDimSize(dim));
      ++tensor;
    };
    llvm::for_each(op->getOperands(), collect);
    llvm::for_each(op->getResults(), collect);
    return (llvm::all_equal(extents) && extents.front() >= ranks) ||
           llvm::all_of(extents, [&](int64_t extent) { return extent % ranks == 0; });
  }

  /// A value under a sharding, for an op at `loc`; moved once however many ops want it so. But what
  /// is gathered of an argument along a manual axis is not kept until the backward pass, which
  /// gathers it again.
  Value get(Value value, ShardingAttr target, Location loc) {
    const ShardedValue &held = values.at(value);
    if (held.sharding == target)
      return held.part;
    bool again = isa<BlockArgument>(value) && manual && getStage(loc) != Stage::Forward;
    auto &known = again ? reshardedAgain : resharded;
    std::pair<Value, Attribute> key(value, target);
    if (Value found = known.lookup(key))
      return found;
    Value made = makeAgain(value, target);
    if (!made) {
      Operation *last = builder.getBlock()->empty() ? nullptr : &builder.getBlock()->back();
      made = resharder.reshard(builder, again ? loc : value.getLoc(), held, target);
      for (Operation *op = last; again && (op = op->getNextNode());)
        op->setAttr(SinterDialect::kRecompute, builder.getUnitAttr());
    }
    return (again ? reshardedAgain : resharded)[key] = made;
  }

  /// A part of a value that is the same all along what is split: made in that size instead of
  /// sliced.
  Value makeAgain(Value value, ShardingAttr target) {
    Operation *op = value.getDefiningOp();
    if (!op || !values.at(value).sharding.isReplicated())
      return nullptr;
    RankedTensorType type = target.getLocalType(typeOf(value), grid);
    if (auto constant = dyn_cast<ConstantOp>(op); constant && isSplatConstant(op))
      return ConstantOp::create(builder, op->getLoc(), type,
                                cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
    auto broadcast = dyn_cast<BroadcastOp>(op);
    if (!broadcast || llvm::any_of(broadcast.getDims(),
                                   [&](int64_t dim) { return !target.getAxes(dim).empty(); }))
      return nullptr;
    Value operand =
        get(broadcast.getOperand(), replicated(typeOf(broadcast.getOperand())), op->getLoc());
    return BroadcastOp::create(builder, op->getLoc(), type, operand, broadcast.getDims());
  }

  func::FuncOp function;
  GridAttr grid;
  Resharder resharder;
  OpBuilder builder;
  ArrayAttr none;
  ArrayAttr manual;                           ///< or null
  llvm::DenseMap<Value, ShardedValue> values; ///< by value of the whole program
  llvm::MapVector<Value, ShardingAttr> seeded;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> resharded, reshardedAgain; ///< see get()
};

struct PartitionPass : sinter::impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    GridAttr grid = GridAttr::lookup(getOperation());
    if (!grid)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        EntryPartition(function, grid, library).run();
        function->removeAttr(kManualAxes);
      }
  }
};
} // namespace
