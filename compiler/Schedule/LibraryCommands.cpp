#include "compiler/Schedule/LibraryCommands.h"

using namespace mlir;
using namespace sinter;

static LogicalResult refuse(std::string &reason, const Twine &text) {
  reason = ("expected " + text).str();
  return failure();
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// GEMM
//===----------------------------------------------------------------------===//

/// The argument that a value is, under another shape or, where `casts`, another type. Null if it
/// is something else.
static BlockArgument getArgument(Value value, bool casts) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<ReshapeOp>(op) && !(casts && isa<CastOp>(op)))
      return nullptr;
    value = op->getOperand(0);
  }
  return cast<BlockArgument>(value);
}

/// The argument of n elements that a value repeats in each row, or null.
static BlockArgument getRowArgument(Value value, int64_t n) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      ArrayRef<int64_t> dims = broadcast.getDims();
      bool row = dims.size() == 1 && dims[0] == typeOf(value).getRank() - 1;
      if (!row || typeOf(broadcast.getOperand()).getNumElements() != n)
        return nullptr;
      return getArgument(broadcast.getOperand(), /*casts=*/true);
    }
    if (!isa<ReshapeOp, CastOp>(op) || typeOf(value).getShape().empty() ||
        typeOf(value).getShape().back() != n)
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

namespace {
/// Follows the product from the matmul to the terminator, collecting post-ops.
class EpilogueMatcher {
public:
  EpilogueMatcher(LibraryGemm &gemm, std::string &reason) : gemm(gemm), reason(reason) {}

  LogicalResult match(Value product) {
    while (true) {
      if (!product.hasOneUse())
        return refuse(reason, "each step of the epilogue to be used once");
      OpOperand &use = *product.use_begin();
      if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        break;
      if (failed(matchStep(use)))
        return failure();
      product = use.getOwner()->getResult(0);
    }
    gemm.outType = typeOf(product).getElementType();
    return success();
  }

private:
  LogicalResult matchStep(OpOperand &use) {
    using plan::PostOpKind;
    Operation *op = use.getOwner();
    if (isa<ReshapeOp>(op))
      return success();
    if (cast)
      return refuse(reason, "nothing after the cast of the product");
    if (isa<CastOp>(op)) {
      cast = true;
      return success();
    }
    if (auto gelu = dyn_cast<GeluOp>(op))
      return add(gelu.getTanh() ? PostOpKind::GeluTanh : PostOpKind::Gelu);
    if (isa<SiluOp>(op))
      return add(PostOpKind::Silu);
    if (isa<ReluOp>(op))
      return add(PostOpKind::Relu);
    if (isa<AddOp, MulOp>(op))
      return matchBinary(op, op->getOperand(1 - use.getOperandNumber()));
    return refuse(reason, "an epilogue of post-ops, got " + op->getName().getStringRef());
  }

  LogicalResult matchBinary(Operation *op, Value other) {
    if (BlockArgument row = isa<AddOp>(op) ? getRowArgument(other, gemm.n) : nullptr)
      return add(plan::PostOpKind::Bias, row);
    BlockArgument argument = getArgument(other, /*casts=*/true);
    if (!argument || typeOf(argument).getEncoding() ||
        typeOf(argument).getNumElements() != gemm.m * gemm.n)
      return refuse(reason, "the other operand of " + op->getName().getStringRef() +
                                " to be an argument, a row or of the product's size");
    return add(isa<AddOp>(op) ? plan::PostOpKind::Add : plan::PostOpKind::Multiply, argument);
  }

  LogicalResult add(plan::PostOpKind kind, BlockArgument argument = nullptr) {
    Type dtype = argument ? typeOf(argument).getElementType() : gemm.dtype;
    int64_t stride = argument && kind != plan::PostOpKind::Bias ? gemm.n : 0;
    gemm.postOps.push_back(plan::PostOpAttr::get(dtype.getContext(), kind, dtype, stride));
    if (argument)
      gemm.extras.push_back(argument);
    return success();
  }

  LibraryGemm &gemm;
  std::string &reason;
  bool cast = false;
};
} // namespace

