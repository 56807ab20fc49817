#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Sharding/MatrixParts.h"
#include "compiler/Sharding/Passes.h"
#include "compiler/Sharding/Resharding.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "runtime/Train/GradientTree.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {
#define GEN_PASS_DEF_SEEDSHARDINGSPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

// Along `data` ranks have microbatches of their own. What products compute is split by columns
// along `tensor` or the columns of a grid of both (getColumnAxis), by rows along `context`, the
// tokens of a sequence, and along the rows and the depth of a grid of both; matrices are whole
// along depth.
static constexpr StringLiteral kData = "data", kContext = "context", kDepth = "tensor.depth",
                               kRows = "tensor.rows";
static constexpr StringRef kLast(runtime::kLastMicrobatch), kSum(runtime::kGradientSum);

static std::optional<Role> findRole(DictionaryAttr attributes) {
  auto role = attributes ? attributes.getAs<RoleAttr>(SinterDialect::kRole) : nullptr;
  return role ? std::optional(role.getValue()) : std::nullopt;
}

static bool isParameter(DictionaryAttr attributes) {
  return findRole(attributes) == Role::Parameter ||
         (attributes && attributes.contains(SinterDialect::kParameter));
}

/// What a parameter or a state is called.
static StringRef getBoundName(DictionaryAttr attributes) {
  for (StringRef kind : {SinterDialect::kParameter, SinterDialect::kState})
    if (auto name = attributes ? attributes.getAs<StringAttr>(kind) : nullptr)
      return name.getValue();
  return {};
}

/// The token ids that an entry computes on, or null.
static Value findTokens(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput))
      if (name.getValue() == "tokens")
        return function.getArgument(i);
  return nullptr;
}

/// Whether a function only changes gradients: it adds what one rank has.
static bool carriesGradients(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, SinterDialect::kState))
      return false;
  return function.getNumResults() != 0 &&
         llvm::all_of(function.getArguments(), [&](BlockArgument argument) {
           return findRole(function.getArgAttrDict(argument.getArgNumber())) == Role::Gradient;
         });
}

namespace {
struct SeedShardingsPass : sinter::impl::SeedShardingsPassBase<SeedShardingsPass> {
  using SeedShardingsPassBase::SeedShardingsPassBase;

  void runOnOperation() override {
    grid = GridAttr::lookup(getOperation());
    if (!grid)
      return markAllAnalysesPreserved();
    columnAxis = getColumnAxis(grid);
    sumsEarly = getOperation().lookupSymbol(kLast) != nullptr;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (findTokens(function))
        findGradientParts(function);
    findSplitMatrices();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        seed(function);
  }

private:
  using Dims = MutableArrayRef<SmallVector<StringRef>>;

  /// Finds the matrices that are split by columns, in all entries alike.
  void findSplitMatrices() {
    llvm::StringMap<std::optional<int64_t>> found;
    if (grid.getSize(columnAxis) == 1)
      return;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      bool updates = !findTokens(function);
      ColumnFinder finder(function, grid.getSize(columnAxis));
      for (BlockArgument argument : function.getArguments()) {
        DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
        // The update of trained parameters does not multiply by them.
        if (!isParameter(attributes) || (findRole(attributes) == Role::Parameter && updates))
          continue;
        std::optional<int64_t> dim = finder.find(argument);
        auto [entry, isNew] = found.try_emplace(getBoundName(attributes), dim);
        if (!isNew && entry->second != dim)
          entry->second = std::nullopt;
      }
    }
    for (const auto &entry : found)
      if (entry.second)
        columns[entry.first()] = *entry.second;
  }

  /// Finds the dimension that the gradient of each matrix, or of several as one tensor, can be made
  /// in parts of.
  void findGradientParts(func::FuncOp function) {
    for (OpOperand &result : function.front().getTerminator()->getOpOperands()) {
      auto name = function.getResultAttrOfType<StringAttr>(result.getOperandNumber(),
                                                           SinterDialect::kState);
      if (!name || typeOf(result.get()).getRank() < 2)
        continue;
      auto dims = llvm::to_vector(llvm::reverse(llvm::seq(typeOf(result.get()).getRank())));
      auto *made =
          llvm::find_if(dims, [&](int64_t dim) { return isMadeInParts(result.get(), dim); });
      if (made == dims.end())
        continue;
      std::rotate(dims.begin(), made, made + 1);
      gradientParts[name.getValue().split('.').second] = dims;
    }
  }

