#include "compiler/Codegen/Cpu/AttentionPlan.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Analysis/Target.h"
#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace sinter;

/// Bytes of scratch for rows of queries and outputs, and the most rows: of tiles of a matrix unit
/// more, which share copies of a block's keys and values.
static constexpr int64_t kRowScratchBytes = 72 * 1024, kTileScratchBytes = 96 * 1024;
static constexpr int64_t kBlockRowsOfVectors = 48, kBlockRowsOfTiles = 128;

static LogicalResult findKeys(AttentionPlan &plan, TargetAttr target) {
  RankedTensorType type = plan.op.getKey().getType();
  Type element = type.getElementType();
  plan.elementBytes = element.getIntOrFloatBitWidth() / 8;
  if (!element.isF32() && !element.isBF16() && plan.elementBytes != 1)
    return plan.op.emitError("expected keys and values of f32, bf16 or 8 bits, got ") << element;
  if (!type.getEncoding()) {
    FailureOr<StridedInput> dense = traceRows(plan.op.getKey(), plan.op, "keys", /*f16=*/false);
    if (failed(dense))
      return failure();
    plan.denseKey = *dense;
    plan.keyArgument = dense->argument;
    plan.pairs = pairsKeys(element, plan.headSize, target) &&
                 getElementTypeOrSelf(plan.op.getValue()).isBF16();
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

/// Values or scales, `[b, s, g, ..]`, dense or head-major.
static FailureOr<StridedInput> findRows(AttentionPlan &plan, TypedValue<RankedTensorType> rows,
                                        StringRef what) {
  RankedTensorType type = rows.getType();
  if (!type.getEncoding())
    return traceRows(rows, plan.op, what, /*f16=*/false);
  if (!isa<HeadMajorAttr>(type.getEncoding()))
    return plan.op.emitError("expected ") << what << " dense or head_major, got " << type;
  FailureOr<unsigned> argument = findArgument(rows, plan.op, what);
  if (failed(argument))
    return failure();
  StridedInput input;
  input.argument = *argument;
  int64_t head = plan.maxSequence * type.getDimSize(3);
  input.strides = {plan.keyHeads * head, type.getDimSize(3), head, 1};
  return input;
}

static LogicalResult findValuesAndScales(AttentionPlan &plan) {
  FailureOr<StridedInput> value = findRows(plan, plan.op.getValue(), "values");
  if (failed(value))
    return failure();
  plan.value = *value;
  plan.valueArgument = value->argument;
  auto find = [&](TypedValue<RankedTensorType> scales, std::optional<StridedInput> &input) {
    if (!scales)
      return success();
    FailureOr<StridedInput> found = findRows(plan, scales, "scales");
    if (succeeded(found))
      input = *found;
    return LogicalResult(found);
  };
  return success(succeeded(find(plan.op.getKeyScales(), plan.keyScales)) &&
                 succeeded(find(plan.op.getValueScales(), plan.valueScales)));
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
  int64_t most =
      plan.usesTiles ? MatrixTiles::kMostRows : RegisterTile::getMaxRows(target, vectors);
  plan.tileRows = llvm::divideCeil(plan.rows, llvm::divideCeil(plan.rows, most));
  plan.keyBlock = 64;
  plan.keyVectors = plan.tileRows <= 2 ? 8 : vectors;
  while (plan.keyBlock / lanes % plan.keyVectors != 0 ||
         (plan.keyVectors > 1 && RegisterTile::getMaxRows(target, plan.keyVectors) < plan.tileRows))
    --plan.keyVectors;
  int64_t columns = llvm::divideCeil(plan.headSize, lanes);
  int64_t widest = fit(std::min<int64_t>(columns, 8), plan.tileRows);
  plan.valueVectors = llvm::divideCeil(columns, llvm::divideCeil(columns, widest));

  int64_t rowBytes = (plan.pairs ? 6 : 8) * llvm::alignTo(plan.headSize, lanes);
  int64_t mostRows = plan.usesTiles ? std::min(kBlockRowsOfTiles, kTileScratchBytes / rowBytes)
                                    : std::min(kBlockRowsOfVectors, kRowScratchBytes / rowBytes);
  int64_t tiles = std::max<int64_t>(1, mostRows / plan.tileRows);
  int64_t allTiles = llvm::divideCeil(plan.rows, plan.tileRows);
  // Every core should have several blocks.
  auto itemsOf = [&](int64_t tilesOfBlock) -> int64_t {
    return plan.batch * plan.keyHeads * llvm::divideCeil(allTiles, tilesOfBlock);
  };
  while (plan.usesTiles && tiles > 1 && itemsOf(tiles) < 2 * target.getCores())
    --tiles;
  plan.blocks = llvm::divideCeil(allTiles, tiles);
  plan.blockRows = llvm::divideCeil(allTiles, plan.blocks) * plan.tileRows;
  plan.blocks = llvm::divideCeil(plan.rows, plan.blockRows);
}

FailureOr<AttentionPlan> AttentionPlan::make(func::FuncOp kernel, TargetAttr target) {
  FailureOr<AttentionOp> op = findOnly<AttentionOp>(kernel, "attention");
  if (failed(op))
    return failure();
  AttentionPlan plan;
  plan.op = *op;
  if (failed(plan.AttentionOperands::read(*op, /*f16=*/false, kWidestProcessorHead)) ||
      failed(findKeys(plan, target)) || failed(findValuesAndScales(plan)) ||
      failed(plan.AttentionResults::read(*op, kernel, /*f16=*/false)))
    return failure();
  Type element = getElementTypeOrSelf(plan.op.getKey());
  plan.usesTiles = plan.pairs && plan.rows >= kManyRows &&
                   usesKeyTiles(element, plan.headSize, target) &&
                   getElementTypeOrSelf(plan.op.getValue()).isBF16();
  cut(plan, target);
  return plan;
}

Value sinter::emitWeightNumber(VectorBuilder &builder, const AttentionOperands &operands,
                               Value seed, Value slot, Value head, Value query, Value key) {
  auto [heads, queries, keys] = operands.numbered;
  Value number = builder.add(builder.mul(slot, heads), head);
  number = builder.add(builder.mul(number, queries), query);
  number = builder.add(builder.mul(number, keys), key);
  if (!operands.isPart)
    return number;
  Value first = memref::LoadOp::create(builder, seed, builder.index(2));
  return builder.add(
      number, arith::IndexCastOp::create(builder, builder.getIndexType(), first).getResult());
}
