#include "compiler/Reference/Evaluator.h"
#include "compiler/Reference/Passes.h"
#include "dialects/Interfaces/Interfaces.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"

namespace sinter {
#define GEN_PASS_DEF_EVALUATEPASS
#include "compiler/Reference/Passes.h.inc"
} // namespace sinter

using namespace mlir;

namespace {
struct EvaluatePass : sinter::impl::EvaluatePassBase<EvaluatePass> {
  using EvaluatePassBase::EvaluatePassBase;

  void runOnOperation() override {
    // Checks report errors as they run; one error fails the pass.
    unsigned errors = 0;
    ScopedDiagnosticHandler counter(&getContext(), [&](Diagnostic &diagnostic) {
      errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
      return failure(); // let it be printed
    });
    for (auto candidate : getOperation().getOps<func::FuncOp>())
      if (!candidate.isDeclaration() && (function.empty() || candidate.getName() == function))
        evaluate(candidate);
    if (!function.empty() && !getOperation().lookupSymbol(function))
      getOperation().emitError("expected a function named ") << function;
    markAllAnalysesPreserved();
    if (errors)
      signalPassFailure();
  }

private:
  void evaluate(func::FuncOp candidate) {
    auto unknown = candidate.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (op->hasTrait<OpTrait::IsTerminator>() || isa<sinter::ReferenceOpInterface>(op))
        return WalkResult::advance();
      op->emitError("expected an op with a reference");
      return WalkResult::interrupt();
    });
    if (unknown.wasInterrupted())
      return;
    sinter::GeneratedInputs inputs;
    inputs.seed = seed;
    SmallVector<sinter::ReferenceTensor> arguments;
    for (unsigned i = 0; i < candidate.getNumArguments(); ++i)
      arguments.push_back(inputs.make(candidate, i));
    auto results = sinter::evaluateFunction(candidate, arguments);
    if (!print)
      return;
    for (auto [i, result] : llvm::enumerate(results)) {
      std::string text;
      llvm::raw_string_ostream stream(text);
      llvm::interleaveComma(result.data(), stream,
                            [&](double x) { stream << llvm::format("%.6g", x); });
      candidate.emitRemark("result ") << i << " = [" << text << "]";
    }
  }
};
} // namespace