  void seed(func::FuncOp function) {
    splitTokens(function);
    splitParts(function);
    bool own = findTokens(function) || (zero < 2 && carriesGradients(function));
    if (own && grid.getSize(kData) > 1)
      function->setAttr(kManualAxes, axes({kData}));
    // All at once: thousands of them would be copied for each.
    SmallVector<DictionaryAttr> arguments, results;
    auto orEmpty = [&](DictionaryAttr attributes) {
      return attributes ? attributes : DictionaryAttr::get(&getContext());
    };
    llvm::DenseMap<Attribute, unsigned> resultOfState;
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      results.push_back(orEmpty(function.getResultAttrDict(i)));
      if (Attribute state = results[i].get(SinterDialect::kState))
        resultOfState[state] = i;
    }
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = arguments.emplace_back(orEmpty(function.getArgAttrDict(i)));
      auto type = dyn_cast<RankedTensorType>(function.front().getArgument(i).getType());
      if (!type || attributes.contains(SinterDialect::kSharding))
        continue;
      SmallVector<SmallVector<StringRef>> dims(type.getRank());
      splitMatrix(attributes, type, dims);
      splitCache(function, attributes, type, dims);
      bool before = isTerm(function, attributes, /*behind=*/false),
           behind = isTerm(function, attributes, /*behind=*/true);
      if (!before && !behind)
        splitAlongData(attributes, type, dims);
      bool split = llvm::any_of(dims, [](auto &names) { return !names.empty(); });
      bool isGradient = findRole(attributes) == Role::Gradient && grid.getSize(kData) > 1;
      if (!split && !isGradient)
        continue;
      // A state is split alike before a step and behind it.
      arguments[i] = withSharding(attributes, makeSharding(dims, before));
      auto result = resultOfState.find(attributes.get(SinterDialect::kState));
      if (result != resultOfState.end())
        results[result->second] = withSharding(results[result->second], makeSharding(dims, behind));
    }
    tellExchange(function);
    function.setAllArgAttrs(arguments);
    function.setAllResultAttrs(results);
  }

  /// Splits a dimension along an axis, too, where each rank has some of it, and equal parts if it
  /// is split already; returns whether.
  bool addAxis(StringRef axis, RankedTensorType type, Dims dims, int64_t dim) const {
    int64_t ranks = grid.getSize(axis), extent = type.getDimSize(dim);
    for (StringRef other : dims[dim])
      ranks *= grid.getSize(other);
    if (grid.getSize(axis) == 1 || (dims[dim].empty() ? extent < ranks : extent % ranks != 0))
      return false;
    dims[dim].push_back(axis);
    return true;
  }

  /// The tokens of a sequence are split along `context`; along the depth and the rows of a grid of
  /// both whole sequences, if there are enough.
  void splitTokens(func::FuncOp function) {
    Value tokens = findTokens(function);
    if (!tokens || typeOf(tokens).getRank() != 2)
      return;
    SmallVector<SmallVector<StringRef>> dims(2);
    addAxis(kContext, typeOf(tokens), dims, 1);
    for (StringRef axis : {kDepth, kRows})
      if (!addAxis(axis, typeOf(tokens), dims, 0))
        addAxis(axis, typeOf(tokens), dims, 1);
    if (dims[0].empty() && dims[1].empty())
      return;
    auto builder = OpBuilder::atBlockBegin(&function.front());
    auto split = ShardOp::create(builder, tokens.getLoc(), tokens.getType(), tokens,
                                 makeSharding(dims, /*terms=*/false));
    tokens.replaceAllUsesExcept(split, split);
  }

  /// Of a parameter that is not split itself, splits what is made of it and is: parts of a fused
  /// matrix, of which a rank then rounds and packs its own columns alone.
  void splitParts(func::FuncOp function) {
    if (grid.getSize(columnAxis) == 1)
      return;
    ColumnFinder finder(function, grid.getSize(columnAxis));
    llvm::DenseSet<Value> parameters = findParameterValues(function);
    for (Operation &op : llvm::make_early_inc_range(function.front().without_terminator())) {
      if (op.getNumResults() != 1 || op.getNumOperands() == 0 ||
          !parameters.contains(op.getResult(0)) ||
          llvm::any_of(op.getOperands(), [&](Value operand) { return finder.find(operand); }))
        continue;
      Value part = op.getResult(0);
      std::optional<int64_t> dim = finder.find(part);
      SmallVector<SmallVector<StringRef>> dims(typeOf(part).getRank());
      if (!dim || !addAxis(columnAxis, typeOf(part), dims, *dim))
        continue;
      OpBuilder builder(op.getContext());
      builder.setInsertionPointAfter(&op);
      auto split = ShardOp::create(builder, op.getLoc(), part.getType(), part,
                                   makeSharding(dims, /*terms=*/false));
      part.replaceAllUsesExcept(split, split);
    }
  }

  /// Splits a matrix, and what is kept of it, by columns. Of a matrix that every rank has whole,
  /// the gradient and the optimizer's states are split: they are added to in every step of a
  /// microbatch, and what becomes of them is gathered once an update.
  void splitMatrix(DictionaryAttr attributes, RankedTensorType type, Dims dims) const {
    if (type.getRank() < 2)
      return;
    if (const int64_t *column = findOfMatrix(columns, attributes))
      if (addAxis(columnAxis, type, dims, *column))
        addAxis(kRows, type, dims, *column);
    const auto *parts = findOfMatrix(gradientParts, attributes);
    if (isParameter(attributes) || !parts)
      return;
    auto isSplit = [&](StringRef axis) {
      return llvm::any_of(dims, [&](auto &names) { return llvm::is_contained(names, axis); });
    };
    for (StringRef axis : getSplitAxes())
      for (int64_t dim : *parts)
        if (!isSplit(axis))
          addAxis(axis, type, dims, dim);
  }

  /// Splits a KV cache by heads.
  void splitCache(func::FuncOp function, DictionaryAttr attributes, RankedTensorType type,
                  Dims dims) const {
    if (findRole(attributes) == Role::Recurrent)
      return splitRecurrent(type, dims);
    if (findRole(attributes) != Role::KvCache)
      return;
    for (StringRef axis : getSplitAxes())
      if (grid.getSize(axis) > 1 &&
          (type.getDimSize(2) % grid.getSize(axis) != 0 || !addAxis(axis, type, dims, 2)))
        remark::missed(function.getLoc(), remark::RemarkOpts::name("WholeCache")
                                              .category("sinter-sharding")
                                              .function(function.getName()))
            << remark::add("every rank has all of a KV cache and computes all of its attention: "
                           "{0} heads of keys do not divide over {1} ranks of the axis {2}",
                           type.getDimSize(2), grid.getSize(axis), axis);
  }

  /// Splits what a layer keeps in place of a cache: matrices by heads, tokens by channels.
  void splitRecurrent(RankedTensorType type, Dims dims) const {
    int64_t dim = type.getRank() == 4 ? 1 : type.getRank() - 1;
    for (StringRef axis : getSplitAxes())
      if (grid.getSize(axis) > 1 && type.getDimSize(dim) % grid.getSize(axis) == 0)
        addAxis(axis, type, dims, dim);
  }

  /// The axes along which the ranks share what one op computes.
  std::array<StringRef, 4> getSplitAxes() const { return {columnAxis, kRows, kDepth, kContext}; }

  /// What is known of the matrix that a parameter is, or that a gradient or an optimizer's state is
  /// of ("adamw.m.<name>"); null where nothing is.
  template <typename T>
  static const T *findOfMatrix(const llvm::StringMap<T> &known, DictionaryAttr attributes) {
    StringRef name = getBoundName(attributes);
    std::optional<Role> role = findRole(attributes);
    bool follows = role == Role::Gradient || role == Role::Optimizer;
    if (!isParameter(attributes) && !follows)
      return nullptr;
    while (follows && !name.empty() && !known.contains(name))
      name = name.split('.').second;
    auto found = known.find(name);
    return found == known.end() ? nullptr : &found->second;
  }

  /// Whether a rank's gradient is its term of the sum over ranks, before an entry or behind it. The
  /// entry of its last microbatch leaves the sum for the update, where there is one.
  bool isTerm(func::FuncOp function, DictionaryAttr attributes, bool behind) const {
    if (findRole(attributes) != Role::Gradient || grid.getSize(kData) == 1 || zero >= 2)
      return false;
    StringRef name = getBoundName(attributes);
    if (name.starts_with(kSum))
      return false;
    if (!sumsEarly || zero > 0 || !name.starts_with("gradient."))
      return true;
    return function.getName() == kLast ? !behind
                                       : findTokens(function) || carriesGradients(function);
  }

  /// Splits rows, or the first dimension that is not split yet, if each rank has some of it.
  /// Vectors among the parameters are whole: they would be gathered twice a microbatch.
  void splitAlongData(DictionaryAttr attributes, RankedTensorType type, Dims dims) const {
    std::optional<Role> role = findRole(attributes);
    if (grid.getSize(kData) == 1 || !role)
      return;
    bool wanted = (role == Role::Gradient && zero >= 1) || (role == Role::Optimizer && zero >= 1) ||
                  (role == Role::Parameter && zero >= 3 && type.getRank() > 1);
    auto *unsplit = llvm::find_if(dims, [](auto &names) { return names.empty(); });
    if (wanted && unsplit != dims.end())
      addAxis(kData, type, dims, unsplit - dims.begin());
  }

  /// Of the entry that sums terms of gradients over ranks, says what that is predicted to take, and
  /// beside what.
  void tellExchange(func::FuncOp function) {
    TargetAttr target = TargetAttr::lookup(function);
    bool isLast = function.getName() == kLast;
    if (!target || zero >= 2 || grid.getSize(kData) == 1 ||
        (!isLast && (sumsEarly || findTokens(function) || carriesGradients(function))))
      return;
    Resharder resharder(grid, target, /*library=*/false);
    double exchange = 0, backward = 0;
    for (BlockArgument argument : function.getArguments()) {
      DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
      if (!getBoundName(attributes).starts_with("gradient."))
        continue;
      RankedTensorType type = typeOf(argument);
      SmallVector<SmallVector<StringRef>> dims(type.getRank());
      splitMatrix(attributes, type, dims);
      ShardingAttr terms = makeSharding(dims, /*terms=*/true);
      splitAlongData(attributes, type, dims);
      exchange += resharder.getNs(type, terms, makeSharding(dims, /*terms=*/false));
    }
    if (exchange == 0)
      return;
    for (Operation &op : function.front())
      if (getStage(op.getLoc()) == Stage::Backward)
        backward += CostModel(target).getCost(&op).ns;
    remark::RemarkOpts options = remark::RemarkOpts::name("GradientsLeave")
                                     .category("sinter-sharding")
                                     .function(function.getName());
    if (isLast)
      remark::passed(function.getLoc(), options)
          << remark::add("gradients are summed over the ranks of the axis data, {0}, beside the "
                         "backward pass of the last microbatch, {1}",
                         formatNs(exchange), formatNs(backward))
          << remark::metric(kGainNs, std::min(exchange, backward));
    else
      remark::missed(function.getLoc(), options)
          << remark::reason("gradients are summed over the ranks of the axis data behind the last "
                            "microbatch, {0}: {1}",
                            formatNs(exchange),
                            target.isGpu() ? "a stage of a pipeline computes all alike"
                                           : "moving bytes keeps a core of a processor busy");
  }

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  static DictionaryAttr withSharding(DictionaryAttr attributes, ShardingAttr sharding) {
    NamedAttrList list(attributes);
    list.set(SinterDialect::kSharding, sharding);
    return list.getDictionary(sharding.getContext());
  }

  ArrayAttr axes(ArrayRef<StringRef> names) {
    return Builder(&getContext()).getStrArrayAttr(names);
  }

  ShardingAttr makeSharding(ArrayRef<SmallVector<StringRef>> dims, bool terms) {
    auto lists = llvm::map_to_vector(
        dims, [&](ArrayRef<StringRef> names) -> Attribute { return axes(names); });
    return ShardingAttr::get(&getContext(), ArrayAttr::get(&getContext(), lists),
                             terms ? axes({kData}) : nullptr);
  }

  GridAttr grid;
  StringRef columnAxis;
  bool sumsEarly = false; ///< there is an entry for a rank's last microbatch
  // By name, of matrices: the dimension that is their columns, where they are split by them, and
  // their dimensions, the one that their gradient is made in parts of first.
  llvm::StringMap<int64_t> columns;
  llvm::StringMap<SmallVector<int64_t>> gradientParts;
};
} // namespace
