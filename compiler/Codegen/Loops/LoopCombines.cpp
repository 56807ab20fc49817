#include "compiler/Codegen/Loops/LoopCombines.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

std::optional<SmallVector<Operation *>> sinter::findCombines(scf::ForOp loop) {
  SmallVector<Operation *> combines;
  auto yield = cast<scf::YieldOp>(loop.getBody()->getTerminator());
  for (auto [carried, next] : llvm::zip_equal(loop.getRegionIterArgs(), yield.getOperands())) {
    Operation *combine = next.getDefiningOp();
    if (!combine || !isa<arith::AddFOp, arith::MaximumFOp>(combine) || !carried.hasOneUse() ||
        !next.hasOneUse() || *carried.user_begin() != combine)
      return std::nullopt;
    combines.push_back(combine);
  }
  return combines;
}
