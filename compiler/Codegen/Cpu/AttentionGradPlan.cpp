#include "compiler/Codegen/Cpu/AttentionGradPlan.h"
#include "compiler/Codegen/Cpu/RegisterTile.h"

using namespace mlir;
using namespace sinter;

static LogicalResult findResults(AttentionGradPlan &plan, func::FuncOp kernel) {
  auto terminator = cast<func::ReturnOp>(kernel.front().getTerminator());
  for (auto [i, value] : llvm::enumerate(terminator.getOperands())) {
    if (!getElementTypeOrSelf(value).isF32())
      return plan.op.emitError("expected gradients of f32, got ") << value.getType();
    if (value == plan.op.getQueryGradient())
      plan.queryResult = i;
    else if (value == plan.op.getKeyGradient())
      plan.keyResult = i;
    else if (value == plan.op.getValueGradient())
      plan.valueResult = i;
    else
      return kernel.emitError("expected the results of an attention_grad kernel to be the op's");
  }
  return success();
}

static LogicalResult findOperands(AttentionGradPlan &plan) {
  auto trace = [&](Value value, StringRef what, StridedInput &input) -> LogicalResult {
    FailureOr<StridedInput> found = traceRows(value, plan.op, what);
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
  if (failed(trace(op.getQuery(), "queries", plan.query)) ||
      failed(trace(op.getKey(), "keys", plan.key)) ||
      failed(trace(op.getValue(), "values", plan.value)) ||
      failed(trace(op.getGradient(), "gradients", plan.gradient)) ||
      failed(find(op.getLogsumexp(), "logsumexp", plan.logsumexpArgument)) ||
      failed(find(op.getDelta(), "delta", plan.deltaArgument)) ||
      failed(findOptionalArgument(op.getStart(), op, "start", plan.startArgument)) ||
      failed(findOptionalArgument(op.getFirst(), op, "first", plan.firstArgument)) ||
      failed(findOptionalArgument(op.getSeed(), op, "seed", plan.seedArgument)))
    return failure();
  return findOptionalArgument(op.getAlibiSlopes(), op, "alibi_slopes", plan.slopesArgument);
}

/// Chooses blocks and tiles. All are powers of two, so that tiles divide blocks.
static void cut(AttentionGradPlan &plan, TargetAttr target) {
  int64_t lanes = target.getVectorBits() / 32;
  auto rowsFor = [&](int64_t vectors, int64_t most) {
    return std::min<int64_t>(llvm::bit_floor<uint64_t>(RegisterTile::getMaxRows(target, vectors)),
                             most);
  };
  // Blocks of 64 by 64 of heads up to 128 leave what two products share in a private cache.
  int64_t block = plan.headSize > 128 ? 32 : 64;
  // Narrow tiles of scores fit the edge of the mask more closely than wide ones.
  plan.keyVectors = 2;
  plan.keyBlock = std::min<int64_t>(block, llvm::alignTo(plan.keys, plan.keyVectors * lanes));
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
  AttentionGradPlan plan;
  for (auto op : kernel.front().getOps<AttentionGradOp>()) {
    if (plan.op)
      return op.emitError("expected one gradient in an attention_grad kernel");
    plan.op = op;
  }
  if (!plan.op)
    return kernel.emitError("expected a gradient in an attention_grad kernel");
  ArrayRef<int64_t> query = plan.op.getQuery().getType().getShape();
  ArrayRef<int64_t> key = plan.op.getKey().getType().getShape();
  plan.batch = query[0];
  plan.length = query[1];
  plan.heads = query[2];
  plan.headSize = query[3];
  plan.keys = key[1];
  plan.keyHeads = key[2];
  plan.group = plan.heads / plan.keyHeads;
  plan.rows = plan.length * plan.group;
  if (plan.headSize > 256)
    return plan.op.emitError("expected heads of 256 elements at the most, got ") << plan.headSize;
  if (failed(findOperands(plan)) || failed(findResults(plan, kernel)))
    return failure();
  if (plan.seedArgument &&
      failed(checkDropout(plan.op, {plan.batch, plan.heads, plan.length, plan.keys})))
    return failure();
  cut(plan, target);
  return plan;
}
