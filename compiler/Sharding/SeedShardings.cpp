#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/SetVector.h"

namespace sinter {
#define GEN_PASS_DEF_SEEDSHARDINGSPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

static constexpr StringLiteral kData = "data", kTensor = "tensor";

namespace {
struct SeedShardingsPass : sinter::impl::SeedShardingsPassBase<SeedShardingsPass> {
  using SeedShardingsPassBase::SeedShardingsPassBase;

  void runOnOperation() override {
    grid = GridAttr::lookup(getOperation());
    if (!grid)
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry) && failed(seed(function)))
        return signalPassFailure();
  }

private:
  LogicalResult seed(func::FuncOp function) {
    if (grid.getSize(kData) > 1)
      seedData(function);
    return grid.getSize(kTensor) > 1 ? seedTensor(function) : success();
  }

  //===--------------------------------------------------------------------===//
  // data
  //===--------------------------------------------------------------------===//

  void seedData(func::FuncOp function) {
    if (readsTokens(function))
      function->setAttr(kManualAxes, axes({kData}));
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      DictionaryAttr attributes = function.getArgAttrDict(i);
      auto role = attributes ? attributes.getAs<RoleAttr>(SinterDialect::kRole) : nullptr;
      RankedTensorType type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
      if (!role)
        continue;
      ShardingAttr rows = splits(type) ? makeSharding(type.getRank(), {{0, kData}}, {}) : nullptr;
      if (role.getValue() == Role::Gradient && zero < 2)
        setState(function, i, makeSharding(type.getRank(), {}, {kData}));
      else if (role.getValue() == Role::Gradient)
        setState(function, i, rows ? rows : makeSharding(type.getRank(), {}, {}));
      else if (rows && role.getValue() == Role::Optimizer && zero >= 1)
        setState(function, i, rows);
      else if (rows && role.getValue() == Role::Parameter && zero >= 3)
        setState(function, i, rows);
    }
  }

  static bool readsTokens(func::FuncOp function) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto name = function.getArgAttrOfType<StringAttr>(i, SinterDialect::kInput))
        if (name.getValue() == "tokens")
          return true;
    return false;
  }

  /// Whether a rank has a row of it at least.
  bool splits(RankedTensorType type) const {
    return type.getRank() > 0 && type.getDimSize(0) >= grid.getSize(kData);
  }

  /// A state is split alike before a step and behind it.
  void setState(func::FuncOp function, unsigned argument, ShardingAttr sharding) {
    if (function.getArgAttr(argument, SinterDialect::kSharding))
      return;
    function.setArgAttr(argument, SinterDialect::kSharding, sharding);
    auto name = function.getArgAttrOfType<StringAttr>(argument, SinterDialect::kState);
    for (unsigned i = 0; name && i < function.getNumResults(); ++i)
      if (function.getResultAttrOfType<StringAttr>(i, SinterDialect::kState) == name)
        function.setResultAttr(i, SinterDialect::kSharding, sharding);
  }

  //===--------------------------------------------------------------------===//
  // tensor
  //===--------------------------------------------------------------------===//

  LogicalResult seedTensor(func::FuncOp function) {
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      DictionaryAttr attributes = function.getArgAttrDict(i);
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      auto role = attributes ? attributes.getAs<RoleAttr>(SinterDialect::kRole) : nullptr;
      if (role && role.getValue() != Role::KvCache)
        return function.emitError("training cannot be split along the axis tensor yet");
      if (role)
        seedCache(function, i, type);
      if (attributes && attributes.contains(SinterDialect::kParameter))
        if (std::optional<int64_t> dim = findColumns(argument);
            dim && type.getDimSize(*dim) >= grid.getSize(kTensor))
          function.setArgAttr(i, SinterDialect::kSharding,
                              makeSharding(type.getRank(), {{*dim, kTensor}}, {}));
    }
    return success();
  }

  void seedCache(func::FuncOp function, unsigned argument, RankedTensorType type) {
    int64_t heads = type.getDimSize(2), ranks = grid.getSize(kTensor);
    if (heads % ranks == 0)
      return setState(function, argument, makeSharding(type.getRank(), {{2, kTensor}}, {}));
    remark::missed(function.getLoc(), remark::RemarkOpts::name("WholeCache")
                                          .category("sinter-sharding")
                                          .function(function.getName()))
        << remark::add("every rank has all of a KV cache and computes all of its attention: {0} "
                       "heads of keys do not divide over {1} ranks of the axis tensor",
                       heads, ranks);
  }

  /// The dimension of a matrix that is the columns of the products that read it, through casts and
  /// transposes; nothing where something else reads it, too.
  static std::optional<int64_t> findColumns(Value matrix) {
    std::optional<int64_t> found;
    if (typeOf(matrix).getRank() != 2)
      return std::nullopt;
    for (OpOperand &use : matrix.getUses()) {
      std::optional<int64_t> dim;
      Operation *user = use.getOwner();
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

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  ArrayAttr axes(ArrayRef<StringRef> names) {
    return Builder(&getContext()).getStrArrayAttr(names);
  }

  ShardingAttr makeSharding(int64_t rank, ArrayRef<std::pair<int64_t, StringRef>> split,
                            ArrayRef<StringRef> unreduced) {
    SmallVector<Attribute> dims(rank, axes({}));
    for (auto [dim, axis] : split)
      dims[dim] = axes({axis});
    return ShardingAttr::get(&getContext(), ArrayAttr::get(&getContext(), dims),
                             unreduced.empty() ? nullptr : axes(unreduced));
  }

  GridAttr grid;
};
} // namespace
