#include "compiler/Sharding/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_VERIFYSHARDINGPASS
#include "compiler/Sharding/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct VerifyShardingPass : sinter::impl::VerifyShardingPassBase<VerifyShardingPass> {
  using VerifyShardingPassBase::VerifyShardingPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    grid = GridAttr::lookup(getOperation());
    if (!grid)
      return;
    bool valid = true;
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (!function->hasAttr(SinterDialect::kEntry))
        continue;
      for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
        valid &= succeeded(verify(function, "argument", i, function.getArgAttrDict(i), type));
      for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
        valid &= succeeded(verify(function, "result", i, function.getResultAttrDict(i), type));
    }
    if (!valid)
      signalPassFailure();
  }

private:
  LogicalResult verify(func::FuncOp function, StringRef kind, unsigned index,
                       DictionaryAttr attributes, Type type) const {
    auto sharding = attributes ? attributes.getAs<ShardingAttr>(SinterDialect::kSharding) : nullptr;
    if (!sharding)
      return success();
    auto whole = attributes.getAs<TypeAttr>(SinterDialect::kWhole);
    if (whole && sharding.getLocalType(cast<RankedTensorType>(whole.getValue()), grid) == type)
      return success();
    return function.emitError("expected ")
           << kind << " " << index << " to be a rank's part of '" << SinterDialect::kWhole
           << "' after Sharding, got " << type;
  }

  GridAttr grid;
};
} // namespace
