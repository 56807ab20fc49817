#include "compiler/Autodiff/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_EXPANDLOSSESPASS
#include "compiler/Autodiff/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct ExpandLossesPass : sinter::impl::ExpandLossesPassBase<ExpandLossesPass> {
  using ExpandLossesPassBase::ExpandLossesPassBase;

  void runOnOperation() override {
    getOperation().walk([](LinearCrossEntropyOp op) {
      OpBuilder builder(op);
      op.expand(builder);
      op.erase();
    });
  }
};
} // namespace
