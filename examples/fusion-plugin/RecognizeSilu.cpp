//===- RecognizeSilu.cpp - Runs the patterns of RecognizeSilu.pdll ----------===//

#include "Passes.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace example {
#define GEN_PASS_DEF_RECOGNIZESILUPASS
#include "Passes.h.inc"
} // namespace example

using namespace mlir;

namespace {

#include "RecognizeSilu.pdll.h.inc"

struct RecognizeSiluPass : example::impl::RecognizeSiluPassBase<RecognizeSiluPass> {
  /// Patterns are compiled once, however many modules the pass then sees.
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    populateGeneratedPDLLPatterns(set);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    if (failed(applyPatternsGreedily(getOperation(), patterns)))
      signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};

} // namespace
