#include "compiler/Analysis/CommandInfo.h"
#include "compiler/Analysis/LibraryGemm.h"
#include "compiler/Families/CommandBuilder.h"
#include "compiler/Families/Families.h"

using namespace mlir;
using namespace sinter;

/// Room for the partial sums of a product whose contracted extent a GPU's library splits: one
/// result in f32 for each tile's depth, whole tiles, and no more than is of use. Partial sums
/// are made where there are fewer tiles than blocks that run at a time, so that of all splits
/// they are a tile a block at most: 128 x 128 x 4 bytes for two blocks on each of 132
/// multiprocessors are 17 MB, twice that with the largest tiles, which is the 32 MiB that the
/// vendor advises.
static int64_t getWorkspaceBytes(MatmulOp matmul) {
  constexpr int64_t kMost = int64_t(32) << 20, kTile = 128, kDepth = 64;
  int64_t partial = llvm::alignTo(matmul.getM(), kTile) * llvm::alignTo(matmul.getN(), kTile) *
                    static_cast<int64_t>(sizeof(float));
  return std::min(kMost, llvm::divideCeilSigned(matmul.getK(), kDepth) * partial);
}

static Type elementOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getElementType();
}

namespace {
struct LibraryGemmFamily : KernelFamily {
  LibraryGemmFamily() : KernelFamily(kLibraryGemmFamily) {}

  StringRef findObstacle(const OpSet &ops, Operation *) const override {
    std::optional<LibraryGemm> gemm = matchLibraryGemm(ops);
    return gemm && gemm->fitsLibrary() ? "" : "the library has no such product";
  }

  Cost getCost(const OpSet &ops, const CostModel &costs) const override {
    return costs.getFusedCost(ops, GemmChoice::Library);
  }

  bool isCommand() const override { return true; }

  LogicalResult lowerToCommand(FusionOp fusion, CommandBuilder &commands) const override {
    std::optional<LibraryGemm> gemm = matchLibraryGemm(getOps(*fusion.getBlock()));
    if (!gemm || !gemm->fitsLibrary())
      return fusion.emitError("expected one product and an epilogue of the library's post-ops");
    OpBuilder &builder = commands.getBuilder();
    auto sliceOf = [&](Value argument) {
      return commands.getSlice(fusion.getInputs()[cast<BlockArgument>(argument).getArgNumber()]);
    };
    MatmulOp matmul = gemm->matmul;
    int64_t n = matmul.getN(), k = matmul.getK();
    SmallVector<Value> extras;
    SmallVector<Attribute> postOps;
    for (const LibraryPostOp &postOp : gemm->postOps) {
      if (postOp.operand)
        extras.push_back(sliceOf(postOp.operand));
      bool row = postOp.kind == plan::PostOpKind::Bias;
      postOps.push_back(
          plan::PostOpAttr::get(fusion.getContext(), postOp.kind,
                                postOp.operand ? elementOf(postOp.operand) : builder.getF32Type(),
                                postOp.operand && !row ? n : 0));
    }
    int64_t rhsStride = matmul.getTransposeRhs() ? k : n;
    int64_t lhsStride = matmul.getTransposeLhs() ? matmul.getM() : k;
    Value workspace =
        plan::AllocOp::create(builder, fusion.getLoc(), plan::SliceType::get(fusion.getContext()),
                              getWorkspaceBytes(matmul));
    CommandInfo info = describeCommand(fusion, commands.getTarget());
    plan::GemmOp::create(builder, fusion.getLoc(), matmul.getM(), n, k, elementOf(matmul.getLhs()),
                         elementOf(gemm->result), lhsStride, rhsStride, /*out_stride=*/n,
                         elementOf(matmul.getRhs()) == elementOf(matmul.getLhs())
                             ? TypeAttr()
                             : TypeAttr::get(elementOf(matmul.getRhs())),
                         sliceOf(matmul.getLhs()), sliceOf(matmul.getRhs()),
                         matmul.getRowScales() ? sliceOf(matmul.getRowScales()) : Value(),
                         matmul.getRowScales() ? sliceOf(matmul.getScales()) : Value(), extras,
                         commands.makeSlice(fusion.getResult(0)), workspace,
                         builder.getArrayAttr(postOps), matmul.getTransposeLhs(),
                         matmul.getTransposeRhs(),
                         /*tf32=*/matmul.getTf32(), info.flops, info.narrowFlops, info.byteFlops,
                         info.nibbleFlops, info.bytes, info.sharedBytes, info.privateBytes,
                         info.predictedNs, info.label, info.layer, stringifyStage(info.stage));
    return success();
  }

  /// What the product is added to.
  bool mayOverwrite(FusionOp fusion, unsigned operand) const override {
    std::optional<LibraryGemm> gemm = matchLibraryGemm(getOps(*fusion.getBlock()));
    BlockArgument argument = fusion.getBlock()->getArgument(operand);
    return gemm && argument.hasOneUse() && argument.getType() == gemm->result.getType() &&
           llvm::any_of(gemm->postOps, [&](const LibraryPostOp &postOp) {
             return postOp.kind == plan::PostOpKind::Add && postOp.operand == argument;
           });
  }
};
} // namespace

const KernelFamily &sinter::getLibraryGemmFamily() {
  static const LibraryGemmFamily family;
  return family;
}
