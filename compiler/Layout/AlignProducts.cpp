#include "compiler/Analysis/CostModel.h"
#include "compiler/Analysis/FormatNs.h"
#include "compiler/Analysis/GainRemark.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Layout/Passes.h"
#include "dialects/Sinter/AdjointBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

namespace sinter {
#define GEN_PASS_DEF_ALIGNPRODUCTSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

/// A product of unaligned rows is reckoned to take so many times as long: its operands arrive an
/// element at a time. Not measured; padding a vocabulary of 50257 to a multiple of 64 is reported
/// to have made whole training steps of GPT-2 a quarter faster.
static constexpr double kUnalignedFactor = 2.0;

/// The value of which this is the part in front, or null.
static Value findPadded(Value value) {
  auto slice = value.getDefiningOp<SliceOp>();
  bool inFront =
      slice && llvm::all_of(slice.getOffsets(), [](int64_t offset) { return offset == 0; });
  return inFront ? slice.getOperand() : nullptr;
}

namespace {
/// Zeros that the extents of a product need: none where all of its rows are aligned.
struct Padding {
  int64_t m = 0, n = 0, k = 0;

  explicit Padding(MatmulOp matmul, int64_t vectorBytes) {
    int64_t unit = vectorBytes * 8 / typeOf(matmul.getLhs()).getElementTypeBitWidth();
    auto extra = [&](int64_t extent) {
      return static_cast<int64_t>(llvm::alignTo(extent, unit)) - extent;
    };
    // What lies side by side in memory: m of a transposed lhs, k of a plain one and of a transposed
    // rhs, n of a plain rhs and of the result.
    if (matmul.getTransposeLhs())
      m = extra(matmul.getM());
    if (!matmul.getTransposeLhs() || matmul.getTransposeRhs())
      k = extra(matmul.getK());
    n = extra(matmul.getN());
  }

  bool isNone() const { return m == 0 && n == 0 && k == 0; }
};

struct AlignProductsPass : sinter::impl::AlignProductsPassBase<AlignProductsPass> {
  using AlignProductsPassBase::AlignProductsPassBase;

  void runOnOperation() override {
    target = TargetAttr::lookup(getOperation());
    if (!target || target.readsPackedRhs())
      return markAllAnalysesPreserved();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        padded.clear();
        SmallVector<MatmulOp> matmuls;
        function.walk([&](MatmulOp matmul) {
          if (!matmul.getScales())
            matmuls.push_back(matmul);
        });
        for (MatmulOp matmul : matmuls)
          align(matmul);
      }
  }

private:
  void align(MatmulOp matmul) {
    Padding padding(matmul, target.getVectorBits() / 8);
    if (padding.isNone() || matmul.getM() <= kMostGemvRows || !(always || pays(matmul, padding)))
      return;
    bool lhsTransposed = matmul.getTransposeLhs(), rhsTransposed = matmul.getTransposeRhs();
    int64_t lhsK = lhsTransposed ? 0 : typeOf(matmul.getLhs()).getRank() - 1;
    Value lhs = pad(matmul.getLhs(), lhsK, padding.k);
    if (lhsTransposed)
      lhs = pad(lhs, 1, padding.m);
    Value rhs = pad(matmul.getRhs(), rhsTransposed ? 1 : 0, padding.k);
    rhs = pad(rhs, rhsTransposed ? 0 : 1, padding.n);

    RankedTensorType type = matmul.getType();
    SmallVector<int64_t> shape(type.getShape());
    shape.front() += padding.m;
    shape.back() += padding.n;
    OpBuilder builder(matmul);
    auto whole = cast<MatmulOp>(builder.clone(*matmul));
    whole.getLhsMutable().assign(lhs);
    whole.getRhsMutable().assign(rhs);
    whole.getResult().setType(type.clone(shape));
    Value part =
        AdjointBuilder(builder, matmul.getLoc())
            .slice(whole.getResult(), SmallVector<int64_t>(shape.size(), 0), type.getShape());
    matmul.getResult().replaceAllUsesWith(part);
    matmul.erase();
    sinkBelowSums(part);
  }

  /// Parts that are added up are added up whole, so that a product can still add to a sum.
  void sinkBelowSums(Value part) {
    while (part.hasOneUse()) {
      auto sum = dyn_cast<AddOp>(*part.user_begin());
      if (!sum)
        return;
      Value other = sum.getLhs() == part ? sum.getRhs() : sum.getLhs();
      Value whole = findPadded(part), otherWhole = findPadded(other);
      if (!otherWhole || otherWhole.getType() != whole.getType())
        return;
      OpBuilder builder(sum);
      bool first = sum.getLhs() == part;
      Value wholeSum = AddOp::create(builder, sum.getLoc(), whole.getType(),
                                     first ? whole : otherWhole, first ? otherWhole : whole);
      RankedTensorType type = sum.getType();
      Value rest = AdjointBuilder(builder, sum.getLoc())
                       .slice(wholeSum, SmallVector<int64_t>(type.getRank(), 0), type.getShape());
      sum.getResult().replaceAllUsesWith(rest);
      sum.erase();
      for (Value used : {part, other})
        if (used.use_empty())
          used.getDefiningOp()->erase();
      part = rest;
    }
  }

  /// The value with zeros behind it along `dim`, made once.
  Value pad(Value value, int64_t dim, int64_t extra) {
    if (extra == 0)
      return value;
    Value &made = padded[{value, dim}];
    if (!made) {
      OpBuilder builder(value.getContext());
      builder.setInsertionPointAfterValue(value);
      AdjointBuilder build(builder, value.getLoc());
      SmallVector<int64_t> shape(typeOf(value).getShape());
      shape[dim] = extra;
      made = build.concat({value, build.splat(shape, typeOf(value).getElementType(), 0.0)}, dim);
    }
    return made;
  }

  bool pays(MatmulOp matmul, const Padding &padding) {
    CostModel costs(target);
    llvm::SetVector<Operation *> alone;
    alone.insert(matmul);
    double launch = static_cast<double>(target.getLaunchNs());
    double product = costs.getFusedCost(alone, GemmChoice::Library).ns - launch;
    double copies = 0;
    auto addCopy = [&](Value operand, bool isPadded) {
      auto bytes = static_cast<double>(getStorageBytes(operand.getType()));
      if (isPadded)
        copies += launch + 2 * bytes / costs.getBandwidth(costs.getLevel(bytes, /*cold=*/false));
    };
    addCopy(matmul.getLhs(), padding.k + padding.m > 0);
    addCopy(matmul.getRhs(), padding.k + padding.n > 0);
    bool does = copies < (kUnalignedFactor - 1) * product;
    std::string text =
        llvm::formatv("a product of {0} rows, {1} columns and a depth of {2} has unaligned rows: "
                      "{3} so, {4} aligned",
                      matmul.getM(), matmul.getN(), matmul.getK(),
                      formatNs(kUnalignedFactor * product), formatNs(product + copies))
            .str();
    auto gain = remark::metric(kGainNs, (kUnalignedFactor - 1) * product - copies);
    auto options = remark::RemarkOpts::name(does ? "Aligned" : "NotAligned")
                       .category("sinter-layout")
                       .function(matmul->getParentOfType<func::FuncOp>().getName());
    if (does)
      remark::passed(matmul.getLoc(), options) << text << gain;
    else
      remark::missed(matmul.getLoc(), options) << text << gain;
    return does;
  }

  TargetAttr target;
  llvm::DenseMap<std::pair<Value, int64_t>, Value> padded;
};
} // namespace
