#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "dialects/Sinter/Stage.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringMap.h"

namespace sinter {
#define GEN_PASS_DEF_SEEDSHARDINGSPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static constexpr StringLiteral kData = "data", kTensor = "tensor";

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

static bool readsTokens(func::FuncOp function) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput))
      if (name.getValue() == "tokens")
        return true;
  return false;
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

/// The dimension of a matrix that is the columns of the products that read it in the forward pass,
/// through casts and transposes; nothing where something else reads it there, too.
static std::optional<int64_t> findColumns(Value matrix) {
  std::optional<int64_t> found;
  if (typeOf(matrix).getRank() != 2)
    return std::nullopt;
  for (OpOperand &use : matrix.getUses()) {
    std::optional<int64_t> dim;
    Operation *user = use.getOwner();
    if (getStage(user->getLoc()) != Stage::Forward)
      continue;
    if (auto product = dyn_cast<MatmulOp>(user)) {
      if (use.getOperandNumber() == 1)
        dim = product.getTransposeRhs() ? 0 : 1;
    } else if (auto transpose = dyn_cast<TransposeOp>(user)) {
      if (std::optional<int64_t> inner = findColumns(transpose))
        dim = transpose.getPermutation()[*inner];
    } else if (isa<ElementwiseOpInterface>(user) && user->getNumOperands() == 1) {
      dim = findColumns(user->getResult(0));
    }
    if (!dim || (found && found != dim))
      return std::nullopt;
    found = dim;
  }
  return found;
}

namespace {
struct SeedShardingsPass : sinter::impl::SeedShardingsPassBase<SeedShardingsPass> {
  using SeedShardingsPassBase::SeedShardingsPassBase;

  void runOnOperation() override {
    grid = GridAttr::lookup(getOperation());
    if (!grid)
      return markAllAnalysesPreserved();
    if (grid.getSize(kTensor) > 1)
      findSplitMatrices();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry))
        seed(function);
  }

private:
  /// Finds the matrices that are split along tensor, in all entries alike.
  void findSplitMatrices() {
    llvm::StringMap<std::optional<int64_t>> found;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (BlockArgument argument : function.getArguments()) {
        DictionaryAttr attributes = function.getArgAttrDict(argument.getArgNumber());
        // The update of trained parameters does not multiply by them.
        if (!isParameter(attributes) ||
            (findRole(attributes) == Role::Parameter && !readsTokens(function)))
          continue;
        std::optional<int64_t> dim = findColumns(argument);
        auto [entry, isNew] = found.try_emplace(getBoundName(attributes), dim);
        if (!isNew && entry->second != dim)
          entry->second = std::nullopt;
      }
    for (const auto &entry : found)
      if (entry.second)
        columns[entry.first()] = *entry.second;
  }

  void seed(func::FuncOp function) {
    bool own = readsTokens(function) || (zero < 2 && carriesGradients(function));
    if (own && grid.getSize(kData) > 1)
      function->setAttr(kManualAxes, axes({kData}));
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      auto type = dyn_cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (!type || (attributes && attributes.contains(SinterDialect::kSharding)))
        continue;
      SmallVector<SmallVector<StringRef>> dims(type.getRank());
      splitAlongTensor(function, attributes, type, dims);
      bool terms = splitAlongData(attributes, type, dims);
      bool split = llvm::any_of(dims, [](auto &names) { return !names.empty(); });
      bool sum = findRole(attributes) == Role::Gradient && grid.getSize(kData) > 1;
      if (split || sum)
        setSharding(function, i, makeSharding(dims, terms));
    }
  }

  using Dims = MutableArrayRef<SmallVector<StringRef>>;

  void splitAlongTensor(func::FuncOp function, DictionaryAttr attributes, RankedTensorType type,
                        Dims dims) {
    int64_t ranks = grid.getSize(kTensor);
    if (ranks == 1)
      return;
    auto matrix = columns.find(findMatrix(attributes));
    if (matrix != columns.end() && type.getRank() == 2 && type.getDimSize(matrix->second) >= ranks)
      dims[matrix->second].push_back(kTensor);
    if (findRole(attributes) != Role::KvCache)
      return;
    if (type.getDimSize(2) % ranks == 0)
      dims[2].push_back(kTensor);
    else
      remark::missed(function.getLoc(), remark::RemarkOpts::name("WholeCache")
                                            .category("sinter-sharding")
                                            .function(function.getName()))
          << remark::add("every rank has all of a KV cache and computes all of its attention: {0} "
                         "heads of keys do not divide over {1} ranks of the axis tensor",
                         type.getDimSize(2), ranks);
  }

  /// The matrix that a parameter is, or that a gradient or an optimizer's state is of
  /// ("adamw.m.<name>").
  StringRef findMatrix(DictionaryAttr attributes) const {
    StringRef name = getBoundName(attributes);
    if (isParameter(attributes))
      return name;
    std::optional<Role> role = findRole(attributes);
    bool follows = role == Role::Gradient || role == Role::Optimizer;
    for (size_t dot = follows ? name.find('.') : StringRef::npos; dot != StringRef::npos;
         dot = name.find('.', dot + 1))
      if (columns.contains(name.drop_front(dot + 1)))
        return name.drop_front(dot + 1);
    return {};
  }

  /// Splits rows, if each rank has one; returns whether every rank has a term instead.
  bool splitAlongData(DictionaryAttr attributes, RankedTensorType type, Dims dims) const {
    int64_t ranks = grid.getSize(kData);
    std::optional<Role> role = findRole(attributes);
    if (ranks == 1 || !role)
      return false;
    if (role == Role::Gradient && zero < 2)
      return true;
    bool wanted = (role == Role::Gradient) || (role == Role::Optimizer && zero >= 1) ||
                  (role == Role::Parameter && zero >= 3);
    if (wanted && type.getRank() > 0 && dims[0].empty() && type.getDimSize(0) >= ranks)
      dims[0].push_back(kData);
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  /// A state is split alike before a step and behind it.
  static void setSharding(func::FuncOp function, unsigned argument, ShardingAttr sharding) {
    function.setArgAttr(argument, SinterDialect::kSharding, sharding);
    auto name = function.getArgAttrOfType<StringAttr>(argument, SinterDialect::kState);
    for (unsigned i = 0; name && i < function.getNumResults(); ++i)
      if (function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState) == name)
        function.setResultAttr(i, SinterDialect::kSharding, sharding);
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
  llvm::StringMap<int64_t> columns; ///< of the matrices that are split along tensor, by name
};
} // namespace
