#include "compiler/Precision/Passes.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_QUANTIZEACTIVATIONSPASS
#include "compiler/Precision/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct QuantizeActivationsPass
    : sinter::impl::QuantizeActivationsPassBase<QuantizeActivationsPass> {
  using QuantizeActivationsPassBase::QuantizeActivationsPassBase;

  void runOnOperation() override {
    if (activations != "int8" && activations != "fp8") {
      getOperation().emitError("expected activations of int8 or fp8, got ")
          << activations.getValue();
      return signalPassFailure();
    }
    element = IntegerType::get(&getContext(), 8);
    if (activations == "fp8")
      element = Float8E4M3FNType::get(&getContext());
    TargetAttr target = TargetAttr::lookup(getOperation());
    sumsGroups = activations == "int8" && target && target.readsPackedRhs();
    for (auto entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(SinterDialect::kEntry))
        quantizeIn(entry);
  }

private:
  void quantizeIn(func::FuncOp entry) {
    llvm::DenseMap<Value, QuantizeOp> quantized;
    unsigned products = 0;
    for (auto matmul : llvm::to_vector(entry.getOps<MatmulOp>())) {
      if (!matmul.getScales() || matmul.getRowScales())
        continue;
      if (std::string reason = getReasonToRefuse(matmul); !reason.empty()) {
        remark::missed(matmul.getLoc(), remark::RemarkOpts::name("ActivationsNotQuantized")
                                            .category("sinter-precision")
                                            .function(entry.getName()))
            << llvm::formatv("a product multiplies numbers: {0}", reason).str();
        continue;
      }
      QuantizeOp &rows = quantized[matmul.getLhs()];
      if (!rows)
        rows = quantize(matmul);
      matmul.getLhsMutable().assign(rows.getRounded());
      matmul.getRowScalesMutable().assign(rows.getScales());
      ++products;
    }
    if (products > 0)
      remark::passed(entry.getLoc(), remark::RemarkOpts::name("ActivationsQuantized")
                                         .category("sinter-precision")
                                         .function(entry.getName()))
          << llvm::formatv("{0} products of {1} multiply {2}: rows of {3} values are rounded to it",
                           products, entry.getName(), activations.getValue(), quantized.size())
                 .str();
  }

  std::string getReasonToRefuse(MatmulOp matmul) {
    auto scales = cast<RankedTensorType>(matmul.getScales().getType());
    Type weights = getElementTypeOrSelf(matmul.getRhs());
    bool hasScaleOfColumns = scales.getDimSize(matmul.getTransposeRhs() ? 0 : 1) == matmul.getN();
    bool isOneSum = weights == element && !matmul.getMinima() && hasScaleOfColumns &&
                    matmul.getGroup() == matmul.getK();
    // Processors sum the integers of each group, of which as many are multiplied together.
    constexpr int64_t kBytesOfWord = 4;
    bool isSumOfGroups =
        sumsGroups && isa<IntegerType>(weights) && hasScaleOfColumns &&
        (matmul.getGroup() % kBytesOfWord == 0 || matmul.getGroup() == matmul.getK());
    if (!isOneSum && !isSumOfGroups)
      return sumsGroups ? "its weights are no integers in groups of whole words"
                        : "its weights are no " + activations.getValue() + " with a scale a column";
    if (weights.isInteger(8) && matmul.getGroup() > MatmulOp::kMostSummedBytes)
      return "its sums might overflow";
    return {};
  }

  /// The rows of a product's left-hand side, where they are defined.
  QuantizeOp quantize(MatmulOp matmul) {
    TypedValue<RankedTensorType> lhs = matmul.getLhs();
    SmallVector<int64_t> rows(lhs.getType().getShape());
    rows.back() = 1;
    OpBuilder builder(matmul);
    builder.setInsertionPointAfterValue(lhs);
    return QuantizeOp::create(builder, matmul.getLoc(), lhs.getType().clone(element),
                              RankedTensorType::get(rows, builder.getF32Type()), lhs);
  }

  Type element;            ///< of rows, and of weights with a scale a column
  bool sumsGroups = false; ///< whether integers may have a scale a group, and minima
};
} // namespace
