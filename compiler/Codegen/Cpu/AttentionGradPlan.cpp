#include "compiler/Codegen/Cpu/AttentionGradPlan.h"
#include "compiler/Analysis/KernelLayouts.h"
#include "compiler/Analysis/KernelLimits.h"
#include "compiler/Codegen/Cpu/MatrixTiles.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"

using namespace mlir;
using namespace sinter;

static LogicalResult findOperands(AttentionGradPlan &plan) {
  auto trace = [&](Value value, StringRef what, StridedInput &input) -> LogicalResult {
    FailureOr<StridedInput> found = traceRows(value, plan.op, what, /*f16=*/false);
    if (succeeded(found))
      input = *found;
    return found;
  };
  auto find = [&](Value value, StringRef what, unsigned &argument) -> LogicalResult {
    if (!getElementTypeOrSelf(value).isF32())
      return plan.op.emitError("expected ") << what << " of f32, got " << value.getType();
    FailureOr<unsigned> found = findArgument(value, plan.op, what);
    if (succeeded(found))
      argument = *found;
    return found;
  };
  AttentionGradOp op = plan.op;
  if (failed(trace(op.getKey(), "keys", plan.key)) ||
      failed(trace(op.getValue(), "values", plan.value)) ||
      failed(trace(op.getGradient(), "gradients", plan.gradient)) ||
      failed(find(op.getLogsumexp(), "logsumexp", plan.logsumexpArgument)))
    return failure();
  return find(op.getDelta(), "delta", plan.deltaArgument);
}

/// Whether the products are of a matrix unit's tiles, which fewer rows would leave empty. Numbers
/// of weights that dropout keeps run along keys.
static bool canUseTiles(AttentionGradPlan &plan, TargetAttr target) {
  AttentionGradOp op = plan.op;
  return plan.rows >= MatrixTiles::kMostRows && !plan.seedArgument &&
         llvm::all_of(ValueRange{op.getQuery(), op.getKey(), op.getValue(), op.getGradient()},
                      [&](Value rows) {
                        return usesKeyTiles(getElementTypeOrSelf(rows), plan.headSize, target);
                      });
}

/// Chooses blocks and tiles. All are powers of two, so that tiles divide blocks.
static void cut(AttentionGradPlan &plan, TargetAttr target) {
  if (plan.usesTiles) {
    plan.keyBlock = plan.rowBlock = 2 * MatrixTiles::kMostRows;
    return;
  }
  int64_t lanes = target.getVectorBits() / 32;
  auto rowsFor = [&](int64_t vectors, int64_t most) {
    return std::min<int64_t>(llvm::bit_floor<uint64_t>(RegisterTile::getMaxRows(target, vectors)),
                             most);
  };
  // Blocks of 64 by 64 of heads up to 128 leave what two products share in a private cache.
  int64_t block = plan.headSize > 128 ? 32 : 64;
  // Narrow tiles of scores fit the edge of the mask more closely than wide ones.
  plan.keyVectors = 2;
  plan.keyBlock =
      std::min<int64_t>(block, llvm::alignTo(plan.maxSequence, plan.keyVectors * lanes));
  plan.rowBlock = std::min<int64_t>(block, llvm::PowerOf2Ceil(plan.rows));
  plan.scoreRows = rowsFor(plan.keyVectors, plan.rowBlock);
  int64_t columns = llvm::divideCeil(plan.headSize, lanes);
  int64_t widest = target.getRegisters() >= 32 ? 4 : 2;
  plan.headVectors = llvm::divideCeil(columns, llvm::divideCeil(columns, widest));
  // Not more rows than a tile of scores, which decides up to where a block's rows are computed.
  plan.queryRows = rowsFor(plan.headVectors, plan.scoreRows);
  plan.keyRows = rowsFor(plan.headVectors, lanes);
}

FailureOr<AttentionGradPlan> AttentionGradPlan::make(func::FuncOp kernel, TargetAttr target) {
  FailureOr<AttentionGradOp> op = findOnly<AttentionGradOp>(kernel, "attention's gradient");
  if (failed(op))
    return failure();
  AttentionGradPlan plan;
  plan.op = *op;
  if (failed(plan.AttentionOperands::read(*op, /*f16=*/false, kWidestProcessorHead)) ||
      failed(findOperands(plan)) ||
      failed(plan.AttentionGradResults::read(*op, kernel, /*narrow=*/false)))
    return failure();
  plan.usesTiles = canUseTiles(plan, target);
  cut(plan, target);
  return plan;
}
