#include "compiler/Codegen/Cpu/InnermostLoops.h"
#include "compiler/Codegen/Cpu/Passes.h"
#include "mlir/Dialect/SCF/Utils/Utils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

namespace sinter {
#define GEN_PASS_DEF_UNROLLLOOPSPASS
#include "compiler/Codegen/Cpu/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// Steps of a loop with constant bounds, or nothing.
static std::optional<int64_t> getSteps(scf::ForOp loop) {
  APInt lower, upper, step;
  if (!matchPattern(loop.getLowerBound(), m_ConstantInt(&lower)) ||
      !matchPattern(loop.getUpperBound(), m_ConstantInt(&upper)) ||
      !matchPattern(loop.getStep(), m_ConstantInt(&step)))
    return std::nullopt;
  return llvm::divideCeil((upper - lower).getSExtValue(), step.getSExtValue());
}

namespace {
struct UnrollLoopsPass : sinter::impl::UnrollLoopsPassBase<UnrollLoopsPass> {
  using UnrollLoopsPassBase::UnrollLoopsPassBase;

  void runOnOperation() override {
    InnermostLoops innermost(getOperation());
    if (!innermost.target)
      return markAllAnalysesPreserved();
    auto options = remark::RemarkOpts::name("UnrollLoops").category("sinter-codegen");
    for (scf::ForOp loop : innermost.loops) {
      StringRef kernel = loop->getParentOfType<func::FuncOp>().getName();
      Location loc = loop.getLoc();
      std::string reason;
      int64_t factor = chooseFactor(loop, innermost.target, reason);
      if (factor == 1) {
        remark::missed(loc, options.function(kernel)) << "a loop is not unrolled: " + reason;
        continue;
      }
      if (succeeded(loopUnrollByFactor(loop, factor)))
        remark::passed(loc, options.function(kernel)) << "unrolled by " + std::to_string(factor);
    }
  }

private:
  /// How many steps become one: as many as the registers hold values for, and a loop of few steps
  /// altogether.
  static int64_t chooseFactor(scf::ForOp loop, const TargetAttr &target, std::string &reason) {
    std::optional<int64_t> steps = getSteps(loop);
    int64_t vectors = 0, operations = 0;
    for (Operation &op : loop.getBody()->without_terminator()) {
      if (op.getNumRegions() != 0) {
        reason = "it branches inside";
        return 1;
      }
      // A function is a polynomial of some twenty operations.
      operations += isa<math::MathDialect>(op.getDialect()) ? 20 : 1;
      vectors += isa<vector::LoadOp, vector::StoreOp>(op);
    }
    if (!loop.getRegionIterArgs().empty()) {
      reason = "it sums in several accumulators already";
      return 1;
    }
    if (vectors == 0) {
      reason = "it is not in vectors";
      return 1;
    }
    if (!steps || *steps < 2) {
      reason = "it has one step";
      return 1;
    }
    int64_t largest =
        std::max<int64_t>(1, std::min<int64_t>(target.getRegisters() / 8, 64 / operations));
    // Only a divisor: a remainder would be one more loop for a handful of steps.
    for (int64_t factor = largest; factor > 1; --factor)
      if (*steps % factor == 0)
        return factor;
    reason = largest == 1 ? "its body is large" : "no small factor divides its steps";
    return 1;
  }
};
} // namespace