FailureOr<LibraryGemm> sinter::matchLibraryGemm(Block &block, std::string &reason) {
  auto matmuls = block.getOps<MatmulOp>();
  if (!llvm::hasSingleElement(matmuls) || block.getTerminator()->getNumOperands() != 1)
    return refuse(reason, "one matmul and one result");
  MatmulOp matmul = *matmuls.begin();
  LibraryGemm gemm;
  gemm.m = matmul.getM();
  gemm.n = matmul.getN();
  gemm.k = matmul.getK();
  gemm.dtype = typeOf(matmul.getLhs()).getElementType();
  gemm.lhs = getArgument(matmul.getLhs(), /*casts=*/false);
  gemm.rhs = dyn_cast<BlockArgument>(matmul.getRhs());
  if (!gemm.lhs || !gemm.rhs || matmul.getTransposeRhs() ||
      !isa_and_nonnull<PanelsAttr>(typeOf(gemm.rhs).getEncoding()))
    return refuse(reason, "a matmul of two arguments, the second in panels");
  if (!gemm.dtype.isF32() && !gemm.dtype.isBF16())
    return refuse(reason, "a matmul of f32 or bf16");
  if (failed(EpilogueMatcher(gemm, reason).match(matmul)))
    return failure();
  return gemm;
}

//===----------------------------------------------------------------------===//
// Pack
//===----------------------------------------------------------------------===//

namespace {
/// Follows a matrix from the pack back to the arguments.
class PackMatcher {
public:
  PackMatcher(PackCommand &pack, std::string &reason) : pack(pack), reason(reason) {}

  /// The box of `value` at `row` and `column`, of `rows` by `columns`; transposed boxes hold
  /// columns of the packed matrix in their rows.
  LogicalResult match(Value value, bool transposed, int64_t row, int64_t column, int64_t rows,
                      int64_t columns) {
    Operation *op = value.getDefiningOp();
    if (!op || isa<ReshapeOp>(op))
      return matchMatrix(value, transposed, row, column, rows, columns);
    if (typeOf(op->getOperand(0)).getRank() != 2)
      return refuse(reason, "matrices to be packed");
    if (isa<CastOp>(op)) {
      if (failed(checkCast(cast<CastOp>(op))))
        return failure();
      return match(op->getOperand(0), transposed, row, column, rows, columns);
    }
    if (isa<TransposeOp>(op))
      return match(op->getOperand(0), !transposed, column, row, columns, rows);
    if (auto slice = dyn_cast<SliceOp>(op))
      return match(slice.getOperand(), transposed, row + slice.getOffsets()[0],
                   column + slice.getOffsets()[1], rows, columns);
    auto concat = dyn_cast<ConcatOp>(op);
    if (!concat || typeOf(concat).getShape() != ArrayRef<int64_t>{rows, columns})
      return refuse(reason, "slices, transposes, casts and concatenations before the pack, got " +
                                op->getName().getStringRef());
    if (concat.getDim() != (transposed ? 0 : 1))
      return refuse(reason, "columns of the packed matrix to be concatenated");
    for (Value operand : concat.getOperands())
      if (failed(match(operand, transposed, 0, 0, typeOf(operand).getDimSize(0),
                       typeOf(operand).getDimSize(1))))
        return failure();
    return success();
  }

private:
  /// A cast that is not the last one must not lose what the last one would keep.
  LogicalResult checkCast(CastOp op) {
    Type from = typeOf(op.getOperand()).getElementType(), to = typeOf(op).getElementType();
    if (to != pack.dtype && to.getIntOrFloatBitWidth() <= from.getIntOrFloatBitWidth())
      return refuse(reason, "no narrowing cast before the last one");
    return success();
  }

  LogicalResult matchMatrix(Value value, bool transposed, int64_t row, int64_t column, int64_t rows,
                            int64_t columns) {
    BlockArgument argument = getArgument(value, /*casts=*/false);
    RankedTensorType type = typeOf(value);
    if (!argument || type.getRank() != 2 || typeOf(argument).getEncoding())
      return refuse(reason, "dense arguments to be packed");
    int64_t stride = type.getDimSize(1);
    int64_t width = type.getElementTypeBitWidth() / 8;
    pack.sources.push_back(
        {argument, (row * stride + column) * width, ((rows - 1) * stride + columns) * width,
         plan::PackSourceAttr::get(value.getContext(), type.getElementType(),
                                   transposed ? rows : columns, stride, transposed)});
    return success();
  }

  PackCommand &pack;
  std::string &reason;
};
} // namespace

FailureOr<PackCommand> sinter::matchPack(Block &block, std::string &reason) {
  if (block.getTerminator()->getNumOperands() != 1)
    return refuse(reason, "one result");
  auto op = block.getTerminator()->getOperand(0).getDefiningOp<PackOp>();
  auto panels = op ? dyn_cast<PanelsAttr>(op.getType().getEncoding()) : nullptr;
  if (!panels)
    return refuse(reason, "a result in panels");
  PackCommand pack;
  pack.k = op.getType().getDimSize(0);
  pack.n = op.getType().getDimSize(1);
  pack.dtype = op.getType().getElementType();
  pack.panels = panels;
  if (failed(PackMatcher(pack, reason).match(op.getOperand(), false, 0, 0, pack.k, pack.n)))
    return failure();
  return pack;
}
