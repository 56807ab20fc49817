#include "compiler/Codegen/Cpu/AttentionPlan.h"
#include "compiler/Codegen/Cpu/CacheLayouts.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"

using namespace mlir;
using namespace sinter;

Attribute sinter::getKeyLayout(Type elementType, TargetAttr target) {
  bool pairs = elementType.isBF16() && VectorBuilder::hasPairDot(target);
  return KeyPanelsAttr::get(target.getContext(), /*width=*/16, /*interleave=*/pairs ? 2 : 1);
}

Attribute sinter::getValueLayout(Type elementType, TargetAttr target) {
  return HeadMajorAttr::get(target.getContext());
}

FailureOr<unsigned> sinter::findArgument(Value value, Operation *op, StringRef what) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return op->emitError("expected ") << what << " to be an input of the kernel";
}

LogicalResult sinter::findOptionalArgument(Value value, Operation *op, StringRef what,
                                           std::optional<unsigned> &argument) {
  if (!value)
    return success();
  FailureOr<unsigned> found = findArgument(value, op, what);
  if (succeeded(found))
    argument = *found;
  return found;
}

LogicalResult sinter::checkDropout(Operation *op, ArrayRef<int64_t> weights) {
  int64_t count = ShapedType::getNumElements(weights);
  if (count > int64_t(1) << 32)
    return op->emitError("expected 2^32 weights at the most for a dropout, got ") << count;
  return success();
}

FailureOr<StridedInput> sinter::traceRows(Value value, Operation *op, StringRef what) {
  auto type = cast<RankedTensorType>(value.getType());
  if (!type.getElementType().isF32() && !type.getElementType().isBF16())
    return op->emitError("expected ") << what << " of f32 or bf16, got " << type.getElementType();
  FailureOr<StridedInput> input = StridedInput::trace(value);
  if (succeeded(input) && type.getShape().back() > 1 && input->strides.back() != 1)
    return op->emitError("expected rows of ") << what << " to be contiguous";
  return input;
}

/// Bytes of scratch for rows of queries and outputs.
static constexpr int64_t kRowScratchBytes = 72 * 1024;

static LogicalResult findKeys(AttentionPlan &plan, TargetAttr target) {
  RankedTensorType type = plan.op.getKey().getType();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isBF16())
    return plan.op.emitError("expected keys and values of f32 or bf16, got ") << element;
  if (!type.getEncoding()) {
    FailureOr<StridedInput> dense = traceRows(plan.op.getKey(), plan.op, "keys");
    if (failed(dense))
      return failure();
    plan.denseKey = *dense;
    plan.keyArgument = dense->argument;
    return success();
  }
  FailureOr<unsigned> argument = findArgument(plan.op.getKey(), plan.op, "a key cache");
  if (failed(argument))
    return failure();
  plan.keyArgument = *argument;
  auto panels = dyn_cast<KeyPanelsAttr>(type.getEncoding());
  if (!panels)
    return plan.op.emitError("expected keys dense or in key_panels, got ") << type;
  int64_t lanes = target.getVectorBits() / 32;
  plan.panelWidth = panels.getWidth();
  plan.pairs = panels.getInterleave() == 2 && element.isBF16();
  if (panels.getWidth() % lanes != 0 || (panels.getInterleave() != 1 && !plan.pairs))
    return plan.op.emitError("expected key_panels of a multiple of ")
           << lanes << " positions with interleave 1, or 2 for bf16, got " << type;
  plan.keys = AttentionPlan::Keys::Panels;
  return success();
}

static LogicalResult findValues(AttentionPlan &plan) {
  RankedTensorType type = plan.op.getValue().getType();
  if (!type.getEncoding()) {
    FailureOr<StridedInput> dense = traceRows(plan.op.getValue(), plan.op, "values");
    if (failed(dense))
      return failure();
    plan.value = *dense;
  } else if (isa<HeadMajorAttr>(type.getEncoding())) {
    FailureOr<unsigned> argument = findArgument(plan.op.getValue(), plan.op, "a value cache");
    if (failed(argument))
      return failure();
    int64_t head = plan.capacity * plan.headSize;
    plan.value.argument = *argument;
    plan.value.strides = {plan.keyHeads * head, plan.headSize, head, 1};
  } else {
    return plan.op.emitError("expected values dense or head_major, got ") << type;
  }
  plan.valueArgument = plan.value.argument;
  return success();
}

