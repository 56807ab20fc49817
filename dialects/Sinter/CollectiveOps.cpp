#include "dialects/Sinter/SinterDialect.h"

using namespace mlir;
using namespace sinter;

//===----------------------------------------------------------------------===//
// ShardOp
//===----------------------------------------------------------------------===//

int64_t ShardOp::getFlops() { return 0; }
FusionRole ShardOp::getFusionRole() { return FusionRole::Opaque; }
LoopNest ShardOp::getLoopNest() { return makeElementwiseNest(*this); }

LogicalResult ShardOp::verify() {
  if (static_cast<int64_t>(getSharding().getDims().size()) != getType().getRank() ||
      getSharding().isUnreduced()) // shard_c1
    return emitOpError("expected a list of axes for each dimension and nothing unreduced, got ")
           << getSharding();
  GridAttr grid = GridAttr::lookup(*this);
  for (int64_t dim = 0; grid && dim < getType().getRank(); ++dim)
    for (Attribute axis : getSharding().getAxes(dim))
      if (!llvm::is_contained(grid.getNames(), axis)) // shard_c2
        return emitOpError("expected axes of ") << grid << ", got " << axis;
  return success();
}

SmallVector<ReferenceTensor> ShardOp::evaluate(ArrayRef<ReferenceTensor> operands) {
  return {operands[0]};
}

void ShardOp::buildAdjoint(Adjoint &adjoint) {
  adjoint.add(getOperand(), ShardOp::create(adjoint.getBuilder(), adjoint.getLoc(), getType(),
                                            adjoint.getGradient(getResult()), getSharding()));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

/// The ranks of the group that an op is between; fails where the axes are not of the grid.
static FailureOr<int64_t> verifyGroup(Operation *op, ArrayAttr axes) {
  GridAttr grid = GridAttr::lookup(op);
  if (!grid)
    return op->emitOpError("expected a module with the attribute '") << SinterDialect::kGrid << "'";
  llvm::SmallDenseSet<Attribute> known;
  bool valid = !axes.empty() && llvm::all_of(axes, [&](Attribute axis) {
    return llvm::is_contained(grid.getNames(), axis) && known.insert(axis).second;
  });
  if (!valid) // all_gather_c1
    return op->emitOpError("expected axes of ") << grid << ", each once, got " << axes;
  return grid.getSize(axes);
}

/// The type of one part of a tensor that has `ranks` of them along a first dimension, or null.
static RankedTensorType getPart(RankedTensorType parts, int64_t ranks) {
  if (parts.getRank() == 0 || parts.getDimSize(0) != ranks)
    return nullptr;
  return RankedTensorType::get(parts.getShape().drop_front(), parts.getElementType());
}

/// One part of a tensor that has them along its first dimension.
static ArrayRef<double> takePart(const ReferenceTensor &parts, int64_t place, int64_t ranks) {
  int64_t elements = parts.getNumElements() / ranks;
  return parts.data().slice(place * elements, elements);
}

static ReferenceTensor join(RankedTensorType type, ArrayRef<ArrayRef<double>> parts) {
  ReferenceTensor result(type);
  int64_t next = 0;
  for (ArrayRef<double> part : parts)
    for (double element : part)
      result[next++] = element;
  return result;
}

//===----------------------------------------------------------------------===//
// AllGatherOp
//===----------------------------------------------------------------------===//

LogicalResult AllGatherOp::verify() {
  FailureOr<int64_t> ranks = verifyGroup(*this, getAxes());
  if (failed(ranks))
    return failure();
  if (getPart(getType(), *ranks) != getOperand().getType()) // all_gather_c2
    return emitOpError("expected a result of ") << *ranks << " operands, got " << getType();
  return success();
}

int64_t AllGatherOp::getSentBytes(int64_t ranks) {
  return (ranks - 1) * getStorageBytes(getOperand().getType());
}

ReferenceTensor AllGatherOp::evaluateRank(ArrayRef<ReferenceTensor> operands, int64_t) {
  SmallVector<ArrayRef<double>> parts;
  for (const ReferenceTensor &operand : operands)
    parts.push_back(operand.data());
  return join(getType(), parts);
}

//===----------------------------------------------------------------------===//
// AllToAllOp
//===----------------------------------------------------------------------===//

LogicalResult AllToAllOp::verify() {
  FailureOr<int64_t> ranks = verifyGroup(*this, getAxes());
  if (failed(ranks))
    return failure();
  if (!getPart(getType(), *ranks) || getType() != getOperand().getType()) // all_to_all_c2
    return emitOpError("expected an operand of ")
           << *ranks << " parts and a result of its type, got " << getOperand().getType() << " -> "
           << getType();
  return success();
}

int64_t AllToAllOp::getSentBytes(int64_t ranks) {
  return getStorageBytes(getType()) / ranks * (ranks - 1);
}

ReferenceTensor AllToAllOp::evaluateRank(ArrayRef<ReferenceTensor> operands, int64_t place) {
  SmallVector<ArrayRef<double>> parts;
  for (const ReferenceTensor &operand : operands)
    parts.push_back(takePart(operand, place, operands.size()));
  return join(getType(), parts);
}

//===----------------------------------------------------------------------===//
// AllSliceOp
//===----------------------------------------------------------------------===//

LogicalResult AllSliceOp::verify() {
  FailureOr<int64_t> ranks = verifyGroup(*this, getAxes());
  if (failed(ranks))
    return failure();
  if (getPart(getOperand().getType(), *ranks) != getType()) // all_slice_c2
    return emitOpError("expected an operand of ")
           << *ranks << " results, got " << getOperand().getType();
  return success();
}

int64_t AllSliceOp::getSentBytes(int64_t) { return 0; }

ReferenceTensor AllSliceOp::evaluateRank(ArrayRef<ReferenceTensor> operands, int64_t place) {
  return join(getType(), {takePart(operands[place], place, operands.size())});
}

//===----------------------------------------------------------------------===//
// AllReduceOp
//===----------------------------------------------------------------------===//

LogicalResult AllReduceOp::verify() {
  FailureOr<int64_t> ranks = verifyGroup(*this, getAxes());
  if (failed(ranks))
    return failure();
  Type element = getType().getElementType();
  if (getType() != getOperand().getType() || !(element.isF32() || element.isF64())) // all_reduce_c2
    return emitOpError("expected f32 or f64 and a result of the operand's type, got ")
           << getOperand().getType() << " -> " << getType();
  return success();
}

// As a ring does it: a part of each to everyone, and a part of the sum from everyone.
int64_t AllReduceOp::getSentBytes(int64_t ranks) {
  return 2 * (getStorageBytes(getType()) / ranks) * (ranks - 1);
}

ReferenceTensor AllReduceOp::evaluateRank(ArrayRef<ReferenceTensor> operands, int64_t) {
  ReferenceTensor sum(getType());
  for (const ReferenceTensor &operand : operands)
    for (int64_t i = 0; i < sum.getNumElements(); ++i)
      sum[i] += operand[i];
  return sum;
}
