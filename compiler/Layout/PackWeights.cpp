#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Analysis/WeightValues.h"
#include "compiler/Layout/Passes.h"
#include "compiler/Layout/TransposeMatrix.h"
#include "dialects/Sinter/SinterDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace sinter {
#define GEN_PASS_DEF_PACKWEIGHTSPASS
#include "compiler/Layout/Passes.h.inc"
} // namespace sinter

using namespace mlir;
using namespace sinter;

namespace {
struct PackWeightsPass : sinter::impl::PackWeightsPassBase<PackWeightsPass> {
  using PackWeightsPassBase::PackWeightsPassBase;

  void runOnOperation() override {
    target = TargetAttr::lookup(getOperation());
    bool panels = !target || target.readsPackedRhs();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function->hasAttr(SinterDialect::kEntry)) {
        function.walk([&](MatmulOp matmul) {
          if (!panels)
            return packRows(matmul.getRhsMutable());
          packLhs(matmul);
          packRhs(matmul);
        });
        if (panels)
          packGroups(function);
        else
          function.walk([&](GroupedMatmulOp matmul) { packRows(matmul.getRhsMutable()); });
      }
  }

private:
  /// The matrix in panels, for a product. One that is done again is not to keep the panels of the
  /// first one alive.
  Value pack(OpBuilder &builder, MatmulOp matmul, Value matrix) {
    auto type = cast<RankedTensorType>(matrix.getType());
    PanelsAttr panels = getPanels(type.getElementType(), target);
    if (type.getElementTypeBitWidth() <= 8)
      panels = isOneSumOfBytes(matmul) ? getBytePanels(&getContext(), target) : getPanelsOf(matrix);
    else if (matmul.getScales())
      panels = getScaledPanels(&getContext(), target);
    return pack(builder, matmul, matrix, panels);
  }

  /// Those of integers: of bytes that are sixteen values alone, their codes.
  PanelsAttr getPanelsOf(Value integers) {
    DenseI8ArrayAttr values = findCodeValues(integers);
    PanelsAttr codes = values ? getCodePanels(values, target) : nullptr;
    return codes ? codes : getIntegerPanels(getElementTypeOrSelf(integers), target);
  }

  static Value pack(OpBuilder &builder, Operation *product, Value matrix, PanelsAttr panels) {
    auto type = cast<RankedTensorType>(matrix.getType());
    auto packed = RankedTensorType::get(type.getShape(), type.getElementType(), panels);
    auto pack = PackOp::create(builder, product->getLoc(), packed, matrix);
    if (Attribute again = product->getAttr(SinterDialect::kRecompute))
      pack->setAttr(SinterDialect::kRecompute, again);
    return pack;
  }

  /// Pairs of 16-bit numbers are neighbours along k, which they are not in the rows of a transposed
  /// lhs: it is packed, or, for a matrix unit, which takes rows along k, turned. Kernels read f32
  /// there as it is.
  void packLhs(MatmulOp matmul) {
    RankedTensorType type = matmul.getLhs().getType();
    if (!matmul.getTransposeLhs() || type.getEncoding() || type.getElementTypeBitWidth() != 16)
      return;
    OpBuilder builder(matmul);
    bool turns =
        type.getElementType().isBF16() && target && hasTileDot(target) && matmul.getK() % 2 == 0;
    if (!turns) {
      matmul.getLhsMutable().assign(pack(builder, matmul, matmul.getLhs()));
      return;
    }
    Value rows = transposeMatrix(builder, matmul.getLoc(), matmul.getLhs());
    if (Attribute again = matmul->getAttr(SinterDialect::kRecompute))
      rows.getDefiningOp()->setAttr(SinterDialect::kRecompute, again);
    matmul.getLhsMutable().assign(rows);
    matmul.setTransposeLhs(false);
  }

  void packRhs(MatmulOp matmul) {
    Value rhs = matmul.getRhs();
    if (cast<RankedTensorType>(rhs.getType()).getEncoding() || makesPanels(matmul))
      return;
    OpBuilder builder(matmul);
    bool turned = matmul.getTransposeRhs();
    auto packed = [&](Value matrix) {
      return pack(builder, matmul,
                  turned ? transposeMatrix(builder, matmul.getLoc(), matrix) : matrix);
    };
    matmul.getRhsMutable().assign(packed(rhs));
    if (Value scales = matmul.getScales())
      matmul.getScalesMutable().assign(packed(scales));
    if (Value minima = matmul.getMinima())
      matmul.getMinimaMutable().assign(packed(minima));
    matmul.setTransposeRhs(false);
  }

