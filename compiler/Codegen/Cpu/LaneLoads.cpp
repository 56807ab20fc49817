#include "compiler/Codegen/Cpu/LaneLoads.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

/// Where the loaded vectors begin, all of `size` elements, and which of their elements a lane
/// takes.
namespace {
struct Loads {
  SmallVector<int64_t, 2> starts;
  int64_t size = 0;
};
} // namespace

/// At most two vectors that hold all elements and nothing before the first or behind the last.
static std::optional<Loads> chooseLoads(ArrayRef<int64_t> distances) {
  const auto lanes = static_cast<int64_t>(distances.size());
  SmallVector<int64_t> sorted(distances);
  llvm::sort(sorted);
  int64_t first = sorted.front(), last = sorted.back(), span = last - first + 1;
  if (span <= lanes)
    return Loads{{first}, span};
  if (span <= 2 * lanes)
    return Loads{{first, last - lanes + 1}, lanes};
  // Two clusters, of the same extent.
  auto gap = std::adjacent_find(sorted.begin(), sorted.end(),
                                [&](int64_t a, int64_t b) { return b - a > lanes; });
  if (gap == sorted.end())
    return std::nullopt;
  int64_t extent = *gap - first + 1, second = *std::next(gap);
  if (extent > lanes || last - second + 1 != extent)
    return std::nullopt;
  return Loads{{first, second}, extent};
}

Value sinter::offsetBy(OpBuilder &builder, Value index, int64_t distance) {
  if (distance == 0)
    return index;
  Value constant = arith::ConstantIndexOp::create(builder, index.getLoc(), distance);
  return arith::AddIOp::create(builder, index.getLoc(), index, constant);
}

Value sinter::loadLanes(OpBuilder &builder, Location loc, Value memory, Value index,
                        ArrayRef<int64_t> distances) {
  std::optional<Loads> loads = chooseLoads(distances);
  // LLVM takes vectors of other sizes to pieces.
  if (!loads || !llvm::isPowerOf2_64(loads->size))
    return nullptr;
  Type element = cast<MemRefType>(memory.getType()).getElementType();
  SmallVector<Value, 2> vectors;
  for (int64_t start : loads->starts)
    vectors.push_back(vector::LoadOp::create(builder, loc, VectorType::get({loads->size}, element),
                                             memory, offsetBy(builder, index, start)));
  SmallVector<int64_t> lanes;
  for (int64_t distance : distances) {
    int64_t lane = distance - loads->starts.front();
    if (lane >= loads->size)
      lane = loads->size + distance - loads->starts.back();
    lanes.push_back(lane);
  }
  return vector::ShuffleOp::create(builder, loc, vectors.front(), vectors.back(), lanes);
}

Value sinter::addDistances(OpBuilder &builder, Location loc, Value first,
                           ArrayRef<int64_t> distances) {
  auto type = VectorType::get({static_cast<int64_t>(distances.size())}, first.getType());
  SmallVector<Attribute> values;
  for (int64_t distance : distances)
    values.push_back(builder.getIntegerAttr(first.getType(), distance));
  Value constant = arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(type, values));
  Value all = vector::BroadcastOp::create(builder, loc, type, first);
  return arith::AddIOp::create(builder, loc, all, constant);
}
