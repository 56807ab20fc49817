#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Codegen/Cuda/TemplateInstance.h"
#include "compiler/Codegen/Cuda/Templates.h"

using namespace mlir;
using namespace sinter;

namespace {
/// A product as grouped.cuh sees it.
struct Grouped {
  int64_t m, n, k, groups;
  bool lhsTransposed, rhsTransposed, narrow;

  explicit Grouped(GroupedMatmulOp matmul)
      : m(matmul.getM()), n(matmul.getN()), k(matmul.getK()), groups(matmul.getGroups()),
        lhsTransposed(false), rhsTransposed(matmul.getTransposeRhs()), narrow(isNarrow(matmul)) {}
  explicit Grouped(GroupedOuterOp outer)
      : m(outer.getType().getDimSize(1)), n(outer.getType().getDimSize(2)),
        k(outer.getLhs().getType().getDimSize(0)), groups(outer.getType().getDimSize(0)),
        lhsTransposed(true), rhsTransposed(false), narrow(isNarrow(outer)) {}

  static bool isNarrow(Operation *op) {
    return getElementTypeOrSelf(op->getOperand(0)).getIntOrFloatBitWidth() == 16;
  }

  /// Up to two rows a group are few.
  bool isGemv() const { return rhsTransposed && m <= 2 * groups; }

  bool usesMatrices() const {
    return narrow && (lhsTransposed ? m : k) % 8 == 0 && (rhsTransposed ? k : n) % 8 == 0;
  }

  /// Large tiles where matrix instructions compute them and there are rows to fill them.
  int64_t getTile() const {
    return usesMatrices() && (lhsTransposed ? m : m / groups) >= 128 ? 128 : 64;
  }

  CudaLaunch getGemvLaunch() const {
    constexpr int64_t rows = 4, columns = 32, threads = 256;
    return {.grid = getMostTiles(rows) * llvm::divideCeilSigned(n, columns),
            .block = threads,
            .waits = true};
  }

  CudaLaunch getGemmLaunch() const {
    int64_t tile = getTile(), across = llvm::divideCeilSigned(n, tile);
    int64_t grid =
        across * (lhsTransposed ? groups * llvm::divideCeilSigned(m, tile) : getMostTiles(tile));
    if (!usesMatrices())
      return {grid, 256, 128 * (2 * tile + 8)};
    int64_t rowsOfK = 32 * (tile + 8), columnsOfK = 40 * tile;
    int64_t shared =
        6 * ((lhsTransposed ? rowsOfK : columnsOfK) + (rhsTransposed ? columnsOfK : rowsOfK));
    return {grid, tile == 64 ? 128 : 256, shared};
  }

private:
  /// Tiles of so many rows that all rows come to at the most.
  int64_t getMostTiles(int64_t rows) const { return std::min(m, m / rows + std::min(groups, m)); }
};
} // namespace

/// Checks that integers, or fp8, are as kernels read them: row by row, those of four bits in a
/// panel, with plain scales and minima of each row.
static LogicalResult checkIntegers(GroupedMatmulOp matmul) {
  RankedTensorType rhs = matmul.getRhs().getType();
  Type scale = getElementTypeOrSelf(matmul.getScales());
  bool pairs = rhs.getElementType().isInteger(4);
  if (!matmul.getTransposeRhs() || rhs.getEncoding() != (pairs ? getRowPanel(rhs) : Attribute()))
    return matmul.emitError("expected rows of integers, those of four bits in one panel, got ")
           << rhs;
  if (!scale.isF32() && !scale.isBF16() && !scale.isF16())
    return matmul.emitError("expected scales of f32, bf16 or f16, got ") << scale;
  if (matmul.getMinima() && !getElementTypeOrSelf(matmul.getMinima()).isF32())
    return matmul.emitError("expected minima of f32, got ") << matmul.getMinima().getType();
  return success();
}

FailureOr<CudaLaunch> sinter::instantiateGrouped(func::FuncOp kernel, func::FuncOp function,
                                                 const TargetAttr &, int64_t) {
  if (!llvm::hasSingleElement(kernel.front().without_terminator()))
    return kernel.emitError("expected a product of groups to be alone in its kernel");
  Operation *op = &kernel.front().front();
  Type element = getElementTypeOrSelf(op->getOperand(0));
  if (!element.isF32() && !element.isBF16() && !element.isF16())
    return op->emitError("expected operands of f32, bf16 or f16, got ") << element;
  auto matmul = dyn_cast<GroupedMatmulOp>(op);
  bool isOuter = !matmul, hasScales = matmul && matmul.getScales();
  if (Type other = getElementTypeOrSelf(op->getOperand(1)); !hasScales && other != element)
    return op->emitError("expected matrices of the rows' type, got ") << other;
  if (hasScales && failed(checkIntegers(matmul)))
    return failure();
  Grouped shape = isOuter ? Grouped(cast<GroupedOuterOp>(op)) : Grouped(matmul);

  bool isGemv = !isOuter && shape.isGemv();
  StringRef name = isOuter     ? "grouped_outer"
                   : hasScales ? (isGemv ? "grouped_gemv_integers" : "grouped_gemm_integers")
                   : isGemv    ? "grouped_gemv"
                               : "grouped_gemm";
  TemplateInstance instance(hasScales ? "grouped_integers" : "grouped", name, kernel.getContext());
  instance.set("Element", element);
  instance.set("Out", getElementTypeOrSelf(op->getResult(0)));
  instance.set("m", shape.m);
  instance.set("n", shape.n);
  instance.set("k", shape.k);
  instance.set("groups", shape.groups);
  if (!isGemv)
    instance.set("tile", shape.getTile());
  if (hasScales)
    instance.setIntegers(getElementTypeOrSelf(matmul.getRhs()),
                         getElementTypeOrSelf(matmul.getScales()), matmul.getGroup(),
                         static_cast<bool>(matmul.getMinima()));
  else if (!isGemv && !isOuter)
    instance.set("rhsTransposed", shape.rhsTransposed);
  SmallVector<Value> operands(op->getOperands());
  if (hasScales)
    operands = {matmul.getLhs(), matmul.getRhs(), matmul.getScales(), matmul.getMinima(),
                matmul.getOffsets()};
  for (Value operand : operands)
    instance.pass(operand ? std::optional(cast<BlockArgument>(operand).getArgNumber())
                          : std::nullopt);
  instance.pass(kernel.getNumArguments());
  instance.write(function, /*usesShared=*/!isGemv);
  return isGemv ? shape.getGemvLaunch() : shape.getGemmLaunch();
}
