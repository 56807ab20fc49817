#include "compiler/Codegen/Loops/StridedInput.h"

using namespace mlir;
using namespace sinter;

static SmallVector<int64_t> rowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

/// Rewrites a view of a slice's result into one of its operand. The view's dimensions must each
/// lie inside one dimension of the result; then their strides scale like that dimension's.
static LogicalResult throughSlice(SliceOp slice, ArrayRef<int64_t> extents, StridedInput &view) {
  ArrayRef<int64_t> shape = slice.getType().getShape();
  SmallVector<int64_t> from = rowMajorStrides(shape);
  SmallVector<int64_t> to = rowMajorStrides(slice.getOperand().getType().getShape());
  // Where each dimension of the result is read: from the offset on, `reach` further.
  SmallVector<int64_t> index(shape.size()), reach(shape.size(), 0);
  int64_t rest = view.offset;
  for (size_t j = 0; j < shape.size(); ++j) {
    index[j] = rest / from[j];
    rest %= from[j];
  }
  for (auto [extent, stride] : llvm::zip_equal(extents, view.strides)) {
    if (extent == 1)
      continue;
    size_t j = 0;
    while (j < shape.size() && (from[j] > stride || shape[j] == 1))
      ++j;
    if (j == shape.size() || stride % from[j] != 0 || stride * (extent - 1) >= from[j] * shape[j])
      return failure();
    reach[j] += stride / from[j] * (extent - 1);
    stride = stride / from[j] * to[j];
  }
  view.offset = 0;
  for (size_t j = 0; j < shape.size(); ++j) {
    if (index[j] + reach[j] >= shape[j])
      return failure();
    view.offset += (index[j] + slice.getOffsets()[j]) * to[j];
  }
  return success();
}

/// Moves `value` up to what no op `inside` makes; stops at an op through which it is not strided.
static LogicalResult follow(Value &value, StridedInput &view,
                            llvm::function_ref<bool(Operation *)> inside) {
  ArrayRef<int64_t> extents = cast<RankedTensorType>(value.getType()).getShape();
  view.strides = rowMajorStrides(extents);
  for (Operation *op = value.getDefiningOp(); op && inside(op); op = value.getDefiningOp()) {
    auto slice = dyn_cast<SliceOp>(op);
    if (!isa<ReshapeOp>(op) && (!slice || failed(throughSlice(slice, extents, view))))
      return failure();
    value = op->getOperand(0);
  }
  return success();
}

FailureOr<StridedInput> StridedInput::foresee(Value value,
                                              llvm::function_ref<bool(Operation *)> inside) {
  StridedInput view;
  if (failed(follow(value, view, inside)))
    return failure();
  return view;
}

bool StridedInput::isDense(ArrayRef<int64_t> shape) const {
  for (auto [extent, own, dense] : llvm::zip_equal(shape, strides, rowMajorStrides(shape)))
    if (extent > 1 && own != dense)
      return false;
  return offset == 0;
}

FailureOr<StridedInput> StridedInput::trace(Value value) {
  StridedInput view;
  if (failed(follow(value, view, [](Operation *) { return true; })))
    return value.getDefiningOp()->emitError(
        "expected an input of the kernel, or a strided part of one");
  if (cast<RankedTensorType>(value.getType()).getEncoding())
    return emitError(value.getLoc(), "expected a dense input, got ") << value.getType();
  view.argument = cast<BlockArgument>(value).getArgNumber();
  return view;
}
