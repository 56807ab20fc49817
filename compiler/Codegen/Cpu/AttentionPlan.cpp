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

static FailureOr<unsigned> findArgument(Value value, Operation *op, StringRef what) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return argument.getArgNumber();
  return op->emitError("expected ") << what << " to be an input of the kernel";
}

/// Bytes of scratch for rows of queries and outputs.
static constexpr int64_t kRowScratchBytes = 72 * 1024;

static LogicalResult findKeys(AttentionPlan &plan, TargetAttr target) {
  RankedTensorType type = plan.op.getKey().getType();
  Type element = type.getElementType();
  if (!element.isF32() && !element.isBF16())
    return plan.op.emitError("expected keys and values of f32 or bf16, got ") << element;
  if (!type.getEncoding()) {
    FailureOr<StridedInput> dense = StridedInput::trace(plan.op.getKey());
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
    FailureOr<StridedInput> dense = StridedInput::trace(plan.op.getValue());
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
  if (plan.headSize > 1 && plan.value.strides[3] != 1)
    return plan.op.emitError("expected rows of values to be contiguous");
  plan.valueArgument = plan.value.argument;
  return success();
}

static LogicalResult findResult(AttentionPlan &plan, func::FuncOp kernel) {
  auto terminator = cast<func::ReturnOp>(kernel.front().getTerminator());
  if (terminator.getNumOperands() != 1)
    return kernel.emitError("expected one result of an attention kernel");
  Value value = terminator.getOperand(0);
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

  FailureOr<StridedInput> input = StridedInput::trace(plan.op.getQuery());
  if (failed(input))
    return failure();
  plan.query = *input;
  Type element = plan.op.getQuery().getType().getElementType();
  if (!element.isF32() && !element.isBF16())
    return plan.op.emitError("expected queries of f32 or bf16, got ") << element;
  if (plan.headSize > 1 && plan.query.strides[3] != 1)
    return plan.op.emitError("expected rows of queries to be contiguous");
  if (plan.op.getFirst())
    return plan.op.emitError("expected an attention without first");
  if (plan.op.getStart()) {
    FailureOr<unsigned> argument = findArgument(plan.op.getStart(), plan.op, "start");
    if (failed(argument))
      return failure();
    plan.startArgument = *argument;
  }
  if (plan.op.getAlibiSlopes()) {
    FailureOr<unsigned> argument = findArgument(plan.op.getAlibiSlopes(), plan.op, "alibi_slopes");
    if (failed(argument))
      return failure();
    plan.slopesArgument = *argument;
  }
  if (failed(findKeys(plan, target)) || failed(findValues(plan)) ||
      failed(findResult(plan, kernel)))
    return failure();
  cut(plan, target);
  return plan;
}