  /// Matrices as one of all of their rows, which is what a file's are stacked from.
  static Value joinRows(OpBuilder &builder, Value matrices, RankedTensorType type) {
    if (auto cast = matrices.getDefiningOp<CastOp>()) {
      Type element = getElementTypeOrSelf(cast.getOperand());
      Value rows = joinRows(builder, cast.getOperand(), type.clone(element));
      return CastOp::create(builder, cast.getLoc(), type, rows);
    }
    if (auto concat = matrices.getDefiningOp<ConcatOp>(); concat && concat.getDim() == 0) {
      auto rows = llvm::map_to_vector(concat.getOperands(), [&](Value some) {
        ArrayRef<int64_t> shape = cast<RankedTensorType>(some.getType()).getShape();
        return joinRows(builder, some, type.clone({shape[0] * shape[1], shape[2]}));
      });
      return ConcatOp::create(builder, concat.getLoc(), type, rows, /*dim=*/0);
    }
    auto reshape = matrices.getDefiningOp<ReshapeOp>();
    if (reshape && reshape.getOperand().getType() == type)
      return reshape.getOperand();
    return ReshapeOp::create(builder, matrices.getLoc(), type, matrices);
  }

  /// Matrices `[g, n, k]` of more columns: the first ones once more, which are integers that there
  /// are.
  static Value addColumns(OpBuilder &builder, Value matrices, int64_t columns) {
    SmallVector<Value> parts{matrices};
    auto type = cast<RankedTensorType>(matrices.getType());
    SmallVector<int64_t> shape(type.getShape());
    for (int64_t missing = columns - shape[1]; missing > 0; missing -= shape[1]) {
      shape[1] = std::min(missing, type.getDimSize(1));
      parts.push_back(builder.createOrFold<SliceOp>(matrices.getLoc(), type.clone(shape), matrices,
                                                    ArrayRef<int64_t>{0, 0, 0}));
    }
    shape[1] = columns;
    return ConcatOp::create(builder, matrices.getLoc(), type.clone(shape), parts, /*dim=*/1);
  }

  /// Matrices `[g, n, k]` as `[g, k, n]` in panels.
  static Value packMatrices(OpBuilder &builder, Value matrices, PanelsAttr panels) {
    auto type = cast<RankedTensorType>(matrices.getType());
    int64_t groups = type.getDimSize(0), n = type.getDimSize(1), k = type.getDimSize(2);
    Value all = joinRows(builder, matrices, type.clone({groups * n, k}));
    Value columns = TransposeOp::create(builder, matrices.getLoc(), type.clone({k, groups * n}),
                                        all, ArrayRef<int64_t>{1, 0});
    auto packed = RankedTensorType::get({groups, k, n}, type.getElementType(), panels);
    return PackOp::create(builder, matrices.getLoc(), packed, columns);
  }

  /// The matrices of groups, where they are made once, in whole panels. Those of a step that trains
  /// its kernels read as they are.
  void packGroups(func::FuncOp function) {
    llvm::DenseSet<Value> constants = findParameterValues(function);
    function.walk([&](GroupedMatmulOp matmul) {
      Value rhs = matmul.getRhs();
      auto type = cast<RankedTensorType>(rhs.getType());
      PanelsAttr panels =
          matmul.getScales() ? getPanelsOf(rhs) : getPanels(type.getElementType(), target);
      if (!constants.contains(rhs) || type.getEncoding() || !matmul.getTransposeRhs())
        return;
      OpBuilder builder(matmul);
      int64_t n = matmul.getN(), columns = llvm::alignTo(n, panels.getWidth());
      auto packed = [&](Value matrices, PanelsAttr layout) {
        return packMatrices(
            builder, columns > n ? addColumns(builder, matrices, columns) : matrices, layout);
      };
      PanelsAttr scaled = getScaledPanels(&getContext(), target);
      matmul.getRhsMutable().assign(packed(rhs, panels));
      if (Value scales = matmul.getScales())
        matmul.getScalesMutable().assign(packed(scales, scaled));
      if (Value minima = matmul.getMinima())
        matmul.getMinimaMutable().assign(packed(minima, scaled));
      matmul.setTransposeRhs(false);
      if (columns == n)
        return;
      builder.setInsertionPointAfter(matmul);
      RankedTensorType result = matmul.getType();
      matmul.getResult().setType(result.clone({matmul.getM(), columns}));
      auto own = SliceOp::create(builder, matmul.getLoc(), result, matmul.getResult(),
                                 ArrayRef<int64_t>{0, 0});
      matmul.getResult().replaceAllUsesExcept(own, own);
    });
  }

  /// Of all that a GPU multiplies by, integers of four bits alone lie otherwise than a tensor: two
  /// a byte.
  void packRows(OpOperand &rhs) {
    auto type = cast<RankedTensorType>(rhs.get().getType());
    if (!type.getElementType().isInteger(4) || type.getEncoding())
      return;
    OpBuilder builder(rhs.getOwner());
    rhs.set(pack(builder, rhs.getOwner(), rhs.get(), getRowPanel(type)));
  }

  TargetAttr target;
};
} // namespace