static LogicalResult findResult(AttentionPlan &plan, func::FuncOp kernel) {
  auto terminator = cast<func::ReturnOp>(kernel.front().getTerminator());
  Value value;
  for (auto [i, operand] : llvm::enumerate(terminator.getOperands())) {
    if (plan.op.getLogsumexp() && operand == plan.op.getLogsumexp()) {
      if (!getElementTypeOrSelf(operand).isF32())
        return plan.op.emitError("expected logsumexp of f32, got ") << operand.getType();
      plan.logsumexpIndex = i;
      continue;
    }
    if (value)
      return kernel.emitError("expected one result of an attention kernel beside the logsumexp");
    value = operand;
    plan.resultIndex = i;
  }
  if (!value)
    return kernel.emitError("expected the result of an attention kernel");
  while (value != plan.op.getResult()) {
    Operation *op = value.getDefiningOp();
    if (!isa_and_nonnull<ReshapeOp, CastOp>(op))
      return kernel.emitError("expected the result of an attention kernel to be the attention's, "
                              "reshaped or cast");
    if (isa<CastOp>(op))
      plan.roundings.push_back(getElementTypeOrSelf(value.getType()));
    value = op->getOperand(0);
  }
  plan.roundings.push_back(plan.op.getResult().getType().getElementType());
  std::reverse(plan.roundings.begin(), plan.roundings.end());
  for (Type type : plan.roundings)
    if (!type.isF32() && !type.isBF16())
      return plan.op.emitError("expected a result of f32 or bf16, got ") << type;
  return success();
}

/// Chooses tiles and blocks.
static void cut(AttentionPlan &plan, TargetAttr target) {
  int64_t lanes = target.getVectorBits() / 32;
  auto fit = [&](int64_t wanted, int64_t rows) {
    while (wanted > 1 && RegisterTile::getMaxRows(target, wanted) < rows)
      --wanted;
    return wanted;
  };
  // Wide tiles for few rows (more of the stream in flight), tall ones for many.
  int64_t vectors = target.getRegisters() >= 32 ? 4 : 2;
  int64_t most = RegisterTile::getMaxRows(target, vectors);
  plan.tileRows = llvm::divideCeil(plan.rows, llvm::divideCeil(plan.rows, most));
  plan.keyBlock = 64;
  plan.keyVectors = plan.tileRows <= 2 ? 8 : vectors;
  while (plan.keyBlock / lanes % plan.keyVectors != 0 ||
         (plan.keyVectors > 1 && RegisterTile::getMaxRows(target, plan.keyVectors) < plan.tileRows))
    --plan.keyVectors;
  int64_t columns = llvm::divideCeil(plan.headSize, lanes);
  int64_t widest = fit(std::min<int64_t>(columns, 8), plan.tileRows);
  plan.valueVectors = llvm::divideCeil(columns, llvm::divideCeil(columns, widest));

  int64_t rowBytes = 8 * llvm::alignTo(plan.headSize, lanes);
  int64_t tiles =
      std::max<int64_t>(1, std::min<int64_t>(48, kRowScratchBytes / rowBytes) / plan.tileRows);
  int64_t allTiles = llvm::divideCeil(plan.rows, plan.tileRows);
  plan.blocks = llvm::divideCeil(allTiles, tiles);
  plan.blockRows = llvm::divideCeil(allTiles, plan.blocks) * plan.tileRows;
  plan.blocks = llvm::divideCeil(plan.rows, plan.blockRows);
}

FailureOr<AttentionPlan> AttentionPlan::make(func::FuncOp kernel, TargetAttr target) {
  AttentionPlan plan;
  for (auto op : kernel.front().getOps<AttentionOp>()) {
    if (plan.op)
      return op.emitError("expected one attention in an attention kernel");
    plan.op = op;
  }
  if (!plan.op)
    return kernel.emitError("expected an attention in an attention kernel");
  ArrayRef<int64_t> query = plan.op.getQuery().getType().getShape();
  ArrayRef<int64_t> key = plan.op.getKey().getType().getShape();
  plan.batch = query[0];
  plan.length = query[1];
  plan.heads = query[2];
  plan.headSize = query[3];
  plan.capacity = key[1];
  plan.keyHeads = key[2];
  plan.group = plan.heads / plan.keyHeads;
  plan.rows = plan.length * plan.group;
  if (plan.headSize > 256)
    return plan.op.emitError("expected heads of 256 elements at the most, got ") << plan.headSize;

  FailureOr<StridedInput> input = traceRows(plan.op.getQuery(), plan.op, "queries");
  if (failed(input))
    return failure();
  plan.query = *input;
  if (failed(findOptionalArgument(plan.op.getStart(), plan.op, "start", plan.startArgument)) ||
      failed(findOptionalArgument(plan.op.getFirst(), plan.op, "first", plan.firstArgument)) ||
      failed(findOptionalArgument(plan.op.getAlibiSlopes(), plan.op, "alibi_slopes",
                                  plan.slopesArgument)) ||
      failed(findOptionalArgument(plan.op.getSeed(), plan.op, "seed", plan.seedArgument)) ||
      failed(findKeys(plan, target)) || failed(findValues(plan)) ||
      failed(findResult(plan, kernel)))
    return failure();
  if (plan.seedArgument &&
      failed(checkDropout(plan.op, {plan.batch, plan.heads, plan.length, plan.capacity})))
    return failure();
  cut(plan, target);
  return plan;
}
