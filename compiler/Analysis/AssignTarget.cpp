#include "compiler/Analysis/Passes.h"
#include "compiler/Analysis/Target.h"

namespace sinter {
#define GEN_PASS_DEF_ASSIGNTARGETPASS
#include "compiler/Analysis/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct AssignTargetPass : sinter::impl::AssignTargetPassBase<AssignTargetPass> {
  using AssignTargetPassBase::AssignTargetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<SinterDialect>();
  }

  void runOnOperation() override {
    auto described = parseTarget(&getContext(), target, cores);
    if (!described) {
      getOperation().emitError(described.error().message());
      return signalPassFailure();
    }
    getOperation()->setAttr(SinterDialect::kTarget, *described);
  }
};
} // namespace
