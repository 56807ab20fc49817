#include "compiler/Analysis/WeightValues.h"
#include "compiler/Sharding/AssignLoops.h"
#include "compiler/Sharding/ForcedGathers.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/RankPlace.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

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
      : function(function), grid(grid), resharder(grid, TargetAttr::lookup(function), library),
        builder(function.getContext()), weights(findWeightValues(function)),
        manual(function->getAttrOfType<ArrayAttr>(kManualAxes)),
        assigner(grid, TargetAttr::lookup(function), manual, resharder) {}

  ForcedGathers run() {
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
    return forced;
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
    // All at once: thousands of them would be copied for each.
    SmallVector<DictionaryAttr> attributes;
    function.getAllArgAttrs(attributes);
    for (BlockArgument argument : whole.getArguments()) {
      unsigned i = argument.getArgNumber();
      RankedTensorType type = typeOf(argument);
      auto sharding = function.getArgAttrOfType<ShardingAttr>(i, SinterDialect::kSharding);
      if (!sharding) {
        values[argument] = {parts.addArgument(type, argument.getLoc()), type, replicated(type)};
        continue;
      }
      // A checkpoint has all of a tensor; which part a rank preprocesses it sees itself.
      NamedAttrList list(attributes[i]);
      if (list.get(SinterDialect::kParameter)) {
        list.erase(SinterDialect::kSharding);
        attributes[i] = list.getDictionary(function.getContext());
        ShardedValue all{parts.addArgument(type, argument.getLoc()), type, replicated(type)};
        seeded[argument] = sharding;
        values[argument] = all;
        continue;
      }
      list.set(SinterDialect::kWhole, TypeAttr::get(type));
      attributes[i] = list.getDictionary(function.getContext());
      Value part = parts.addArgument(sharding.getLocalType(type, grid), argument.getLoc());
      values[argument] = {part, type, dropOwnTerms(sharding)};
    }
    function.setAllArgAttrs(attributes);
    for (auto [argument, sharding] : seeded) {
      ShardedValue &value = values[argument];
      value = {resharder.reshard(builder, argument.getLoc(), value, sharding), value.whole,
               sharding};
    }
    for (BlockArgument argument : whole.getArguments())
      if (values[argument].sharding.isUnreduced())
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

  /// Adds a sum's terms: split as another argument of its type is, with which it will be used.
  void reduceArgument(Value argument) {
    ShardedValue &sum = values[argument];
    ShardingAttr target = replicated(sum.whole);
    for (Value other : cast<BlockArgument>(argument).getOwner()->getArguments())
      if (ShardedValue &like = values[other]; like.whole == sum.whole &&
                                              !like.sharding.isUnreduced() &&
                                              !like.sharding.isReplicated()) {
        target = like.sharding;
        break;
      }
    sum = {resharder.reshard(builder, argument.getLoc(), sum, target), sum.whole, target};
  }

  void addResults(Operation *terminator) {
    SmallVector<Value> results;
    SmallVector<DictionaryAttr> attributes;
    function.getAllResultAttrs(attributes);
    for (OpOperand &returned : terminator->getOpOperands()) {
      unsigned i = returned.getOperandNumber();
      auto wanted = function.getResultAttrOfType<ShardingAttr>(i, SinterDialect::kSharding);
      ShardedValue value = values.at(returned.get());
      if (!wanted) {
        results.push_back(get(returned.get(), replicated(value.whole), returned.get().getLoc()));
        continue;
      }
      NamedAttrList list(attributes[i]);
      list.set(SinterDialect::kWhole, TypeAttr::get(value.whole));
      attributes[i] = list.getDictionary(function.getContext());
      results.push_back(getResult(returned.get(), wanted));
    }
    function.setAllResultAttrs(attributes);
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
    bool isTerm = isSum(wanted) && !isa<BlockArgument>(value) && !summed.contains(value);
    if (held.sharding == plain && !isTerm)
      return held.part;
    if (!isSum(wanted))
      return get(value, plain, value.getLoc());
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(held.part); // ranks have it from there on
    return addTerms(held, plain, value.getLoc());
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
    if (auto shard = dyn_cast<ShardOp>(op)) {
      Value part = get(shard.getOperand(), shard.getSharding(), op->getLoc());
      values[shard] = {part, shard.getType(), shard.getSharding()};
      return;
    }
    // A rank casts its own part, and what is gathered is as narrow as who needs it takes it.
    if (isa<CastOp>(op) && manual && isOfArgument(op->getOperand(0))) {
      const ShardedValue &held = values.at(op->getOperand(0));
      RankedTensorType type = typeOf(op->getResult(0));
      Type local = held.sharding.getLocalType(type, grid);
      Value part = CastOp::create(builder, op->getLoc(), local, held.part);
      values[op->getResult(0)] = {part, type, held.sharding};
      return;
    }
    LoopNest nest;
    LoopAssignment split;
    auto shardable = assigner.hasAxes() ? dyn_cast<ShardableOpInterface>(op) : nullptr;
    if (shardable) {
      nest = shardable.getLoopNest();
      auto held =
          llvm::map_to_vector(op->getOperands(), [&](Value value) { return values.at(value); });
      split = assigner.assign(
          op, nest, held,
          [&](unsigned i, ShardingAttr target) { return isFree(op->getOperand(i), target, op); },
          [&](Value result, int64_t dim, StringAttr axis) { return isWanted(result, dim, axis); });
      forced.note(op, split, held);
    }
    auto shardingOf = [&](unsigned tensor, RankedTensorType type) {
      if (!shardable)
        return replicated(type);
      SmallVector<Attribute> dims;
      for (AffineExpr loop : nest.maps[tensor].getResults())
        dims.push_back(split.axes[cast<AffineDimExpr>(loop).getPosition()]);
      return ShardingAttr::get(op->getContext(), builder.getArrayAttr(dims), nullptr);
    };
    unsigned tensor = 0;
    auto parts = llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return get(operand, shardingOf(tensor++, typeOf(operand)), op->getLoc());
    });
    Operation *local = builder.clone(*op);
    local->setOperands(parts);
    for (auto [result, part] : llvm::zip_equal(op->getResults(), local->getResults())) {
      RankedTensorType type = typeOf(result);
      ShardingAttr sharding = shardingOf(tensor++, type);
      part.setType(sharding.getLocalType(type, grid));
      values[result] = {part, type, sharding};
    }
    if (nest.placed) {
      SmallVector<int64_t> turns = getTurns(op, nest);
      RankPlace place(local, grid, split.axes, turns);
      shardable.placePart(local, place);
    }
    for (Value result : op->getResults())
      addExactTerms(values[result], nest, split, op->getLoc());
  }

  /// Adds what ranks have of a result each, where a loop that reduces is split: it may be if their
  /// sum is exact.
  void addExactTerms(ShardedValue &value, const LoopNest &nest, const LoopAssignment &split,
                     Location loc) {
    SmallVector<Attribute> terms;
    for (auto [kind, axes] : llvm::zip(nest.loops, split.axes))
      if (kind == LoopKind::Reduction)
        llvm::append_range(terms, axes);
    if (terms.empty())
      return;
    ShardingAttr sum = value.sharding;
    value.sharding =
        ShardingAttr::get(function.getContext(), sum.getDims(), builder.getArrayAttr(terms));
    value = {resharder.reshard(builder, loc, value, sum), value.whole, sum};
  }

  /// Whether what a rank has of an argument is its own term.
  bool holdsTerm(BlockArgument argument) {
    auto sharding =
        function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(), SinterDialect::kSharding);
    return sharding && !isSum(sharding);
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
    if (sum.sharding != wanted || holdsTerm(state))
      return false;
    Value terms = addTerms(values.at(add.getRhs()), wanted, op->getLoc());
    Value next = AddOp::create(builder, op->getLoc(), sum.part.getType(), sum.part, terms);
    values[add] = {next, sum.whole, wanted};
    summed.insert(add);
    return true;
  }

  /// Whether a use of a value wants a dimension split along an axis: what is returned so, an op of
  /// which another operand is, or a product, whose columns they are, of a matrix that is made of
  /// weights alone.
  bool isWanted(Value value, int64_t dim, StringAttr axis) {
    return llvm::any_of(value.getUses(), [&](OpOperand &use) {
      Operation *user = use.getOwner();
      auto isSplit = [&](ShardingAttr sharding, int64_t of) {
        return sharding && llvm::is_contained(sharding.getAxes(of), axis);
      };
      if (isa<func::ReturnOp>(user))
        return isSplit(function.getResultAttrOfType<ShardingAttr>(use.getOperandNumber(),
                                                                  SinterDialect::kSharding),
                       dim);
      auto shardable = dyn_cast<ShardableOpInterface>(user);
      if (!shardable)
        return false;
      LoopNest nest = shardable.getLoopNest();
      AffineExpr loop = nest.maps[use.getOperandNumber()].getResult(dim);
      if (isProduct(user) && weights.contains(value) &&
          loop == nest.maps.back().getResults().back())
        return true;
      for (auto [operand, map] : llvm::zip(user->getOperands(), nest.maps))
        if (auto known = values.find(operand); operand != value && known != values.end())
          for (auto [of, expr] : llvm::enumerate(map.getResults()))
            if (expr == loop && isSplit(known->second.sharding, of))
              return true;
      return false;
    });
  }

  /// Whether a value is there under a sharding for an op, or made so at no cost.
  bool isFree(Value value, ShardingAttr target, Operation *op) const {
    const auto &known = isGatheredAgain(value, op->getLoc()) ? reshardedAgain : resharded;
    return known.contains({value, target}) || isMadeAgain(value);
  }

  bool isGatheredAgain(Value value, Location loc) const {
    return isOfArgument(value) && manual && getStage(loc) != Stage::Forward;
  }

  /// A value under a sharding, for an op at `loc`; moved once however many ops want it so. But what
  /// is gathered of an argument, or of its cast, along a manual axis is not kept until the backward
  /// pass, which gathers it again.
  Value get(Value value, ShardingAttr target, Location loc) {
    const ShardedValue &held = values.at(value);
    if (held.sharding == target)
      return held.part;
    bool again = isGatheredAgain(value, loc);
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

  /// Whether a part of a value is made in that size instead of sliced: of what repeats one element,
  /// or a smaller tensor, which is sliced in its stead.
  bool isMadeAgain(Value value) const {
    Operation *op = value.getDefiningOp();
    return op && values.at(value).sharding.isReplicated() &&
           (isa<BroadcastOp>(op) || (isa<ConstantOp>(op) && isSplatConstant(op)));
  }

  Value makeAgain(Value value, ShardingAttr target) {
    if (!isMadeAgain(value))
      return nullptr;
    Operation *op = value.getDefiningOp();
    RankedTensorType type = target.getLocalType(typeOf(value), grid);
    if (auto constant = dyn_cast<ConstantOp>(op))
      return ConstantOp::create(builder, op->getLoc(), type,
                                cast<DenseElementsAttr>(constant.getValue()).resizeSplat(type));
    auto broadcast = cast<BroadcastOp>(op);
    auto dims = llvm::map_to_vector(broadcast.getDims(),
                                    [&](int64_t dim) -> Attribute { return target.getAxes(dim); });
    auto sharding = ShardingAttr::get(op->getContext(), builder.getArrayAttr(dims), nullptr);
    Value operand = get(broadcast.getOperand(), sharding, op->getLoc());
    return BroadcastOp::create(builder, op->getLoc(), type, operand, broadcast.getDims());
  }

  func::FuncOp function;
  GridAttr grid;
  Resharder resharder;
  OpBuilder builder;
  llvm::DenseSet<Value> weights; ///< of the whole program, and what is made of them alone
  ArrayAttr manual;              ///< or null
  LoopAssigner assigner;
  ForcedGathers forced;
  llvm::DenseMap<Value, ShardedValue> values; ///< by value of the whole program
  llvm::DenseSet<Value> summed; ///< of these, sums over ranks that compute on data of their own
  llvm::MapVector<Value, ShardingAttr> seeded;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> resharded, reshardedAgain; ///< see get()
};

struct PartitionPass : sinter::impl::PartitionPassBase<PartitionPass> {
  using PartitionPassBase::PartitionPassBase;

  void runOnOperation() override {
    GridAttr grid = GridAttr::lookup(getOperation());
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!grid)
        function.walk([](ShardOp op) {
          op.getResult().replaceAllUsesWith(op.getOperand());
          op.erase();
        });
      else if (function->hasAttr(SinterDialect::kEntry))
        partition(function, grid);
  }

private:
  void partition(func::FuncOp function, GridAttr grid) {
    ForcedGathers forced = EntryPartition(function, grid, library).run();
    function->removeAttr(kManualAxes);
    eraseDeadOps(function.front());
    if (failed(forced.report(function, forbidGather)))
      signalPassFailure();
  }
};
} // namespace
