#include "compiler/Codegen/Loops/AttentionOperands.h"

using namespace mlir;
using namespace sinter;

FailureOr<unsigned> sinter::findArgument(Value value, Operation *op, StringRef what) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return op->emitError("expected ") << what << " to be an input of the kernel";
}

/// The same for an operand that may be absent.
static LogicalResult findOptionalArgument(Value value, Operation *op, StringRef what,
                                          std::optional<unsigned> &argument) {
  if (!value)
    return success();
  FailureOr<unsigned> found = findArgument(value, op, what);
  if (succeeded(found))
    argument = *found;
  return found;
}

FailureOr<StridedInput> sinter::traceRows(Value value, Operation *op, StringRef what, bool f16) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  bool hasBytes = element.getIntOrFloatBitWidth() == 8;
  if (!element.isF32() && !element.isBF16() && !(f16 && element.isF16()) && !hasBytes)
    return op->emitError("expected ")
           << what << " of f32 or " << (f16 ? "16 bits" : "bf16") << ", got " << element;
  FailureOr<StridedInput> input = StridedInput::trace(value);
  if (succeeded(input) && type.getShape().back() > 1 && input->strides.back() != 1)
    return op->emitError("expected rows of ") << what << " to be contiguous";
  return input;
}

template <typename Op> LogicalResult AttentionOperands::read(Op op, bool f16, int64_t widest) {
  ArrayRef<int64_t> queryShape = op.getQuery().getType().getShape();
  ArrayRef<int64_t> keyShape = op.getKey().getType().getShape();
  batch = queryShape[0];
  length = queryShape[1];
  heads = queryShape[2];
  headSize = queryShape[3];
  maxSequence = keyShape[1];
  keyHeads = keyShape[2];
  group = heads / keyHeads;
  rows = length * group;
  if (headSize > widest)
    return op.emitError("expected heads of ")
           << widest << " elements at the most, got " << headSize;
  // Numbers of weights, from which masks of a dropout follow, are one word.
  SmallVector<int64_t> whole{batch, heads, length, maxSequence};
  if (op.getWhole())
    whole.assign(op.getWhole()->begin(), op.getWhole()->end());
  numbered = {whole[1], whole[2], whole[3]};
  isPart = op.getWhole().has_value();
  int64_t weights = ShapedType::getNumElements(whole);
  if (op.getSeed() && weights > int64_t(1) << 32)
    return op.emitError("expected 2^32 weights at the most for a dropout, got ") << weights;
  FailureOr<StridedInput> input = traceRows(op.getQuery(), op, "queries", f16);
  if (failed(input))
    return failure();
  query = *input;
  if (failed(findOptionalArgument(op.getStart(), op, "start", startArgument)) ||
      failed(findOptionalArgument(op.getFirst(), op, "first", firstArgument)) ||
      failed(findOptionalArgument(op.getSeed(), op, "seed", seedArgument)))
    return failure();
  return findOptionalArgument(op.getAlibiSlopes(), op, "alibi_slopes", slopesArgument);
}

template LogicalResult AttentionOperands::read(AttentionOp op, bool f16, int64_t widest);
template LogicalResult AttentionOperands::read(AttentionGradOp op, bool f16, int64_t widest);

LogicalResult AttentionResults::read(AttentionOp op, func::FuncOp kernel, bool f16) {
  auto terminator = cast<func::ReturnOp>(kernel.front().getTerminator());
  Value value;
  for (auto [i, operand] : llvm::enumerate(terminator.getOperands())) {
    if (op.getLogsumexp() && operand == op.getLogsumexp()) {
      if (!getElementTypeOrSelf(operand).isF32())
        return op.emitError("expected logsumexp of f32, got ") << operand.getType();
      logsumexpIndex = i;
      continue;
    }
    if (value)
      return kernel.emitError("expected one result of an attention kernel beside the logsumexp");
    value = operand;
    resultIndex = i;
  }
  if (!value)
    return kernel.emitError("expected the result of an attention kernel");
  while (value != op.getResult()) {
    Operation *producer = value.getDefiningOp();
    if (!isa_and_nonnull<ReshapeOp, CastOp>(producer))
      return kernel.emitError("expected the result of an attention kernel to be the attention's, "
                              "reshaped or cast");
    if (isa<CastOp>(producer))
      roundings.push_back(getElementTypeOrSelf(value.getType()));
    value = producer->getOperand(0);
  }
  roundings.push_back(op.getResult().getType().getElementType());
  std::reverse(roundings.begin(), roundings.end());
  for (Type type : roundings)
    if (!type.isF32() && !type.isBF16() && !(f16 && type.isF16()))
      return op.emitError("expected a result of f32 or ")
             << (f16 ? "16 bits" : "bf16") << ", got " << type;
  return success();
}

LogicalResult AttentionGradResults::read(AttentionGradOp op, func::FuncOp kernel, bool narrow) {
  auto terminator = cast<func::ReturnOp>(kernel.front().getTerminator());
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    Type element = getElementTypeOrSelf(value);
    if (!element.isF32() && !(narrow && element.getIntOrFloatBitWidth() == 16))
      return op.emitError("expected gradients of f32, got ") << value.getType();
    if (value == op.getQueryGradient())
      queryResult = i;
    else if (value == op.getKeyGradient())
      keyResult = i;
    else if (value == op.getValueGradient())
      valueResult = i;
    else
      return kernel.emitError("expected the results of an attention_grad kernel to be the op's");
  }
  return success();
}
